"""What a training takes besides time: memory, energy, and the use of GPUs; from events and in words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from nccltool.core.text import counted
from nccltool.core.units import format_mib
from nccltool.train import events
from nccltool.train.result import EnergyUse, MemoryNow, TrainingResult

_SOURCES = {"GPU": "NVML", "host": "RAPL, whole processor packages"}


def memory(seen: Iterable[events.MemorySeen]) -> Iterator[MemoryNow]:
    for part in seen:
        for step, row in enumerate(part.bytes, start=part.first):
            allocated, reserved, device, resident = (number if number >= 0 else None for number in row)
            yield MemoryNow(
                step=step,
                allocated_bytes=allocated,
                reserved_bytes=reserved,
                device_bytes=device,
                resident_bytes=resident,
            )


def energy(timed: events.TimedSteps) -> Iterator[EnergyUse]:
    for one in timed.energy:
        per_token = None if one.joules_per_step is None else one.joules_per_step / timed.tokens
        yield replace(one, joules_per_token=per_token)


def lines(trainings: Iterable[TrainingResult], verbose: bool) -> Iterator[str]:
    """What is known, for people; with `verbose` also memory, and why the rest is unknown."""
    reasons: dict[str, None] = {}
    for one in trainings:
        used = [share for share in one.gpu_utilization if share is not None]
        if used:
            yield f"GPU utilization in {one.strategy}: {min(used):.0%} to {max(used):.0%}"
        for row in one.energy:
            if row.joules_per_step is None or row.joules_per_token is None:
                reasons[f"energy of {row.of}s: unknown: {row.reason}"] = None
                continue
            took = f"{row.joules_per_step:.3g} J per step, {row.joules_per_token:.3g} J per token"
            yield f"energy of {counted(row.counters, row.of)} in {one.strategy}: {took} ({_SOURCES[row.of]})"
        if verbose and one.memory:
            yield f"memory after {counted(len(one.memory), 'step')} of {one.strategy}: {_memory(one.memory)}"
    if verbose:
        yield from reasons


def _memory(rows: Sequence[MemoryNow]) -> str:
    parts = []
    for what in ("allocated", "reserved", "device", "resident"):
        known = [size for row in rows if (size := getattr(row, f"{what}_bytes")) is not None]
        if known:
            grew = f" (+{format_mib(known[-1] - known[0])})" if known[-1] - known[0] >= 2**19 else ""
            parts.append(f"{what} {format_mib(known[-1])}{grew}")
    return ", ".join(parts) or "unknown"
