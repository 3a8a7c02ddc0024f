"""Starts commands of nccltool itself, side by side, and ends each by its deadline: what hangs hangs alone."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nccltool.core import processes, run_directory
from nccltool.core.errors import BadInput
from nccltool.launch.fault_injection import VARIABLE, Fault
from nccltool.launch.standstill import Standstill
from nccltool.localize import document as localized
from nccltool.probe.headline import INTERRUPTED
from nccltool.probe.result import Run
from nccltool.train import document

_TICK_S = 0.05
_ENDS_S = 10.0
"""How long a command may take to end in order after SIGINT."""
GRACE_S = 15.0
"""A command has a deadline of its own, after which it names who hangs; it is killed so long after that."""
_AROUND_S, _OF_START, _OF_AROUND = 5.0, 3.0, 1.25
"""What a command takes besides its own deadline, to start and to end its processes: 2.7 to 5.2 s on two busy
processors, 9 and 10 s at loads of 24 and 13, where Python and the command line took 3.6 s to start."""
_SHOWN = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A command to run."""

    label: str
    """Name of its files."""
    words: tuple[str, ...]
    """After nccltool."""
    nodes: tuple[int, ...]
    """On which it runs."""
    end: float
    """When it must have ended, by the monotonic clock."""
    fault: Fault | None
    variables: tuple[tuple[str, str | None], ...] = ()
    """That it has besides ours; None = that it lacks."""

    @property
    def line(self) -> str:
        return shlex.join(["nccltool", *self.words])


@dataclass(slots=True)
class Reserve:
    """Time of a limit that commands need besides their own deadline: it follows the slowest one so far."""

    seconds: float = _AROUND_S

    def note_start(self, start_s: float) -> None:
        """What a command took to start, before it worked."""
        self.seconds = max(self.seconds, _OF_START * start_s)

    def note_around(self, around_s: float) -> None:
        """What a command took besides its work."""
        self.seconds = max(self.seconds, _OF_AROUND * around_s)

    def deadline_s(self, limit_s: float) -> float:
        """The deadline of a command that must have ended within a limit."""
        return max(limit_s - self.seconds, limit_s / 2, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Came:
    """What came of it."""

    run: Run | None
    folder: str
    """Of the run; empty = none was begun."""
    why_not: str
    killed_by: str = ""
    """The signal by which somebody else ended the command."""


def run(
    calls: Sequence[Call],
    folder: Path,
    at_once: int,
    stop: Callable[[], bool],
    stood: Callable[[float], None] = lambda _: None,
    reserve: Reserve | None = None,
) -> list[Came]:
    """Run all of them, so many at once. `stop` says whether to end all now; `stood` hears for how many seconds
    this command was stopped itself; `reserve` learns what they take besides their deadlines."""
    reserve = reserve or Reserve()
    waiting, started = list(calls), list[_Started]()
    standstill = Standstill(time.monotonic())
    try:
        while waiting or any(one.living for one in started):
            if stop():
                break
            while waiting and sum(one.living for one in started) < at_once:
                started.append(_Started(waiting.pop(0), folder, reserve))
            time.sleep(_TICK_S)
            stood(standstill.look(time.monotonic()))
            for one in started:
                one.mind_the_time()
            standstill.worked(time.monotonic())  # to end a command takes its time
    finally:
        for one in started:
            one.note_its_end()
        # asked first, so that what they measured is kept
        processes.end_all([one.process for one in started], signal.SIGINT, _ENDS_S)
    for one in started:
        one.note_in(reserve)
    return [*(one.came for one in started), *(Came(run=None, folder="", why_not="interrupted") for _ in waiting)]


class _Started:
    def __init__(self, call: Call, folder: Path, reserve: Reserve) -> None:
        self._folder = folder / call.label
        self._folder.mkdir(parents=True)
        self._load = localized.load if call.words[0] == "pairs" else document.load
        self._limit_s = max(call.end - time.monotonic(), 1.0)
        words = [*call.words, "-q", "--format", "json", "--history", "none"]  # ours counts, not its parts
        words += ["--deadline", f"{reserve.deadline_s(self._limit_s):.1f}", "--run-dir", str(self._folder)]
        # ours, without options of ours: those are in the words
        env = {name: value for name, value in os.environ.items() if not name.startswith("NCCLTOOL_")}
        env["NCCLTOOL_NO_CONFIG"] = "1"
        env |= {VARIABLE: call.fault.text} if call.fault else {}
        env |= {name: value for name, value in call.variables if value is not None}
        for name in (name for name, value in call.variables if value is None):
            env.pop(name, None)
        self._said = folder / f"{call.label}.stderr"
        with self._said.open("wb") as err:
            self.process = processes.start_nccltool(words, env, subprocess.DEVNULL, err)
        self._begun_at, self._ended_at = time.monotonic(), 0.0
        self._kill_at = self._begun_at + self._limit_s + GRACE_S
        self._killed = False
        self._ended_by_itself: int | None = None
        """The exit code of a command that nobody here had asked to end."""

    @property
    def living(self) -> bool:
        return self.process.poll() is None

    def mind_the_time(self) -> None:
        if not self._ended_at and not self.living:
            self._ended_at = time.monotonic()
        if self.living and time.monotonic() > self._kill_at:
            self._killed = True
            processes.end_group(self.process.pid, 1.0)

    def note_its_end(self) -> None:
        self._ended_by_itself = None if self._killed else self.process.poll()

    def note_in(self, reserve: Reserve) -> None:
        """One that was ended here tells nothing."""
        worked_s = self.came.run.info.duration_s if self.came.run else None
        if worked_s is not None and self._ended_at and self._ended_by_itself is not None:
            reserve.note_around(self._ended_at - self._begun_at - worked_s)

    @cached_property
    def came(self) -> Came:
        folders = run_directory.folders(self._folder)
        where = str(folders[-1]) if folders else ""
        run, why_not = None, self._last_words()
        if self._killed:
            why_not = f"killed: it did not end within {self._limit_s + GRACE_S:.0f} s"
        elif where:
            try:
                run = self._load(Path(where))
            except BadInput as error:
                why_not = error.message
        return Came(run=run, folder=where, why_not=why_not, killed_by=self._killed_by())

    def _killed_by(self) -> str:
        code = self._ended_by_itself or 0
        return "SIGTERM or SIGINT" if code == INTERRUPTED else processes.signal_name(-code) if code < 0 else ""

    def _last_words(self) -> str:
        lines = self._said.read_text(errors="replace").splitlines()
        errors = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
        said = [*errors, *reversed([line for line in lines if line.strip()])]
        return said[0].strip()[:_SHOWN] if said else f"it ended with exit code {self.process.returncode}"
