"""Logs to events on several processors: a process for each, a file at a time, in the order of the files.

What comes out is the same as with one process. The processes are started, not forked, so that threads of the
caller do no harm; events that come before their turn are kept, within a limit, behind which their process waits.
"""

import os
import selectors
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from nccltool.core import processes
from nccltool.core.errors import BadInput
from nccltool.triage.logs import log_files
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.logs.reader import LogReader

MOST_PROCESSES = 4
"""Of 55 MiB each: more would not fit into the memory that reading may take."""
WORTH_BYTES = 16 << 20
"""Of logs beside the largest one: a tenth of a second of reading, which is what it takes to start a process."""
HELD_BYTES = 16 << 20
"""Of events that wait for their turn."""
_UNPACKED = 8
"""How much larger a packed log is, about."""
_BATCH = 200
_PIPE_BYTES = 1 << 18
_HEAD = struct.Struct("<I?")
"""Before each answer: its length, and whether it is the last one about a file."""


class Some(msgspec.Struct, frozen=True, tag="events"):
    """Events of the file that is being read."""

    events: list[LogEvent]


class End(msgspec.Struct, frozen=True, tag="end"):
    """The end of a file."""

    lines: int


class Bad(msgspec.Struct, frozen=True, tag="bad"):
    """A file that cannot be read."""

    message: str
    remedy: str


_decoder = msgspec.msgpack.Decoder(Some | End | Bad)


def events(files: Sequence[str], reader: LogReader, most: int | None = None) -> Iterator[LogEvent]:
    """The events of files, in their order; the reader counts the lines. Raises BadInput when one cannot be read.

    `most`: processes at most; as many as there are processors when None is given.
    """
    allowed = len(os.sched_getaffinity(0)) if most is None else most
    count = min(allowed, MOST_PROCESSES, len(files))
    if count < 2 or not (most or _is_worth_it(files)) or not all(map(_can_be_told, files)):
        for file in files:
            yield from reader.read(file, log_files.chunks(file))
        return
    crew = _Crew(files, count)
    try:
        yield from crew.events(reader)
    finally:
        crew.end()


def _is_worth_it(files: Sequence[str]) -> bool:
    sizes = [_size(file) for file in files]
    return sum(sizes) - max(sizes) >= WORTH_BYTES


def _size(file: str) -> int:
    try:
        size = Path(file).stat().st_size
    except OSError:
        return 0  # who reads it says what is wrong
    return size * (_UNPACKED if file.endswith((".gz", ".xz", ".zst")) else 1)


def _can_be_told(file: str) -> bool:
    """Whether another process can read it, and be told its name."""
    return file != "-" and not any("\ud800" <= letter <= "\udfff" for letter in file)


class _Process:
    """A process that reads."""

    def __init__(self) -> None:
        # -P: the folder of the logs is no place to import from
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nccltool.triage.parallel_reader", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            start_new_session=True,
            bufsize=0,
        )
        assert self.process.stdin
        assert self.process.stdout
        self._stdin, self.stdout = self.process.stdin, self.process.stdout
        self.turn: int | None = None
        """The number of the file that it reads."""
        self._rest = bytearray()

    def read(self, turn: int, file: str) -> None:
        """Have it read a file."""
        self.turn = turn
        name = msgspec.json.encode(file) + b"\n"
        try:
            self._stdin.write(name)
        except BrokenPipeError:
            return  # its end is noticed where its answers end

    def answers(self) -> list[tuple[bytes, bool]] | None:
        """What has come, and whether it is the last about a file; None at the end."""
        piece = os.read(self.stdout.fileno(), _PIPE_BYTES)
        if not piece:
            return None
        self._rest += piece
        whole, at = [], 0
        while len(self._rest) >= at + _HEAD.size:
            length, is_last = _HEAD.unpack_from(self._rest, at)
            behind = at + _HEAD.size + length
            if len(self._rest) < behind:
                break
            whole.append((bytes(self._rest[at + _HEAD.size : behind]), is_last))
            at = behind
        del self._rest[:at]
        return whole

    def end(self) -> None:
        """It is no longer needed."""
        self.process.kill()
        self.process.wait()
        self._stdin.close()
        self.stdout.close()


class _Crew:
    """Processes that read files together."""

    def __init__(self, files: Sequence[str], count: int) -> None:
        self._files = files
        self._next = 0
        """The number of the file that nobody has been told to read."""
        self._held: list[deque[bytes]] = [deque() for _ in files]
        self._held_bytes = 0
        self._all = [_Process() for _ in range(count)]

    def events(self, reader: LogReader) -> Iterator[LogEvent]:
        """All events, in the order of the files."""
        for turn in range(len(self._files)):
            before, ended = reader.lines_read, False
            while not ended:
                self._hand_out()
                while not self._held[turn]:
                    self._listen(turn)
                answer = self._held[turn].popleft()
                self._held_bytes -= len(answer)
                told = _decoder.decode(answer)
                if isinstance(told, Some):
                    yield from told.events
                elif isinstance(told, Bad):
                    raise BadInput(told.message, told.remedy)
                else:
                    reader.lines_read, ended = before + told.lines, True

    def _hand_out(self) -> None:
        """Files for those who have none, as long as not too much waits for its turn."""
        for process in self._all:
            if process.turn is None and self._next < len(self._files) and self._held_bytes < HELD_BYTES:
                process.read(self._next, self._files[self._next])
                self._next += 1

    def _listen(self, turn: int) -> None:
        """Take what comes; of those whose turn it is not, only as long as there is room."""
        with selectors.DefaultSelector() as selector:
            for process in self._all:
                if process.turn == turn or (process.turn is not None and self._held_bytes < HELD_BYTES):
                    selector.register(process.stdout, selectors.EVENT_READ, process)
            for key, _ in selector.select():
                self._take(key.data)
        self._hand_out()

    def _take(self, process: _Process) -> None:
        assert process.turn is not None
        answers = process.answers()
        if answers is None:
            raise _lost(self._files[process.turn], process.process.wait())
        turn = process.turn
        for answer, is_last in answers:
            self._held[turn].append(answer)
            self._held_bytes += len(answer)
            if is_last:
                process.turn = None

    def end(self) -> None:
        """Leave nothing behind."""
        for process in self._all:
            process.end()


def _lost(file: str, code: int) -> BadInput:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return BadInput(
        f"{file} cannot be read: the process that read it ended with {how}",
        f"see whether memory ran out (dmesg), and read it alone: nccltool triage {file}",
    )


def _serve() -> None:
    """Read the files that the parent names, one at a time, until it names no more."""
    reader = LogReader()
    for line in sys.stdin.buffer:
        file = msgspec.json.decode(line, type=str)
        before = reader.lines_read
        try:
            found = reader.read(file, log_files.chunks(file))
            while some := list(islice(found, _BATCH)):
                _answer(Some(some))
            _answer(End(reader.lines_read - before))
        except BadInput as error:
            _answer(Bad(error.message, error.remedy))


def _answer(answer: Some | End | Bad) -> None:
    data = msgspec.msgpack.encode(answer)
    sys.stdout.buffer.write(_HEAD.pack(len(data), not isinstance(answer, Some)) + data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    processes.die_with_parent(int(sys.argv[1]))
    _serve()
