"""The processes that a launcher starts here: their pipes, the lines that come out of them, and their end."""

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nccltool.core import processes
from nccltool.core.errors import BadInput
from nccltool.core.text import is_noise
from nccltool.launch.events import RECORD_SEPARATOR
from nccltool.launch.launchers.base import Launch, Unwrap

GONE_S = 3.0
"""How long to wait for killed processes to disappear; one in an uninterruptible driver call may take longer."""
_TICK_S = 0.2
_READ = 65536
_LONGEST_LINE = 1 << 20
"""More without an end of line is cut: nobody knows what a host prints."""
_TAIL = 20
_PIPES = 3
_OTHER_FILES = 64


class Child:
    """A started command."""

    def __init__(self, number: int, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.number = number
        self.process = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self.said: deque[str] = deque(maxlen=_TAIL)
        """The end of what it wrote on standard error, and of what was no event on its standard output."""
        self._telling: list[str] = []
        self.open_pipes = 2
        assert self.process.stdin
        self._stdin = self.process.stdin.fileno()
        os.set_blocking(self._stdin, False)
        self._untold = b""

    def hear(self, text: str, is_telling: bool = False) -> None:
        """Keep a line of text for the evidence; one that tells why it ends, whatever comes after it."""
        if is_telling and len(self._telling) < _TAIL:
            self._telling.append(text)
        elif text.strip() and not is_noise(text):
            self.said.append(text)

    @property
    def words(self) -> tuple[str, ...]:
        """What it said that may explain its end."""
        return (*self._telling, *self.said)

    def tell(self, line: bytes) -> None:
        """Write to its standard input, now or later: an ssh that has not connected yet reads nothing."""
        self._untold += line
        self.tell_rest()

    def tell_rest(self) -> None:
        """Write what it did not take before. Its end is noticed where its output ends."""
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


class _Stream:
    """Lines of one pipe."""

    def __init__(self, child: Child, fd: int, is_events: bool, unwrap: Unwrap | None = None) -> None:
        self.child, self.fd, self.is_events = child, fd, is_events
        self._unwrap = unwrap or self._parts
        self._rest = b""

    def lines(self) -> list[bytes] | None:
        """What has come; None at the end."""
        chunk = os.read(self.fd, _READ)
        if not chunk and not self._rest:
            return None
        *lines, self._rest = (self._rest + (chunk or b"\n")).split(b"\n")  # a last line may have no end
        if len(self._rest) > _LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], b""
        return [part for line in lines for part in self._unwrap(line)]

    def _parts(self, line: bytes) -> tuple[bytes, ...]:
        """A login script of a remote host may have printed something without an end of line before an event."""
        before, separator, event = line.partition(RECORD_SEPARATOR)
        return (before, separator + event) if self.is_events and before and separator else (line,)


class Children:
    """All commands of a launch."""

    def __init__(self, launch: Launch, env: Mapping[str, str]) -> None:
        self._launch, self._env = launch, env
        self._selector = selectors.DefaultSelector()
        self.all: list[Child] = []

    def start(self, lines: Sequence[bytes]) -> None:
        """Start every command, and tell each its line."""
        _allow_files(len(lines) * _PIPES + _OTHER_FILES)
        for number, (command, line) in enumerate(zip(self._launch.commands, lines, strict=True)):
            child = self._child(number, command.argv)
            self.all.append(child)
            child.tell(line)
            for pipe, is_events in ((child.process.stdout, True), (child.process.stderr, False)):
                assert pipe
                unwrap = self._launch.unwrapper() if self._launch.unwrapper and is_events else None
                stream = _Stream(child, pipe.fileno(), is_events, unwrap)
                self._selector.register(pipe, selectors.EVENT_READ, stream)

    def _child(self, number: int, argv: Sequence[str]) -> Child:
        try:
            return Child(number, argv, self._env)
        except OSError as error:
            raise BadInput(
                f"{argv[0]} cannot be started: {error.strerror}", "see that it is there, and ulimit -n and -u"
            ) from error

    @property
    def speaking(self) -> bool:
        """Whether any pipe is open."""
        return bool(self._selector.get_map())

    def listen(self) -> Iterator[tuple[Child, bytes, bool]]:
        """(child, line, whether it came where events come) of what comes within a tick."""
        for child in self.all:
            child.tell_rest()
        for key, _ in self._selector.select(_TICK_S):
            stream: _Stream = key.data
            lines = stream.lines()
            if lines is None:
                self._selector.unregister(key.fileobj)
                stream.child.open_pipes -= 1
                continue
            for line in lines:
                yield stream.child, line, stream.is_events

    def tell(self, line: bytes) -> None:
        """Write to all of them."""
        for child in self.all:
            child.tell(line)

    def kill(self) -> None:
        """End every process of the launch."""
        self._ask_to_end(self._launch.ends_by_sigterm_s)
        for child in self.all:
            processes.end_group(child.process.pid, GONE_S)
            child.process.poll()
            for pipe in (child.process.stdin, child.process.stdout, child.process.stderr):
                assert pipe
                pipe.close()
        self._selector.close()

    def _ask_to_end(self, timeout_s: float) -> None:
        """A scheduler's command must hear of the end to end what it has started elsewhere."""
        end = time.monotonic() + timeout_s
        for child in self.all:
            if timeout_s and child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        for child in self.all:
            while timeout_s and child.process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)


def _allow_files(wanted: int) -> None:
    """Many systems allow 1024 open files, and more to those who ask: each command has three pipes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def environment(scratch: str) -> dict[str, str]:
    """Ours, with temporary files where they are removed, and the package that this command is of."""
    # torch and elastic leave files where temporary files go, most of all when ranks die
    return {**os.environ, "TMPDIR": scratch, "PYTHONPATH": _our_package_first()}


def _our_package_first() -> str:
    """The worker must be of the same nccltool as the command, wherever that was found."""
    here = str(Path(__file__).parents[2])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
