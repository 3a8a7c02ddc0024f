"""Starts the processes, reads their events, saves them, watches the time, and ends everything.

Nothing outlives this: every process it starts is in a session of its own that is killed at the end, and the
kernel kills each of them when its parent dies.
"""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

import msgspec

from nccltool import blame, events, judge, processes
from nccltool.errors import RunDirError
from nccltool.jobs import Order
from nccltool.model import Finding, Job, Subject
from nccltool.runs import RunDir
from nccltool.units import format_seconds
from nccltool.watch import RunState

SETTLE_S = 1.5
"""After the first fault, how long to listen to what the other ranks have to say."""
ECHOES_S = 5.0
"""The same while only echoes have come: elastic takes a while to see that a supervisor of its own is dead."""
LEAVE_S = 8.0
"""After the last rank said bye, how long the processes may take to end."""
FOLLOWER_S = 5.0
"""How much longer a command waits whose rank 0 is elsewhere: that one sees more, and names the culprit."""
GONE_S = 3.0
"""How long to wait for killed processes to disappear; one in an uninterruptible driver call may take longer."""
IMPORT_S = 90.0
"""How long importing torch may take on a cold file system before any rank exists."""
_TICK_S = 0.2
_READ = 65536

Progress = Callable[[RunState], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run; `state` holds the measurements."""

    state: RunState
    findings: tuple[Finding, ...]
    interrupted: bool
    """Ended by Ctrl-C or a signal."""


def run(order: Order, argvs: Sequence[Sequence[str]], run_dir: RunDir, progress: Progress) -> Outcome:
    """Run a job to its end, or to its deadline."""
    processes.adopt_orphans()
    scratch = _scratch(run_dir)
    job = replace(order.job, scratch=scratch)
    runner = _Runner(job, order, run_dir, progress)
    try:
        with _signals(runner.interrupt):
            runner.start(argvs)
            return runner.until_end()
    finally:
        runner.kill()
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch(run_dir: RunDir) -> str:
    try:
        return tempfile.mkdtemp(prefix="nccltool-")
    except OSError:  # no temporary folder that may be written: a read-only container
        return tempfile.mkdtemp(prefix="scratch-", dir=run_dir.path)


_ALL_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def signals_held(*numbers: signal.Signals) -> contextlib.AbstractContextManager[None]:
    """These signals (all when none is named) do nothing in here but end a run: its result is kept all the same."""
    return _signals(lambda number, frame: None, numbers or _ALL_SIGNALS)


@contextlib.contextmanager
def _signals(
    handler: Callable[[int, FrameType | None], None], numbers: Sequence[signal.Signals] = _ALL_SIGNALS
) -> Iterator[None]:
    """Ctrl-C, a scheduler's SIGTERM and a closed terminal are taken alike; what nohup turned off stays off."""
    wanted = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in wanted}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


class _Stream:
    """Lines of one pipe."""

    def __init__(self, fd: int, is_events: bool) -> None:
        self.fd, self.is_events = fd, is_events
        self._rest = b""

    def lines(self) -> list[bytes] | None:
        chunk = os.read(self.fd, _READ)
        if not chunk and not self._rest:
            return None
        *lines, self._rest = (self._rest + (chunk or b"\n")).split(b"\n")  # a last line may have no end
        return lines


