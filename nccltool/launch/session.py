"""A session with the node processes of a launch: they are started, given the job, heard, instructed, and ended.

Nothing outlives it: every process is in a session of its own that is killed at the end.
"""

import contextlib
import math
import os
import resource
import secrets
import selectors
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from subprocess import PIPE
from typing import IO

import msgspec

from nccltool.core import processes
from nccltool.core.errors import BadInput
from nccltool.core.text import LineCutter, is_noise
from nccltool.hosts.sources import tcp_table
from nccltool.launch import instructions
from nccltool.launch.events import RECORD_SEPARATOR, Event
from nccltool.launch.instructions import Instruction
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import Command, EndWord, NodeCommands, Unwrap
from nccltool.launch.run_state import RunState

ALIVE_S = 5.0
"""How often remote nodes hear of us; they end when they do not."""
_LATE_S = 1.5
"""How long what ranks said at the end of their time may be under way."""
_TICK_S = 0.2
_NOTE_S = 1.0
_PIPES = 3
_OTHER_FILES = 64
_READ = 65536
_LONGEST_LINE = 1 << 20
"""More without an end of line is cut: nobody knows what a host prints."""
_TAIL = 20
_SECRET_BYTES = 32
"""As many as the MAC that it is for has."""


class Session:
    """All node processes of a launch."""

    def __init__(self, launch: NodeCommands, scratch: str = "") -> None:
        processes.adopt_orphans()
        self.launch = launch
        # torch and elastic leave files where temporary files go, most of all when ranks die
        self._env = processes.package_environment({**os.environ, "TMPDIR": scratch})
        self._selector = selectors.DefaultSelector()
        self.processes: list[NodeProcess] = []
        self.announcer: NodeProcess | None = None
        """The one that has said that its nodes are being ended, while it still ran."""
        self._reason_heard = False
        self._ended: set[NodeProcess] = set()
        self._told_at = time.monotonic()
        self._note_at = 0.0

    def start(self, job: Job) -> None:
        """Start every command, and give each its job; its secret is made here where no other command joins."""
        if not job.secret and (self.launch.remote or job.is_of_one_command):
            job = replace(job, secret=secrets.token_hex(_SECRET_BYTES))
        jobs = self.launch.jobs(job)
        _allow_files(len(jobs) * _PIPES + _OTHER_FILES)
        for command, its_job in zip(self.launch.commands, jobs, strict=True):
            process = NodeProcess(command, self._env, dies_with_us=not self.launch.remote)
            self.processes.append(process)
            process.tell(msgspec.json.encode(its_job) + b"\n")
            for stream in process.streams(self.launch.unwrapper() if self.launch.unwrapper else None):
                self._selector.register(stream.pipe, selectors.EVENT_READ, stream)

    @property
    def speaking(self) -> bool:
        """Whether any pipe is open."""
        return bool(self._selector.get_map())

    def listen(
        self, decode: Callable[[bytes], Event | None]
    ) -> Iterator["tuple[NodeProcess, bytes, Event | None]"]:
        """(process, line, its event) of what comes within a tick. A line without one is kept as evidence."""
        for process in self.processes:
            process.tell(b"")
        for key, _ in self._selector.select(_TICK_S):
            stream: _LineStream = key.data
            lines = stream.lines()
            if lines is None:
                self._selector.unregister(key.fileobj)
                stream.process.open_pipes -= 1
                continue
            for line in lines:
                event = decode(line) if stream.is_events else None
                if event is None:
                    self._hear(stream, line.decode(errors="replace"))
                else:
                    stream.process.heard_at = time.monotonic()
                yield stream.process, line, event

    def _hear(self, stream: "_LineStream", text: str) -> None:
        word = None if stream.is_events else self.launch.end_word(text)
        stream.process.hear(text, is_telling=word is not None)
        if word is not None:
            self.announcer = stream.process
        self._reason_heard |= word is EndWord.REASON

    @property
    def awaits_reason(self) -> bool:
        """Whether nodes are being ended, and nothing has said why."""
        return self.announcer is not None and not self._reason_heard

    def note_logins(self, now: float, is_last: bool = False) -> None:
        """Where connections of the processes lead, once a second and at last: those that have ended have none."""
        if now < self._note_at and not is_last:
            return
        self._note_at = now + _NOTE_S
        if unknown := {one.process.pid: one for one in self.processes if one.login is None}:
            for pid, login in tcp_table.peers(unknown).items():
                unknown[pid].login = login

    def newly_ended(self) -> "Iterator[NodeProcess]":
        """Those that have ended and were not named before."""
        for process in self.processes:
            if not process.open_pipes and process not in self._ended:
                self._ended.add(process)
                yield process

    def tell(self, instruction: Instruction) -> None:
        """Tell each process what of an instruction is for its nodes."""
        for process in self.processes:
            process.tell(instructions.encode(instructions.for_nodes(instruction, process.command.nodes)))
        self._told_at = time.monotonic()

    def keep_alive(self) -> None:
        """Let remote nodes know that we are there, when it is time."""
        if self.launch.remote and time.monotonic() - self._told_at > ALIVE_S:
            self.tell(instructions.Alive())

    def end(self) -> None:
        """End every process. A scheduler's command must hear of it to end what it has started elsewhere."""
        started = [process.process for process in self.processes]
        processes.end_all(started, signal.SIGTERM, self.launch.ends_by_sigterm_s)
        for one in started:
            for pipe in (one.stdin, one.stdout, one.stderr):
                assert pipe
                pipe.close()
        self._selector.close()


