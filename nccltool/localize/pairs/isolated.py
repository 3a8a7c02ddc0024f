"""Pairs as jobs of their own: what dies or hangs in one costs only its own test.

Each is a command of nccltool with a deadline, of which one round is asked; who meets is decided here.
"""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from nccltool.core import processes, run_directory, signals
from nccltool.core.errors import BadInput, RunDirError
from nccltool.core.run_directory import RunDir
from nccltool.core.text import shortened
from nccltool.launch import fault_injection, runner
from nccltool.launch.events import Event
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.localize import document
from nccltool.localize.encounter import Encounter
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.pairs import rounds, units
from nccltool.localize.pairs.events import Encountered, RoundEnded, RoundsCut
from nccltool.localize.pairs.job import PairsJob
from nccltool.localize.pairs.state import PairsState
from nccltool.localize.pairs.time_left import TimeLeft
from nccltool.localize.pairs.units import MeetingUnit

AT_ONCE = 64
"""Commands that run at the same time: each has a process here."""
_TICK_S = 0.05
_START_S = 30.0
"""Of a command, to import torch and to end, on a busy host."""
_GRACE_S = 15.0
"""A command has a deadline of its own, after which it names who hangs; it is killed so long after that."""
_ENDS_S = 10.0
_LONGEST_REASON = 300


def run(order: LaunchOrder[PairsJob], run_dir: RunDir, progress: Callable[[RunState], None]) -> LaunchOutcome:
    """Measure round after round; each encounter is saved when it has come."""
    with signals.held() as came, ExitStack() as stack:
        processes.adopt_orphans()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nccltool-pairs-")))
        return _Isolated(order, run_dir, progress, came, folder).until_end()


