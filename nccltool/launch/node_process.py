"""A process that a launcher starts here: its pipes, the lines that come out of them, and its end."""

import contextlib
import os
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from subprocess import PIPE
from typing import IO

from nccltool.core.errors import BadInput
from nccltool.core.text import is_noise
from nccltool.launch.events import RECORD_SEPARATOR
from nccltool.launch.launchers.base import Unwrap

_READ = 65536
_LONGEST_LINE = 1 << 20
"""More without an end of line is cut: nobody knows what a host prints."""
_TAIL = 20


class NodeProcess:
    """A started command of a launch."""

    def __init__(self, number: int, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.number = number
        try:
            self.process = subprocess.Popen(
                argv, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True, bufsize=0
            )
        except OSError as error:
            raise BadInput(
                f"{argv[0]} cannot be started: {error.strerror}", "see that it is there, and ulimit -n and -u"
            ) from error
        self.said: deque[str] = deque(maxlen=_TAIL)
        """The end of what it wrote on standard error, and of what was no event on its standard output."""
        self._telling: list[str] = []
        self.open_pipes = 2
        assert self.process.stdin
        self._stdin = self.process.stdin.fileno()
        os.set_blocking(self._stdin, False)
        self._untold = b""

    def streams(self, unwrap: Unwrap | None) -> Iterator["LineStream"]:
        """What comes out of it; `unwrap` reads its standard output, where lines come wrapped."""
        assert self.process.stdout
        assert self.process.stderr
        yield LineStream(self, self.process.stdout, True, unwrap)
        yield LineStream(self, self.process.stderr, False)

    def close(self) -> None:
        """Close the pipes of one that has ended."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            pipe.close()

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


class LineStream:
    """Lines of one pipe."""

    def __init__(
        self, process: NodeProcess, pipe: IO[bytes], is_events: bool, unwrap: Unwrap | None = None
    ) -> None:
        self.process, self.pipe, self.is_events = process, pipe, is_events
        self._unwrap = unwrap or self._parts
        self._rest = b""

    def lines(self) -> list[bytes] | None:
        """What has come; None at the end."""
        chunk = os.read(self.pipe.fileno(), _READ)
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
