"""Counting GPUs from device files in a tree of our own."""

from pathlib import Path

import pytest

from nccltool.hosts.sources import gpu

EIGHT = tuple(f"nvidia{n}" for n in range(8))
OTHERS = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps", "null", "kfd")


@pytest.mark.parametrize(
    ("devices", "visible", "count"),
    [
        ((), None, 0),
        ((), "0,1", 0),
        (OTHERS, None, 0),
        ((*EIGHT, *OTHERS), None, 8),
        (tuple(f"nvidia{n}" for n in range(16)), None, 16),
        (("nvidia5", "nvidiactl"), None, 1),  # a container with one device of eight
        (EIGHT, "", 0),
        (EIGHT, "-1", 0),
        (EIGHT, "NoDevFiles", 0),
        (EIGHT, "0", 1),
        (EIGHT, "3,1", 2),
        (EIGHT, " 3 , 1 ", 2),
        (EIGHT, "0,-1,1", 1),  # CUDA stops at the first word that is not a device
        (EIGHT, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,GPU-2", 2),
        (("nvidia0",), "0,1,2,3", 1),
    ],
)
def test_count(tmp_path: Path, devices: tuple[str, ...], visible: str | None, count: int) -> None:
    (tmp_path / "dev").mkdir()
    for name in devices:
        (tmp_path / "dev" / name).touch()
    env = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert gpu.count(env, tmp_path) == count


def test_a_host_without_device_files(tmp_path: Path) -> None:
    assert gpu.count({}, tmp_path) == 0
