"""GPUs counted from device files: in a tree of our own, and on captured hosts of every kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts import gpu
from tests.captured_hosts import KINDS, build

EIGHT = tuple(f"nvidia{n}" for n in range(8))
OTHERS = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps", "null", "kfd")


@pytest.mark.parametrize(
    ("devices", "visible", "count"),
    [
        (("null",), None, 0),
        (("null",), "0,1", 0),
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


def test_a_tree_without_any_file_does_not_tell(tmp_path: Path) -> None:
    assert isinstance(gpu.count({}, tmp_path), Unknown)


WINDOWS = Unknown("/dev/dxg does not show how many GPUs Windows shares")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("machines")

    def made(kind: str) -> Path:
        root = folder / kind
        return root if root.exists() else build(root, KINDS[kind])

    return made


@pytest.mark.parametrize(
    ("kind", "env", "count"),
    [
        ("h100-pcie", {}, 1),
        ("dgx", {}, 8),
        ("dgx", {"CUDA_VISIBLE_DEVICES": "0,0"}, 0),
        ("dgx", {"CUDA_VISIBLE_DEVICES": KINDS["dgx"].uuid(3)}, 1),
        ("dgx", {"CUDA_VISIBLE_DEVICES": "GPU-0000"}, 0),
        ("dgx", {"NVIDIA_VISIBLE_DEVICES": "0"}, 8),
        ("dgx", {"NVIDIA_VISIBLE_DEVICES": "void", "HIP_VISIBLE_DEVICES": "0"}, 8),
        ("p5", {}, 8),
        ("a3-mega", {}, 8),
        ("a4", {}, 8),
        ("azure", {}, 8),
        ("gb200", {}, 4),
        ("two-of-eight", {}, 2),
        ("two-of-eight", {"CUDA_VISIBLE_DEVICES": "1"}, 1),
        ("two-of-eight", {"CUDA_VISIBLE_DEVICES": "5"}, 0),  # numbers are those inside the container
        ("two-of-eight", {"CUDA_VISIBLE_DEVICES": KINDS["dgx"].uuid(5)}, 1),
        ("two-of-eight", {"CUDA_VISIBLE_DEVICES": KINDS["dgx"].uuid(0)}, 0),
        ("mig", KINDS["mig"].env, 1),
        ("mig", {}, 1),
        ("mig", {"CUDA_VISIBLE_DEVICES": ""}, 0),
        ("mi300x", {}, 8),
        ("mi300x", {"HIP_VISIBLE_DEVICES": "0,1"}, 2),
        ("mi300x", {"CUDA_VISIBLE_DEVICES": "0,1"}, 2),
        ("mi300x", {"ROCR_VISIBLE_DEVICES": "4,5,6,7", "HIP_VISIBLE_DEVICES": "0,1,2"}, 3),
        ("mi300x", {"ROCR_VISIBLE_DEVICES": ""}, 0),
        ("wsl2", {}, WINDOWS),
        ("wsl2", {"CUDA_VISIBLE_DEVICES": "0"}, WINDOWS),
        ("wsl2", {"CUDA_VISIBLE_DEVICES": ""}, 0),
        ("laptop", {}, 0),
    ],
)
def test_machines(kind: str, env: dict[str, str], count: int | Unknown, machine: Callable[[str], Path]) -> None:
    assert gpu.count(env, machine(kind)) == count


@pytest.mark.parametrize(("kind", "theirs"), [("dgx", True), ("wsl2", True), ("mi300x", False), ("laptop", False)])
def test_whose_they_are(kind: str, theirs: bool, machine: Callable[[str], Path]) -> None:
    assert gpu.are_nvidias(machine(kind)) is theirs


@pytest.mark.parametrize(("count", "least"), [(0, 0), (8, 8), (WINDOWS, 1)])
def test_gpus_that_are_not_counted_are_there(
    count: int | Unknown, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "count", lambda env: count)
    assert gpu.at_least() == least


def test_each_instance_of_a_gpu_is_no_gpu_of_its_own(tmp_path: Path) -> None:
    """CUDA uses one instance, and then no GPU beside it."""
    for minor in (0, 1):
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / f"dev/nvidia{minor}").touch()
    for instance in (1, 2, 3):
        (tmp_path / f"proc/driver/nvidia/capabilities/gpu1/mig/gi{instance}").mkdir(parents=True)
    assert [gpu.count({"CUDA_VISIBLE_DEVICES": mask}, tmp_path) for mask in ("0,1", "1", "0")] == [1, 1, 1]
    assert gpu.count({}, tmp_path) == 1