def _allow_files(wanted: int) -> None:
    """Many systems allow 1024 open files, and more to those who ask: each command has three pipes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


class Leaving:
    """The end of a run by a signal: at once, or, after SIGTERM, when ranks have had the time to leave in order.

    SIGTERM is passed on once: to the ranks that this host started, and to every host with a node process.

    A scheduler that ends the nodes has sent it there itself, whether or not it comes here.
    """

    def __init__(self, job: Job, state: RunState, session: Session) -> None:
        self._seconds, self._state, self._session = job.leave_s, state, session
        self._end_at: float | None = None
        self.signals: Sequence[int] = ()
        """Those that came."""

    @property
    def signal(self) -> int | None:
        """The last one, which ends the run at the next tick, in order."""
        return self.signals[-1] if self.signals else None

    @property
    def is_asked(self) -> bool:
        """Whether a signal has come here after which ranks have their time."""
        return self._end_at is not None and bool(self.signals)

    def is_up(self) -> bool:
        """Whether the run ends now."""
        if self.signal is not None and (self.signal != signal.SIGTERM or not self._seconds):
            return True
        if self._end_at is None:
            if self.signal is not None:
                self._end_at = time.monotonic() + (self._seconds + _LATE_S if self._pass_on() else 0.0)
            elif self._seconds and self._session.announcer is not None:
                self._end_at = time.monotonic() + self._seconds + _LATE_S
        return self._end_at is not None and time.monotonic() >= self._end_at

    def _pass_on(self) -> bool:
        """Whether there are ranks that it was passed on to."""
        ranks, is_remote = self._state.ranks.values(), self._session.launch.remote
        if is_remote:
            self._session.tell(instructions.Leave())
        here = socket.gethostname()
        pids = [one.pid for one in ranks if one.pid and not one.ended and (is_remote or one.host == here)]
        for pid in () if is_remote else pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        return bool(pids)


class NodeProcess:
    """A started command of a launch, and what it has said."""

    def __init__(self, command: Command, env: Mapping[str, str], dies_with_us: bool) -> None:
        """`dies_with_us`: the kernel kills it with us. What starts nodes elsewhere must end them first."""
        us = os.getpid()
        self.command = command
        self.heard_at = math.inf
        """When its last event came."""
        self.login: tuple[str, int] | None = None
        """Address and port to which its connection leads; None = not known, or to a proxy of the user."""
        try:
            self.process = subprocess.Popen(
                command.argv,
                env=env,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
                bufsize=0,
                preexec_fn=partial(processes.die_with_parent, us) if dies_with_us else None,
            )
        except OSError as error:
            raise BadInput(
                f"{command.argv[0]} cannot be started: {error.strerror}",
                "check that it is installed; check ulimit -n and ulimit -u",
            ) from error
        self.said: deque[str] = deque(maxlen=_TAIL)
        """The end of what it wrote on standard error, and of what was no event on its standard output."""
        self._telling: list[str] = []
        self.open_pipes = 2
        assert self.process.stdin
        self._stdin = self.process.stdin.fileno()
        os.set_blocking(self._stdin, False)
        self._untold = b""

    def streams(self, unwrap: Unwrap | None) -> "Iterator[_LineStream]":
        """What comes out of it; `unwrap` reads its standard output, where lines come wrapped."""
        assert self.process.stdout
        assert self.process.stderr
        yield _LineStream(self, self.process.stdout, True, unwrap or _parts)
        yield _LineStream(self, self.process.stderr, False)

    def hear(self, text: str, is_telling: bool = False) -> None:
        """Keep a line of text for the evidence; one that tells why it ends, whatever comes after it."""
        if is_telling and len(self._telling) < _TAIL:
            self._telling.append(text)
        elif text.strip() and not is_noise(text):
            self.said.append(text)

    @property
    def words(self) -> tuple[str, ...]:
        return (*self._telling, *self.said)

    def tell(self, line: bytes) -> None:
        """Write to its standard input, and what it did not take before: ssh reads nothing before it is connected.

        Its end is noticed where its output ends.
        """
        self._untold += line
        try:
            while self._untold:
                self._untold = self._untold[os.write(self._stdin, self._untold) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._untold = b""

    def exit_code(self) -> int | None:
        """None while it is there; its pipes end a moment before it does."""
        if not self.open_pipes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(1.0)
        return self.process.poll()

    @property
    def was_killed_there(self) -> bool:
        """Whether a signal ended it on the other host: ssh passes on 128 + its number, and has 255 of its own."""
        return 128 < (self.exit_code() or 0) < 255


@dataclass(slots=True)
class _LineStream:
    """Lines of one pipe."""

    process: NodeProcess
    pipe: IO[bytes]
    is_events: bool
    unwrap: Unwrap = lambda line: (line,)
    _buffer: LineCutter = field(default_factory=lambda: LineCutter(_LONGEST_LINE))

    def lines(self) -> list[bytes] | None:
        """What has come; None at the end."""
        chunk = os.read(self.pipe.fileno(), _READ)
        lines = self._buffer.take(chunk) if chunk else self._buffer.end()
        return [part for line in lines for part in self.unwrap(line)] if chunk or lines else None


def _parts(line: bytes) -> tuple[bytes, ...]:
    """A login script of a remote host may have printed something without an end of line before an event."""
    before, separator, event = line.partition(RECORD_SEPARATOR)
    return (before, separator + event) if before and separator else (line,)
