"""Probe repeatedly, and serve the results: a few seconds of measuring every INTERVAL.

Each run is a command of its own, as somebody would type it: what one of them breaks, the next one does not have.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from nccltool.core import processes, run_directory, signals
from nccltool.core.errors import BadInput
from nccltool.core.units import format_bytes
from nccltool.train import document

OURS = ("--loop", "--serve", "--cluster")
"""Options that the single runs do not have; the cluster is in their environment."""
LEAST_S = 5.0
"""Starting Python and torch takes some of it."""
GRACE_S = 30.0
"""For a run that is asked to end."""
BAD_INPUT, INTERRUPTED = 2, 130


@dataclass(slots=True)
class ProbeLoop:
    """Runs of one command, `every_s` seconds from start to start, beside a server where one is asked for."""

    words: Sequence[str]
    """Of the command line, without the program."""
    every_s: float
    listen: str | None
    base: Path
    say: Callable[[str], None]
    cluster: str = ""
    """That metrics name; empty = none."""
    _children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _ended_by: int = 0

    def run(self) -> int:
        """Go on until a signal comes; the exit code. A first run that is refused (2) ends it."""
        signals.take(self._end)
        try:
            if self.listen is not None:
                self._started(["serve", "--listen", self.listen, "--run-dir", str(self.base)])
            return self._loop()
        finally:  # nothing is left: first asked, then killed
            processes.end_all(self._children, signal.SIGTERM, GRACE_S)

    def _loop(self) -> int:
        first = True
        while not self._ended_by:
            begin = time.monotonic()
            code = self._waited(self._started(single(self.words)))
            if first and code == BAD_INPUT:
                return BAD_INPUT
            if not self._ended_by:
                self.say(self._share(code, time.monotonic() - begin))
            first = False
            self._sleep(begin + self.every_s)
        return 0 if self._ended_by == signal.SIGTERM else INTERRUPTED

    def _started(self, words: Sequence[str]) -> "subprocess.Popen[bytes]":
        twins = {f"NCCLTOOL_{name.lstrip('-').upper()}" for name in OURS}
        own = {"NCCLTOOL_CLUSTER": self.cluster} if self.cluster else {}
        child = processes.start_nccltool(words, {k: v for k, v in os.environ.items() if k not in twins} | own)
        self._children.append(child)
        return child

    def _waited(self, child: "subprocess.Popen[bytes]") -> int:
        """Its exit code; a run has deadlines of its own."""
        while child.poll() is None:
            time.sleep(0.05)
            self._look_at_server(child)
        self._children.remove(child)
        return int(child.returncode)

    def _sleep(self, until: float) -> None:
        while not self._ended_by and time.monotonic() < until:
            time.sleep(min(0.2, max(until - time.monotonic(), 0.0)))
            self._look_at_server(None)

    def _look_at_server(self, run: "subprocess.Popen[bytes] | None") -> None:
        """One that ends is a reason to say so; one that cannot begin, to stop."""
        for child in [child for child in self._children if child is not run and child.poll() is not None]:
            self._children.remove(child)
            if child.returncode == BAD_INPUT:
                raise BadInput("--serve could not start; see the error above", "pass another address")
            if not self._ended_by:
                self.say(f"the server exited with code {child.returncode}; runs continue")

    def _share(self, code: int, seconds: float) -> str:
        """What a run took of the time, and of the fabric."""
        said = f"exit code {code}; {seconds:.1f} s of {self.every_s:g} s ({seconds / self.every_s:.1%})"
        try:
            run = document.load(run_directory.find(self.base, run_directory.LATEST))
        except BadInput:
            return said
        moved = sum(row.bytes * (row.iterations or 0) for row in run.measurements)
        rate = f"{moved / self.every_s / 1e6:.3g} MB/s on average"
        return f"{said}; timed calls of {format_bytes(moved // 2**20 * 2**20 or moved)}, {rate}"

    def _end(self, number: int, _: FrameType | None) -> None:
        self._ended_by = self._ended_by or number
        for child in self._children:
            child.send_signal(number)


def single(words: Sequence[str]) -> list[str]:
    """The command line of one run: without our options and their values."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in OURS:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in OURS)):
            kept.append(word)
    return kept
