"""Logs to events on several processors: each process reads one file at a time, in the order of the files.

What comes out is the same as with one process. Each process writes what its files say into a temporary file, which
is read when it is their turn: what waits does so on disk, not in memory. What a process did not come to the end
of, because a file cannot be read or because it was killed, is read here.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from nccltool.core import packed, processes
from nccltool.core.errors import BadInput
from nccltool.triage.logs import log_files
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.logs.reader import LogReader

MOST_PROCESSES = 4
"""Of 55 MiB each: more would not fit into the memory that reading may take."""
WORTH_BYTES = 16 << 20
"""Of logs beside the largest one: a tenth of a second of reading, which is what it takes to start a process."""
_UNPACKED = 8
"""How much larger a packed log is, about."""
_BATCH = 200
_decoder = msgspec.json.Decoder(list[LogEvent] | int)


def events(files: Sequence[str], reader: LogReader, most: int | None = None) -> Iterator[LogEvent]:
    """The events of files, in their order; the reader counts the lines. Raises BadInput when one cannot be read.

    `most`: processes at most; as many as there are processors when None is given.
    """
    allowed = len(os.sched_getaffinity(0)) if most is None else most
    count = min(allowed, MOST_PROCESSES, len(files))
    if count < 2 or not (most or _is_worth_it(files)) or not all(map(_has_plain_name, files)):
        yield from _read_here(files, reader)
        return
    with contextlib.ExitStack() as stack:
        try:
            workers = [stack.enter_context(contextlib.closing(_Worker(share))) for share in _divided(files, count)]
        except OSError:  # there is no room for temporary files, or none for processes
            yield from _read_here(files, reader)
            return
        worker_of = {file: worker for worker in workers for file in worker.files}
        for file in files:
            yield from worker_of[file].events(file, reader)


def _read_here(files: Sequence[str], reader: LogReader) -> Iterator[LogEvent]:
    for file in files:
        yield from reader.read_file(file)


def _is_worth_it(files: Sequence[str]) -> bool:
    sizes = [_size(file) for file in files]
    return sum(sizes) - max(sizes) >= WORTH_BYTES


def _size(file: str) -> int:
    return log_files.size_of(file) * (_UNPACKED if file.endswith(packed.ENDINGS) else 1)


def _has_plain_name(file: str) -> bool:
    """Whether another process can read it, and JSON has its name."""
    return file != "-" and not any("\ud800" <= letter <= "\udfff" for letter in file)


def _divided(files: Sequence[str], count: int) -> list[list[str]]:
    """The files, each to the share that is the smallest so far: what is needed first is read first."""
    shares: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for file in files:
        smallest = sizes.index(min(sizes))
        shares[smallest].append(file)
        sizes[smallest] += _size(file) + 1
    return shares


class _Worker:
    """A process that reads files."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files = files
        with tempfile.TemporaryFile() as written:
            # The file has two places: its writer's, and ours
            self._events = os.fdopen(os.open(f"/proc/self/fd/{written.fileno()}", os.O_RDONLY), "rb")
            # -P: the folder of the logs is no place to import from
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(os.getpid()), str(written.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[written.fileno()],
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
                start_new_session=True,
                bufsize=0,
            )
        assert self._process.stdin
        assert self._process.stdout
        self._done = self._process.stdout
        with contextlib.suppress(BrokenPipeError), self._process.stdin as names:
            names.write(msgspec.json.encode(files))

    def events(self, file: str, reader: LogReader) -> Iterator[LogEvent]:
        """What the next of its files says, when all of it has been read."""
        if not self._done.read(1):
            yield from _read_here([file], reader)
            return
        for line in self._events:
            some = _decoder.decode(line)
            if isinstance(some, int):
                reader.lines_read += some
                reader.lines_of[file] += some
                return
            yield from some

    def close(self) -> None:
        """Leave nothing behind."""
        self._process.kill()
        self._process.wait()
        self._done.close()
        self._events.close()


def _main(parent: int, written: int) -> None:
    """Read the files that standard input names: lists of events, and the number of lines. A byte for each file."""
    processes.die_with_parent(parent)
    files, reader = msgspec.json.decode(sys.stdin.buffer.read(), type=list[str]), LogReader()
    with contextlib.suppress(BadInput, OSError), open(written, "wb") as out:  # the next reader says what is wrong
        for file in files:
            before, found = reader.lines_read, _read_here([file], reader)
            while some := list(islice(found, _BATCH)):
                out.write(msgspec.json.encode(some) + b"\n")
            out.write(b"%d\n" % (reader.lines_read - before))
            out.flush()
            os.write(sys.stdout.fileno(), b".")


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