class _Isolated:
    def __init__(
        self,
        order: LaunchOrder[PairsJob],
        run_dir: RunDir,
        progress: Callable[[RunState], None],
        came: Sequence[int],
        folder: Path,
    ) -> None:
        self._job, self._run_dir, self._progress = order.job, run_dir, progress
        self._came, self._folder = came, folder
        self._end = time.monotonic() + order.job.deadline_s
        names = tuple(order.launch.names().values()) if order.job.pairs.targets else ()
        names = units.names_of(names or (socket.gethostname(),) * (order.job.nodes or 0))
        self._units = [MeetingUnit(name=name, node=number, ranks=()) for number, name in enumerate(names)]
        self._state = RunState(order.job, 0, time.monotonic())
        self._state.hosts_met = list(names) if order.job.pairs.targets else [socket.gethostname()]
        assert isinstance(self._state.product, PairsState)
        self._product = self._state.product
        self._product.nodes = names

    def until_end(self) -> LaunchOutcome:
        number, left = 0, TimeLeft()
        try:
            while who := rounds.next_meetings(self._job.pairs, self._units, self._product.encounters):
                if self._came or not left.is_enough:
                    break
                begin = time.monotonic()
                self._round(number, who)
                number, now = number + 1, time.monotonic()
                left.note(now - begin, self._end - now)
            if who and not self._came:
                self._say(RoundsCut(left_s=left.left_s or 0.0, round_s=left.next_s))
        except RunDirError as error:
            full = runner.run_dir_full(error, "the run was stopped, because each result must be saved")
            return LaunchOutcome(self._state, (full,), interrupted=False)
        drills = fault_injection.findings(self._job.fault)
        return LaunchOutcome(self._state, (*self._product.findings(), *drills), interrupted=bool(self._came))

    def _round(self, number: int, who: Sequence[tuple[str, ...]]) -> None:
        waiting = [self._meeting(number, place, members) for place, members in enumerate(who)]
        running: list[_Running] = []
        try:
            while (waiting or running) and not self._came:
                while waiting and len(running) < AT_ONCE:
                    running.append(_Running(waiting.pop(0)))
                time.sleep(_TICK_S)
                for one in [one for one in running if one.has_ended()]:
                    running.remove(one)
                    self._say(*one.encountered())
                    known = self._state.expected_ranks
                    self._state.expected_ranks = max(known, one.ranks_of_node * len(self._units))
                self._progress(self._state)
        finally:
            processes.end_all([one.process for one in running], signal.SIGINT, _ENDS_S)
        if not self._came:
            self._say(RoundEnded(step=number, meetings=len(who), missing=0))
            self._run_dir.sync()

    def _say(self, *events: Event) -> None:
        for event in events:
            self._run_dir.event(msgspec.json.encode(event) + b"\n")
            self._state.apply(event, time.monotonic())

    def _meeting(self, number: int, place: int, members: tuple[str, ...]) -> "_Meeting":
        spec, job = self._job.pairs, self._job
        nodes = [next(unit.node for unit in self._units if unit.name == name) for name in members]
        words = ["pairs", "--rounds", "1", "--groups", str(len(members)), "--op", spec.op]
        words += ["--pair-time", str(spec.budget_s), "--backend", job.backend]
        words += ["--bytes", str(spec.bytes)] if spec.bytes else []
        words += ["--rails", ",".join(spec.rails)] if spec.rails else []
        words += ["--nproc-per-node", str(job.nproc_per_node)] if job.nproc_per_node else []
        words += ["--timeout", str(job.timeout_s), "--join-timeout", str(job.join_timeout_s)]
        if spec.targets:
            words += ["--hosts", ",".join(spec.targets[node] for node in nodes), *spec.ssh_words]
        else:
            words += ["--nodes", str(len(members))]
        limit_s = max(min(3 * job.timeout_s + job.join_timeout_s, self._end - time.monotonic()), 1.0)
        folder = self._folder / f"{number}-{place}"
        return _Meeting(number, members, tuple(words), limit_s, folder, self._drill(nodes))

    def _drill(self, nodes: Sequence[int]) -> str:
        """The drill of a rank, in the meeting in which that rank is."""
        fault, each = fault_injection.parse(self._job.fault), self._job.nproc_per_node or 1
        if fault is None or fault.rank // each not in nodes:
            return ""
        return replace(fault, rank=nodes.index(fault.rank // each) * each + fault.rank % each).text


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A command to run."""

    round: int
    members: tuple[str, ...]
    words: tuple[str, ...]
    limit_s: float
    folder: Path
    fault: str


class _Running:
    def __init__(self, meeting: _Meeting) -> None:
        self._meeting = meeting
        self.ranks_of_node = 0
        """As far as it is known once it has ended."""
        meeting.folder.mkdir(parents=True)
        words = [*meeting.words, "-q", "--format", "json", "--deadline", f"{meeting.limit_s:.0f}"]
        words += ["--run-dir", str(meeting.folder / "runs"), "--history", "none"]
        # ours, without options of ours: those are in the words
        env = {name: value for name, value in os.environ.items() if not name.startswith("NCCLTOOL_")}
        env |= {"NCCLTOOL_NO_CONFIG": "1"} | ({fault_injection.VARIABLE: meeting.fault} if meeting.fault else {})
        self._said = meeting.folder / "stderr"
        with self._said.open("wb") as err:
            self.process = processes.start_nccltool(words, env, subprocess.DEVNULL, err)
        self._kill_at = time.monotonic() + meeting.limit_s + _START_S + _GRACE_S

    def has_ended(self) -> bool:
        """Whether it has; it is killed where it does not."""
        if self.process.poll() is None and time.monotonic() > self._kill_at:
            processes.end_group(self.process.pid, 1.0)
        return self.process.poll() is not None

    def encountered(self) -> tuple[Encountered, ...]:
        """What came of it."""
        folders = run_directory.folders(self._meeting.folder / "runs")
        if not folders:
            return (self._without(self._last_words()),)
        try:
            run = document.load(folders[-1])
        except BadInput as error:
            return (self._without(f"{error.message}; {self._last_words()}"),)
        self.ranks_of_node = (run.info.world_size or 0) // len(self._meeting.members)
        return tuple(_renamed(one, run, self._meeting) for one in run.encounters) or (self._without(_why(run)),)

    def _without(self, reason: str) -> Encountered:
        meeting = self._meeting
        return Encountered(round=meeting.round, members=meeting.members, busbw_bytes_per_s=None, reason=reason)

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._said.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
        said = [*errors, *reversed(lines), f"it ended with exit code {self.process.returncode}"]
        return shortened(said[0], _LONGEST_REASON)


def _renamed(one: Encounter, run: LocalizedRun, meeting: _Meeting) -> Encountered:
    """An encounter under the names of this run, with what that run says of a failure."""
    hosts = run.info.hosts
    theirs = units.names_of(hosts if len(hosts) == len(meeting.members) else hosts[:1] * len(meeting.members))
    names = dict(zip(theirs, meeting.members, strict=True))
    return Encountered(
        round=meeting.round,
        members=tuple(names.get(name, name) for name in one.members),
        busbw_bytes_per_s=one.busbw_bytes_per_s,
        is_directed=one.is_directed,
        rail=one.rail,
        reason=None if one.busbw_bytes_per_s is not None else _why(run) or one.reason,
    )


def _why(run: LocalizedRun) -> str:
    """Who is to blame, as the run itself says it."""
    errors = [finding for finding in run.findings if finding.effect == "incomplete"]
    return shortened(errors[0].message, _LONGEST_REASON) if errors else ""
