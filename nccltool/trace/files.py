"""The files of traces: found by name, unpacked, and read in pieces."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from nccltool.core import packed, user_files
from nccltool.core.errors import BadInput
from nccltool.core.text import escaped

_PIECE = 1 << 17
_HEAD = 16
MOST_FILES = 4096
_ENDINGS = (".json", *(f".json{ending}" for ending in packed.ENDINGS))
_INSPECTOR = re.compile(r"-pid\d+\.log(?:\.\w+)?$")
_REMEDY = "name traces that torch.profiler wrote: export_chrome_trace, or nccltool train --profile DIR"
_UNREADABLE = "check the name and its permissions"


def found(paths: Sequence[str]) -> tuple[Path, ...]:
    """The files, and those of folders, whose names end as those of traces or NCCL Inspector. Raises BadInput."""
    files = [file for path in paths for file in _of(path)]
    if len(files) > MOST_FILES:
        raise BadInput(f"{len(files)} traces are more than {MOST_FILES}", "name the traces of some ranks")
    return tuple(dict.fromkeys(files))


def _of(path: str) -> list[Path]:
    if not path:
        raise BadInput("a PATH is empty", _REMEDY)
    place = Path(path)
    try:
        if not place.is_dir():
            return [place]
        next(place.iterdir(), None)  # rglob says nothing of a folder that it may not read
        files = sorted(one for one in place.rglob("*") if _is_named_so(one.name) and one.is_file())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{escaped(path)} cannot be read: {why}", _UNREADABLE) from error
    if not files:
        raise BadInput(f"{path} has no traces: no file ends in {', '.join(_ENDINGS[:2])}, or -pidN.log", _REMEDY)
    return files


def _is_named_so(name: str) -> bool:
    return name.endswith(_ENDINGS) or _INSPECTOR.search(name) is not None


class TraceFile:
    """An open trace."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.damage = ""
        """Why it was not read to its end; empty = it was."""

    def pieces(self) -> Iterator[bytes]:
        """Its content, unpacked. Raises BadInput if it cannot be opened; it ends where the file is damaged."""
        try:
            with user_files.opened(self._file) as source:
                yield from self._unpacked(source)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise BadInput(f"{self._file} cannot be read: {reason}", _UNREADABLE) from error

    def _unpacked(self, source: BinaryIO) -> Iterator[bytes]:
        what = packed.kind(source.peek(_HEAD)[:_HEAD] if hasattr(source, "peek") else b"")
        if not what:
            while piece := source.read(_PIECE):
                yield piece
            return
        content = packed.Unpacked(source, what)
        try:
            yield from content.pieces(_PIECE)
        except (OSError, *packed.ERRORS) as error:
            self.damage = f"its {what} data is damaged: {error}"
        if content.ends_early:
            self.damage = f"its {what} data ends early"
