"""Counters of energy: of a GPU, by NVML, and of the host's processor packages, by RAPL in /sys/class/powercap."""

from importlib import import_module
from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import Count, NotKnown, Number, known, or_unknown
from nccltool.hosts.sources.base import Tree

_ZONES = "/sys/class/powercap"


@or_unknown
def packages(tree: Tree) -> dict[str, tuple[int, int]]:
    """Microjoules of each processor package so far, and where its counter wraps. Cores and memory are left out:
    they are parts of packages, or have counters on some models only."""
    found = {}
    for zone in known(tree.names(_ZONES)):
        if zone.count(":") != 1 or not str(tree.text(f"{_ZONES}/{zone}/name")).startswith("package"):
            continue
        here = f"{_ZONES}/{zone}"
        found[zone] = known(tree.number(f"{here}/energy_uj")), known(tree.number(f"{here}/max_energy_range_uj"))
    if not found:
        raise NotKnown(f"{_ZONES} has no processor package")
    return found


def used_uj(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> int:
    """Microjoules between two readings of the same packages, each counter wrapped at most once."""
    return sum((after[zone][0] - count) % (largest + 1) for zone, (count, largest) in before.items())


class GpuMeter:
    """NVML's counters of one GPU."""

    def __init__(self, uuid: str, nvml: Any = None) -> None:
        """`nvml`: a library with NVML's functions; None = the installed one."""
        try:
            self._nvml = import_module("pynvml") if nvml is None else nvml
        except ImportError:
            self._handle: Any = Unknown("nvidia-ml-py is not installed")
            return
        started = self._call("nvmlInit")
        self._handle = started if isinstance(started, Unknown) else self._call("nvmlDeviceGetHandleByUUID", uuid)

    def energy_mj(self) -> Count:
        """Millijoules since the driver was loaded: from Volta on."""
        found: Count = self._asked("nvmlDeviceGetTotalEnergyConsumption")
        return found

    def utilization(self) -> Number:
        """Share of the last 1/6 to 1 s in which a kernel ran."""
        used = self._asked("nvmlDeviceGetUtilizationRates")
        return used if isinstance(used, Unknown) else float(used.gpu) / 100

    def _asked(self, name: str) -> Any:
        return self._handle if isinstance(self._handle, Unknown) else self._call(name, self._handle)

    def _call(self, name: str, *words: Any) -> Any:
        if not hasattr(self._nvml, name):
            return Unknown(f"this version of nvidia-ml-py has no {name}")
        try:
            return getattr(self._nvml, name)(*words)
        except self._nvml.NVMLError as error:
            return Unknown(f"NVML: {error}")
