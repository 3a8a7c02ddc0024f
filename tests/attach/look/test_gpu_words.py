"""Words of NVML and of nvidia-smi."""

import pytest

from nccltool.attach.look.gpu_words import bus, reasons


@pytest.mark.parametrize(
    ("mask", "names"),
    [(0, ()), (0x1, ()), (0x4, ("sw_power_cap",)), (0x48, ("hw_slowdown", "hw_thermal_slowdown"))],
)
def test_reasons(mask: int, names: tuple[str, ...]) -> None:
    assert reasons(mask) == names


def test_bus() -> None:
    assert bus("00000000:C1:00.0") == "0000:c1:00.0"
