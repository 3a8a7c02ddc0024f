"""What is shown of ranks while they run: rows as they are measured, the current step, the time that is left."""

import math
from itertools import takewhile

from nccltool.cli import progress
from nccltool.core.look import Look
from nccltool.core.text import counted, escaped
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.launch.run_state import RunState
from nccltool.localize.encounter import Encounter
from nccltool.localize.pairs.state import PairsState
from nccltool.probe import folding
from nccltool.probe.finding_kinds import LEFT_OUT
from nccltool.probe.result import Measurement
from nccltool.probe.state import ProbeState
from nccltool.train.events import (
    Flowed,
    OfTraining,
    TimedSteps,
    TrainedStep,
    VariantTimed,
    VariantTried,
)
from nccltool.train.finding_kinds import NOT_COMPARED, REFERENCE_COST
from nccltool.train.state import TrainState

_STEPS_FOR_ETA = 3
_SAID_AT_ONCE = (LEFT_OUT, NOT_COMPARED, REFERENCE_COST)
"""Kinds of findings that are not kept for the end: what the run will not do, or will take long for."""


class RunNews:
    """What has come since it was last asked."""

    def __init__(self) -> None:
        self._rows = self._findings = 0

    def notes(self, state: RunState) -> list[str]:
        """What a user may not want to wait for."""
        found = [finding for finding in state.findings[self._findings :] if finding.kind in _SAID_AT_ONCE]
        self._findings = len(state.findings)
        return [escaped(finding.message) for finding in folding.folded(found)]

    def rows(self, state: RunState) -> list[str]:
        """A line for each step that is done."""
        match state.product:
            case ProbeState(results=results) as measured:
                rows = [_row(measured.row(*result)) for result in results[self._rows :]]
                self._rows = len(results)
            case TrainState(said=said) as heard:
                rows = [row for event in said[self._rows :] if (row := _trained_row(event, heard))]
                self._rows = len(said)
            case PairsState(encounters=met):
                rows = [_met_row(one) for one in met[self._rows :]]
                self._rows = len(met)
            case _:
                rows = []
        return rows

    def line(self, row: str, number: int, state: RunState) -> str:
        """A row where rows are not counted by a bar."""
        steps = f"/{state.world.steps}" if state.world and isinstance(state.product, ProbeState) else ""
        return f"[{number}{steps}] {row}"

    def status(self, state: RunState, now: float, look: Look) -> str:
        return _status(state, now, look)


def _status(state: RunState, now: float, look: Look) -> str:
    elapsed = format_seconds(max(now - state.started_at, 0.1))
    if state.job.attempt:
        elapsed += f", restart {state.job.attempt}"
    if state.world is None:
        if not state.expected_ranks:
            return f"waiting for ranks: {counted(len(state.hosts_met), 'host')} joined, {elapsed}"
        came = sum(1 for rank in state.ranks.values() if rank.facts)
        return f"waiting for ranks: {came} of {state.expected_ranks} joined, {elapsed}"
    done, steps = len(state.product.done), state.world.steps
    parts = [
        progress.bar(done, steps, look),
        f"{done}/{steps}",
        _current(state),
        elapsed,
        _left(state, done, steps, now),
    ]
    return "  ".join(part for part in parts if part)


def _current(state: RunState) -> str:
    entered = [rank.entered for rank in state.ranks.values() if rank.entered]
    if not entered:
        return ""
    latest = max(entered, key=lambda enter: enter.step)
    return escaped(latest.label or f"{latest.op} {format_bytes(latest.bytes)}")


def _left(state: RunState, done: int, steps: int, now: float) -> str:
    """How long it will still take if the other steps are like those that are done."""
    if done < _STEPS_FOR_ETA or not state.began or done >= steps:
        return ""
    seconds = (now - min(state.began.values())) / done * (steps - done)
    return progress.left(seconds)


def _row(row: Measurement) -> str:
    wrong = "-" if row.wrong is None else str(row.wrong)
    of = f"  {escaped(row.group.text)}" if row.group else ""
    return (
        f"{row.op:14} {format_bytes(row.bytes):>9} {format_seconds(row.time_s.seconds):>9}  "
        f"busbw {format_gb_per_s(row.busbw_bytes_per_s):>8} GB/s  wrong {wrong}{of}"
    )


def _met_row(one: Encounter) -> str:
    way = " -> " if one.is_directed else " - "
    speed = "no result" if one.busbw_bytes_per_s is None else f"{format_gb_per_s(one.busbw_bytes_per_s)} GB/s"
    return escaped(f"round {one.round + 1:<3} {way.join(one.members):24}  {speed}")


def _trained_row(event: OfTraining, heard: TrainState) -> str | None:
    name = escaped(event.strategy)
    match event:
        case TrainedStep():
            left_out = "  overflowed: not updated" if event.overflowed else ""
            return (
                f"{name:9} step {event.number:<4} {format_seconds(event.ns / 1e9):>9}  "
                f"loss {float(event.loss):.7g}  reference {float(event.reference_loss):.7g}{left_out}"
            )
        case TimedSteps():
            samples = heard.samples(event.step)
            mean_s = sum(samples) / len(samples) / 1e9 if samples else math.nan
            return f"{name:9} {len(samples)} timed {format_seconds(mean_s):>9}  each"
        case Flowed():
            running = event.running_ns
            return f"{name:9} bubble {1 - event.computing_ns / running if running else math.nan:.0%}"
        case VariantTried(without_sync_ns=None):
            outcome = ("wrong" if event.wrong else "left out") if event.reason else "equals the reference"
            return f"{name:9} {escaped(event.name)}: {outcome}"
        case VariantTimed(number=0):
            return _rounds_row(event, heard)
    return None


def _rounds_row(event: VariantTimed, heard: TrainState) -> str | None:
    """After ten rounds of --tune, 20, 40, and so on."""
    of_strategy = [e for e in heard.said if e.strategy == event.strategy]
    earlier = takewhile(lambda e: e is not event, of_strategy)
    before = sum(len(e.ns) for e in earlier if isinstance(e, VariantTimed) and e.number == 0)
    done = before + len(event.ns)
    if before and (before // 10).bit_length() == (done // 10).bit_length():
        return None
    tried = {e.number for e in of_strategy if isinstance(e, VariantTried) and not e.reason}
    name, took = escaped(event.strategy), format_seconds(sum(event.ns) / len(event.ns) / 1e9)
    return f"{name:9} {counted(done, 'round')} of {counted(len(tried), 'setting')}, {took} as asked for"