class _Runner:
    def __init__(self, job: Job, order: Order, run_dir: RunDir, progress: Progress) -> None:
        self._job, self._leads, self._run_dir, self._progress = job, order.leads, run_dir, progress
        self._state = RunState(job, order.ranks_seen, time.monotonic())
        self._selector = selectors.DefaultSelector()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._left_at: float | None = None
        self._ending: Finding | None = None
        self._stderr: list[str] = []
        self._signal: int | None = None

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """A signal's handler: end the run at the next tick, in order."""
        self._signal = number

    def start(self, argvs: Sequence[Sequence[str]]) -> None:
        """Start the node processes and give them the job."""
        line = msgspec.json.encode(self._job) + b"\n"
        # torch and elastic leave files where temporary files go, most of all when ranks die
        env = {**os.environ, "TMPDIR": self._job.scratch, "PYTHONPATH": _our_package_first()}
        for argv in argvs:
            child = subprocess.Popen(
                argv,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._processes.append(child)
            assert child.stdin
            assert child.stdout
            assert child.stderr
            child.stdin.write(line)
            child.stdin.flush()
            for pipe, is_events in ((child.stdout, True), (child.stderr, False)):
                self._selector.register(pipe, selectors.EVENT_READ, _Stream(pipe.fileno(), is_events))

    def until_end(self) -> Outcome:
        """Listen until all is said, or the time is up."""
        interrupted = False
        try:
            while self._selector.get_map() and not self._signal and not self._over(time.monotonic()):
                self._listen()
                self._progress(self._state)
            if self._signal and not self._state.everybody_left:
                # a launcher sends SIGTERM when another rank has failed; what that one said may be under way
                if self._signal == signal.SIGTERM or self._state.fault_at is not None:
                    self._settle()
                interrupted = self._state.fault_at is None
        except RunDirError as error:
            self._ending = run_dir_full(
                error, "the run was ended: a result must be saved before the next one starts"
            )
        return Outcome(self._state, self._findings(interrupted), interrupted)

    def _listen(self) -> None:
        for key, _ in self._selector.select(_TICK_S):
            stream: _Stream = key.data
            lines = stream.lines()
            if lines is None:
                self._selector.unregister(key.fileobj)
                continue
            for line in lines:
                self._take(line, stream.is_events)

    def _take(self, line: bytes, is_events: bool) -> None:
        event = events.decode(line) if is_events else None
        if event is None:
            text = line.decode(errors="replace")
            self._stderr = [*self._stderr[-20:], text]
            self._run_dir.log(text + "\n")
            return
        if isinstance(event, events.Log):
            self._run_dir.log(f"[rank {event.rank}] {event.text}\n")
        self._run_dir.event(line[1:] + b"\n")
        self._state.apply(event, time.monotonic())
        if isinstance(event, events.Result):
            self._run_dir.sync()
            self._answer(b"saved\n")

    def _answer(self, line: bytes) -> None:
        for child in self._processes:
            with contextlib.suppress(BrokenPipeError):  # its end is noticed where its output ends
                assert child.stdin
                child.stdin.write(line)
                child.stdin.flush()

    def _over(self, now: float) -> bool:
        state = self._state
        if state.fault_at is not None:
            # where rank 0 is elsewhere, the node process ends by itself when it has told that one
            all_said = self._leads and state.everybody_spawned and state.everybody_ended
            return now - state.fault_at > self._settle_s() or all_said
        if state.everybody_left:
            self._left_at = self._left_at or now
            return now - self._left_at > LEAVE_S
        if now - state.started_at > self._job.deadline_s:
            self._ending = _deadline(state, self._job.deadline_s)
            return True
        waited = now - state.progress_at
        if waited > self._patience():
            self._ending = blame.after_timeout(state, waited) if state.ranks else self._nothing_came(waited)
            return True
        return False

    def _patience(self) -> float:
        """How long nothing may move."""
        if self._state.everybody_spawned:
            if self._leads:
                return self._job.timeout_s
            joining = not any(rank.entered for rank in self._state.ranks.values())
            return max(self._job.join_timeout_s if joining else 0.0, self._job.timeout_s) + FOLLOWER_S
        # a rendezvous that times out says itself which node is missing; give it the time to
        return max(self._job.join_timeout_s, self._job.timeout_s) + (5.0 if self._state.ranks else IMPORT_S)

    def _settle_s(self) -> float:
        said = any(finding.severity == "error" for finding in self._state.findings)
        return SETTLE_S if said or blame.knows(self._state) else ECHOES_S

    def _settle(self) -> None:
        end = time.monotonic() + SETTLE_S
        while self._selector.get_map() and time.monotonic() < end:
            self._listen()

    def _findings(self, interrupted: bool) -> tuple[Finding, ...]:
        state = self._state
        found = [*state.findings, *judge.wrong_data(state.wrong)]
        if self._ending is not None:
            found.append(self._ending)
        elif not interrupted:
            culprit, said = blame.after_fault(state), any(f.severity == "error" for f in state.findings)
            if not said and not state.everybody_left and (culprit is None or self._node_was_killed()):
                found.append(self._node_failed())
            elif culprit is not None:
                found.append(culprit)
        return tuple(found)

    def _nothing_came(self, waited_s: float) -> Finding:
        return replace(self._node_failed(), message=f"no rank was started in {waited_s:.0f} s")

    def _node_was_killed(self) -> bool:
        """Then all its ranks died, and what they still said of each other are echoes."""
        return any(code is not None and code < 0 for code in self._exit_codes())

    def _exit_codes(self) -> list[int | None]:
        """None for a node process that is still there; its pipes end a moment before it does."""
        for child in () if self._selector.get_map() else self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(1.0)
        return [child.poll() for child in self._processes]

    def _node_failed(self) -> Finding:
        codes = self._exit_codes()
        return Finding(
            code="node-failed",
            severity="error",
            subject=Subject(kind="run", name="node process"),
            message=f"the node process ended (exit code {codes[0]}) before its ranks were done",
            evidence=tuple(line for line in self._stderr if line.strip())[-10:],
            remedy="read log.txt in the run directory; does `python -c 'import torch'` work there?",
        )

    def kill(self) -> None:
        """End every process of the run."""
        for child in self._processes:
            processes.end_group(child.pid, GONE_S)
            child.poll()
            for pipe in (child.stdin, child.stdout, child.stderr):
                with contextlib.suppress(BrokenPipeError):
                    assert pipe
                    pipe.close()
        self._selector.close()


def _our_package_first() -> str:
    """The worker must be of the same nccltool as the command, wherever that was found."""
    here = str(Path(__file__).parent.parent)
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])


def _deadline(state: RunState, deadline_s: float) -> Finding:
    done = f"{len(state.results)} of {state.world.steps}" if state.world else "0"
    return Finding(
        code="deadline",
        severity="error",
        subject=Subject(kind="run", name="deadline"),
        message=f"the run took longer than {format_seconds(deadline_s)}; {done} steps were done",
        remedy="ask for less (--op, -e, -n), or raise --deadline",
    )


def run_dir_full(error: RunDirError, what_follows: str) -> Finding:
    """The finding for a run directory that took no more."""
    return Finding(
        code="run-dir-full",
        severity="error",
        subject=Subject(kind="file", name="run directory"),
        message=error.message,
        evidence=(what_follows,),
        remedy=error.remedy,
    )
