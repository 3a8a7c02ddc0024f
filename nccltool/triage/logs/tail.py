"""Where growing logs come from: files that are written, replaced and truncated while they are read, and pipes.

Files are asked, not watched: that works on network file systems too, where nobody tells of changes.
"""

import contextlib
import os
import resource
import select
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from nccltool.core import packed
from nccltool.core.errors import BadInput
from nccltool.triage.logs import log_files
from nccltool.triage.logs.line_decoder import shortened
from nccltool.triage.logs.log_files import HEAD_BYTES

PIECE_BYTES = 1 << 20
"""Read at a time from one log, so that the others get their turn."""


class LineBuffer:
    """One log that grows: its whole lines as they come, and what has no end of line yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rest = b""
        """The beginning of a line whose end has not come."""

    def take(self, piece: bytes) -> bytes:
        """The lines that this piece ends, in bounded memory."""
        end = piece.rfind(b"\n") + 1
        whole = self.rest + piece[:end] if end else b""
        self.rest = shortened(piece[end:] if end else self.rest + piece)
        return whole


class TailedFile:
    """A file: pieces as they are written. After a rotation or a truncation it is another log, named NAME (2)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._turn = 1
        self._fd: int | None = None
        self._at = 0
        self._changed_at = 0
        self._head = b""
        self.log = LineBuffer(path)
        self.before: LineBuffer | None = None
        """The log that has just ended, of which a last line without an end may be left."""

    def read(self) -> bytes:
        """The next piece; empty when there is none now. Raises BadInput when it may not be read."""
        self.before = None
        try:
            if self._fd is None:
                self._open()
            return self._next() if self._fd is not None else b""
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise BadInput(
                f"{self.path} cannot be read: {error.strerror}",
                "name a log that this user may read or raise ulimit -n",
            ) from error

    def _open(self) -> None:
        self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def _next(self) -> bytes:
        assert self._fd is not None
        about = os.fstat(self._fd)
        if stat.S_ISREG(about.st_mode) and (about.st_size < self._at or self._was_written_anew(about)):
            os.lseek(self._fd, 0, os.SEEK_SET)
            self._begin_again()
        self._changed_at = about.st_mtime_ns
        try:
            piece = os.read(self._fd, PIECE_BYTES)
        except BlockingIOError:
            return b""
        if not piece and self._is_another():
            os.close(self._fd)
            self._fd = None
            self._begin_again()
            self._open()
            return b""
        self._at += len(piece)
        self._head = (self._head + piece[:HEAD_BYTES])[:HEAD_BYTES]
        return piece

    def _was_written_anew(self, about: os.stat_result) -> bool:
        """Whether it was cut off, which changes its beginning, and has grown again to where we were, or beyond."""
        assert self._fd is not None
        has_changed = self._at > 0 and about.st_mtime_ns != self._changed_at
        return has_changed and os.pread(self._fd, len(self._head), 0) != self._head

    def _is_another(self) -> bool:
        """Whether the name leads to another file now."""
        assert self._fd is not None
        try:
            return not os.path.samestat(Path(self.path).stat(), os.fstat(self._fd))
        except FileNotFoundError:
            return False  # moved away; its writer may go on until there is a new one

    def _begin_again(self) -> None:
        self._turn += 1
        self._at, self._head = 0, b""
        self.before, self.log = self.log, LineBuffer(f"{self.path} ({self._turn})")

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class TailedInput:
    """Standard input, as it comes."""

    def __init__(self) -> None:
        self.log = LineBuffer("-")
        self.ended = False
        try:
            self._fd = sys.stdin.fileno()
        except (AttributeError, OSError, ValueError) as error:
            raise BadInput("standard input cannot be read: it is closed", "pipe a log into it") from error
        self.content = log_files.LogContent("-")
        """What came, where it is packed."""
        self._packed: Iterator[bytes] | None = None
        self._began = False

    @property
    def ends_early(self) -> bool:
        """Whether its end came, and was not that of what is packed in it."""
        return self.ended and self.content.ends_early

    def read(self, wait_s: float) -> bytes:
        """The next piece; empty when none came in time, or at the end. What is packed is read without pauses."""
        if self._packed is not None:
            piece = next(self._packed, b"")
            self.ended = not piece
            return piece
        if self.ended or not select.select([self._fd], [], [], wait_s)[0]:
            return b""
        piece = os.read(self._fd, PIECE_BYTES)
        self.ended = not piece
        if not self._began and packed.kind(piece):
            self._packed = self.content.behind(piece, sys.stdin.buffer)
            return self.read(wait_s)
        self._began = True
        return piece


def allow_files() -> None:
    """Let this process have as many files open as it may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def input_is_live() -> bool:
    """Whether standard input can grow: a pipe or a terminal, and no file."""
    if sys.stdin is None:
        return False
    try:
        return not stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):  # replaced by something that is no file
        return False


def has_writer(paths: frozenset[str]) -> bool:
    """Whether a process can be seen that has one of these files open for writing.

    Of False alone nothing follows: a process of another user or of another host cannot be seen.
    """
    wanted = {os.path.realpath(path) for path in paths}
    for opened in _opened():
        try:
            if str(opened.readlink()) in wanted and _writes(opened):
                return True
        except OSError:
            continue  # it is closed
    return False


def _opened() -> Iterator[Path]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it is gone, or not ours to look at
            yield from (process / "fd").iterdir()


def _writes(opened: Path) -> bool:
    flags = (opened.parent.parent / "fdinfo" / opened.name).read_text().partition("flags:")[2].split()
    return bool(flags) and int(flags[0], 8) & os.O_ACCMODE != os.O_RDONLY
