"""What standard error shows while ranks run: on a terminal a few lines that are drawn again, else a line a step.

It is drawn by the runner between two events, so each drawing is short, they are seldom, and one that would have to
wait for the terminal (Ctrl-S, a full pipe) is left out: nothing here may hold up a measurement.
"""

import contextlib
import math
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TextIO

from nccltool.cli.looks import look_of_progress
from nccltool.core.look import Look
from nccltool.core.text import counted, escaped
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.launch.run_state import RunState
from nccltool.probe import folding
from nccltool.probe.finding_kinds import LEFT_OUT
from nccltool.probe.result import Measurement
from nccltool.probe.state import ProbeState, measurement
from nccltool.train.events import Flowed, OfTraining, TimedSteps, TrainedStep
from nccltool.train.finding_kinds import NOT_COMPARED, REFERENCE_COST
from nccltool.train.state import TrainState

_REFRESH_S = 0.25
_BAR = 20
_STEPS_FOR_ETA = 3
_AROUND_ROWS = 4
"""Lines of a screen that are not for rows: the bar, what is above, the next prompt."""
_SAID_AT_ONCE = (LEFT_OUT, NOT_COMPARED, REFERENCE_COST)
"""Kinds of findings that are not kept for the end: what the run will not do, or will take long for."""


class Progress(Protocol):
    """What is shown of a run while it lasts."""

    def update(self, state: RunState) -> None:
        """Something may have happened."""

    def end(self) -> None:
        """The result follows."""


class Silent:
    """-q, and commands whose rank 0 is elsewhere."""

    def update(self, state: RunState) -> None:
        pass

    def end(self) -> None:
        pass


@contextlib.contextmanager
def shown(is_silent: bool, beside_events: bool) -> Iterator[Progress]:
    """Progress in here; however it ends, the terminal is left as it was."""
    progress = _chosen(is_silent, beside_events)
    try:
        yield progress
    finally:
        progress.end()


def _chosen(is_silent: bool, beside_events: bool) -> Progress:
    if is_silent or sys.stderr is None:
        return Silent()
    look = look_of_progress()
    if look.height is None or beside_events or os.environ.get("TERM", "") in ("", "dumb"):
        return _Lines(sys.stderr)
    return _Live(sys.stderr, look_of_progress)


class _News:
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
            case ProbeState(results=results):
                world_size = state.world.world_size if state.world else 1
                rows = [_row(measurement(*result, world_size)) for result in results[self._rows :]]
                self._rows = len(results)
            case TrainState(said=said) as heard:
                rows = [row for event in said[self._rows :] if (row := _trained_row(event, heard))]
                self._rows = len(said)
            case _:
                rows = []
        return rows


class _Lines:
    """A line a step: in a file, a pipe, an editor, a log of CI."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._news = stream, _News()
        self._waiting: list[str] = []
        self._count = 0

    def update(self, state: RunState) -> None:
        self._waiting += self._news.notes(state)
        for row in self._news.rows(state):
            self._count += 1
            steps = f"/{state.world.steps}" if state.world and isinstance(state.product, ProbeState) else ""
            self._waiting.append(f"[{self._count}{steps}] {row}")
        if self._waiting and _is_ready(self._stream):
            self._write()

    def end(self) -> None:
        if self._waiting:
            self._write()

    def _write(self) -> None:
        _write(self._stream, "".join(f"{line}\n" for line in self._waiting))
        self._waiting = []


class _Live:
    """A bar, the current step and the last rows, in place."""

    def __init__(self, stream: TextIO, look_now: Callable[[], Look]) -> None:
        self._stream, self._look_now, self._news = stream, look_now, _News()
        self._look = look_now()
        self._rows: list[str] = []
        self._notes: list[str] = []
        self._drawn_at = -math.inf
        self._height = 0

    def update(self, state: RunState) -> None:
        now = time.monotonic()
        if now - self._drawn_at < _REFRESH_S:
            return
        self._notes += self._news.notes(state)
        self._rows += self._news.rows(state)
        if _is_ready(self._stream):
            self._look = self._look_now()  # the window may have another size by now
            self._draw([_status(state, now, self._look), *self._last_rows()])
            self._drawn_at = now

    def end(self) -> None:
        self._draw([])

    def _last_rows(self) -> list[str]:
        room = max((self._look.height or 0) - _AROUND_ROWS, 0)
        self._rows = self._rows[-room:] if room else []
        return self._rows

    def _draw(self, lines: Sequence[str]) -> None:
        """Over what was drawn before. Each line ends with a newline: a prompt follows where we are killed."""
        width = max((self._look.width or 80) - 1, 1)
        text = f"\x1b[{self._height}A\r\x1b[J" if self._height else ""
        text += "".join(f"{line}\n" for line in self._notes) + "".join(f"{line[:width]}\n" for line in lines)
        self._height, self._notes = len(lines), []
        _write(self._stream, text)


def _is_ready(stream: TextIO) -> bool:
    """Whether writing would not wait."""
    try:
        return bool(select.select([], [stream.fileno()], [], 0)[1])
    except (OSError, ValueError):  # no file, as in tests
        return True


def _write(stream: TextIO, text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # whoever read it is gone; the run goes on
        stream.write(text.encode(errors="replace").decode())
        stream.flush()


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
    parts = [_bar(done, steps, look), f"{done}/{steps}", _current(state), elapsed, _left(state, done, steps, now)]
    return "  ".join(part for part in parts if part)


def _bar(done: int, steps: int, look: Look) -> str:
    full = round(_BAR * done / steps) if steps else 0
    return "━" * full + "─" * (_BAR - full) if look.unicode else f"[{'#' * full}{'-' * (_BAR - full)}]"


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
    return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"


def _row(row: Measurement) -> str:
    return (
        f"{row.op:14} {format_bytes(row.bytes):>9} {format_seconds(row.time_s.seconds):>9}  "
        f"busbw {format_gb_per_s(row.busbw_bytes_per_s):>8} GB/s  wrong {'-' if row.wrong is None else row.wrong}"
    )


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
    return None
