"""Counters of energy: RAPL of a host in a copied tree, and NVML of one GPU."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.sources import energy
from nccltool.hosts.sources.base import Tree

_ZONES = "sys/class/powercap"


def _write(root: Path, zone: str, name: str, energy_uj: int | None, largest: int = 262143328850) -> None:
    folder = root / _ZONES / zone
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text(f"{largest}\n")
    if energy_uj is not None:
        (folder / "energy_uj").write_text(f"{energy_uj}\n")


def test_packages_count_and_their_parts_do_not(tmp_path: Path) -> None:
    _write(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    _write(tmp_path, "intel-rapl:0:0", "core", 4_000_000)
    _write(tmp_path, "intel-rapl:1", "package-1", 7, largest=9)
    _write(tmp_path, "intel-rapl:2", "psys", 9_000_000)
    read = energy.packages(Tree.at(tmp_path))
    assert read == {"intel-rapl:0": (5_000_000, 262143328850), "intel-rapl:1": (7, 9)}


def test_a_counter_that_starts_over() -> None:
    before = {"a": (5, 99), "b": (98, 99)}
    assert energy.used_uj(before, {"a": (25, 99), "b": (3, 99)}) == 20 + 5


def test_what_is_not_known_has_a_reason(tmp_path: Path) -> None:
    assert "powercap" in str(energy.packages(Tree.at(tmp_path)))
    _write(tmp_path, "intel-rapl:0", "package-0", None)
    assert isinstance(energy.packages(Tree.at(tmp_path)), Unknown)
    (tmp_path / "other" / _ZONES).mkdir(parents=True)
    assert energy.packages(Tree.at(tmp_path / "other")) == Unknown("/sys/class/powercap has no processor package")


class NVMLError(Exception):
    """str() is NVML's word."""


class _Nvml:
    NVMLError = NVMLError

    def nvmlInit(self) -> None:
        """It works."""

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid != "GPU-1":
            raise NVMLError("Not Found")
        return uuid

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        return 12_345

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        return SimpleNamespace(gpu=93, memory=40)


class _Older(_Nvml):
    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        raise NVMLError("Not Supported")


class _WithoutHandles(_Nvml):
    def __getattribute__(self, name: str) -> Any:
        if name == "nvmlDeviceGetHandleByUUID":
            raise AttributeError(name)
        return super().__getattribute__(name)


_NO_HANDLES = Unknown("this version of nvidia-ml-py has no nvmlDeviceGetHandleByUUID")


@pytest.mark.parametrize(
    ("uuid", "nvml", "read"),
    [
        ("GPU-1", _Nvml(), (12_345, 0.93)),
        ("GPU-1", _Older(), (Unknown("NVML: Not Supported"), 0.93)),
        ("GPU-2", _Nvml(), (Unknown("NVML: Not Found"), Unknown("NVML: Not Found"))),
        ("GPU-1", _WithoutHandles(), (_NO_HANDLES, _NO_HANDLES)),
    ],
)
def test_a_gpu(uuid: str, nvml: Any, read: tuple[Any, Any]) -> None:
    meter = energy.GpuMeter(uuid, nvml)
    assert (meter.energy_mj(), meter.utilization()) == read
