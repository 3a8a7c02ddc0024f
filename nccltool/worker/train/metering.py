"""What steps take besides time (memory, energy, GPU utilization), and which ranks arrive late."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from nccltool.core import processes
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import or_none
from nccltool.hosts.facts.leaves import Count
from nccltool.hosts.sources import energy
from nccltool.hosts.sources.base import Tree
from nccltool.train.result import EnergyUse
from nccltool.worker import memory
from nccltool.worker.train import arrivals
from nccltool.worker.train.arrivals import Lateness
from nccltool.worker.train.strategies.base import Setup

WARM_UP = 2
"""Steps before those that counters are read over."""
_LEAST_S = 1.0
"""Counters move some ten times a second, and NVML's use of a GPU is that of the last second."""
_MOST_STEPS = 500
_NO_GPU = Unknown("this rank uses no GPU")

MemoryNow = tuple[int, int, int, int]
"""Allocated and reserved by torch, used on the device by anybody, resident; -1 = not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeteredSteps:
    """Of all ranks together."""

    memory: tuple[MemoryNow, ...]
    """After each step, of the rank that has most."""
    energy: tuple[EnergyUse, ...]
    utilization: tuple[int | None, ...]
    """Of each rank's GPU, in thousandths."""
    lateness: Lateness | None
    """None = not known."""


class _Meters:
    """What this rank can read."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._gpu = device, None
        if device.type == "cuda":
            uuid = str(getattr(torch.cuda.get_device_properties(device), "uuid", ""))
            self._gpu = energy.GpuMeter(uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}")
        self._host = torch.device("cpu")
        self._begin()

    def _begin(self) -> None:
        self._packages = energy.packages(Tree())
        self.gpu_mj: Count = _NO_GPU if self._gpu is None else self._gpu.energy_mj()

    @property
    def can_read(self) -> bool:
        return not isinstance(self._packages, Unknown) or not isinstance(self.gpu_mj, Unknown)

    @property
    def reasons(self) -> dict[str, str]:
        """Why something is not known."""
        read = {"host": self._packages, "GPU": self.gpu_mj}
        return {of: found.reason for of, found in read.items() if isinstance(found, Unknown)}

    def begin(self) -> None:
        """Energy is counted from here on."""
        self._begin()

    def read(self) -> list[int]:
        """Host and its microjoules, GPU and its millijoules, thousandths of its time in use; -1 = not known."""
        before, of_gpu = self._packages, self.gpu_mj
        self._begin()
        host = gpu = used = -1
        if not isinstance(before, Unknown) and not isinstance(self._packages, Unknown):
            host = energy.used_uj(before, self._packages)
        if not isinstance(of_gpu, Unknown) and not isinstance(self.gpu_mj, Unknown):
            gpu = self.gpu_mj - of_gpu
        if self._gpu is not None and (share := or_none(self._gpu.utilization())) is not None:
            used = round(share * 1000)
        return [memory.place(self._host), host, memory.place(self._device), gpu, used]


def metered(setup: Setup, step: Callable[[Tensor], None], most: int) -> MeteredSteps:
    """Take steps in which ranks synchronize, then steps for a second if a rank has energy counters, else at most
    `most` in total."""
    group, meters, seen = setup.group, _Meters(setup.device), list[MemoryNow]()

    def once(tokens: Tensor) -> int:
        setup.slot.phase("timing")
        begin = time.perf_counter_ns()
        step(tokens)
        group.settle()
        took = time.perf_counter_ns() - begin
        seen.append(_memory(setup.device))
        return took

    def take(steps: int) -> list[int]:
        return [once(setup.drawn(len(seen) + 1)[0]) for _ in range(steps)]

    take(WARM_UP - 1)
    counted = arrivals.Arrivals(group)
    setup.meet_at(counted)
    slowest_ns, has_counters = group.maximum([*take(1), meters.can_read])
    again = setup.tokens(1)
    lateness = arrivals.came_late(counted, slowest_ns, partial(once, again), setup.meet_at)
    in_time = math.ceil(_LEAST_S * 1e9 / max(slowest_ns, 1))
    steps = min(in_time, _MOST_STEPS) if has_counters else max(0, min(in_time, most) + WARM_UP - len(seen))
    group.meet()
    meters.begin()
    take(steps)
    group.meet()
    rows = group.everybodys(meters.read())
    largest = group.maximum([number for one in seen for number in one])
    on_gpus = setup.device.type == "cuda"
    return MeteredSteps(
        memory=tuple(zip(*[iter(largest)] * 4, strict=True)),
        energy=(
            *([_of("GPU", rows, steps, meters.reasons)] if on_gpus else []),
            _of("host", rows, steps, meters.reasons),
        ),
        utilization=tuple(row[4] if row[4] >= 0 else None for row in rows) if on_gpus else (),
        lateness=lateness,
    )


def _of(of: Literal["GPU", "host"], rows: list[list[int]], steps: int, mine: dict[str, str]) -> EnergyUse:
    """Ranks that share a counter have read the same."""
    at, unit = (0, 1e-6) if of == "host" else (2, 1e-3)
    counters = {row[at]: row[at + 1] for row in rows}
    missing = [rank for rank, row in enumerate(rows) if row[at + 1] < 0]
    reason = mine.get(of) or (f"rank {missing[0]} cannot read it" if missing else "")
    joules = None if missing else sum(counters.values()) * unit / steps
    return EnergyUse(of=of, counters=len(counters), joules_per_step=joules, joules_per_token=None, reason=reason)


def _memory(device: torch.device) -> MemoryNow:
    resident = or_minus(processes.resident_bytes())
    if device.type != "cuda":
        return -1, -1, -1, resident
    free, whole = torch.cuda.mem_get_info(device)
    return torch.cuda.memory_allocated(device), torch.cuda.memory_reserved(device), whole - free, resident


def or_minus(number: int | None) -> int:
    return -1 if number is None else number
