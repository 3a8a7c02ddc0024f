"""LOOK for the logs to follow: existing files, new files, flight recorder dumps, rotated files."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nccltool.core import packed
from nccltool.core.errors import BadInput
from nccltool.triage import flight_recorder
from nccltool.triage.logs import log_files, tail

SCAN_S = 2.0
"""How often folders are looked through for new files."""
_ROTATED = re.compile(r"[.-]\d+(?:\.(?:gz|xz|zst|bz2))?$")

_BEGINS_A_DUMP = (b"{", b"\x80")


@dataclass(slots=True)
class _Seen:
    """How much of a file was there when it was looked at last, and since when it has been there."""

    size: int = 0
    since: float = 0.0


@dataclass(slots=True)
class LogDiscovery:
    """All logs of an order: those that are there, and those that come."""

    paths: Sequence[str]
    trust_pickle: bool
    patience_s: float
    """How long a file may look like the beginning of a dump before it is read as a log."""
    say: Callable[[str], None]
    files: dict[str, tail.TailedFile] = field(default_factory=dict)
    pipe: tail.TailedInput | None = None
    dumps: dict[str, flight_recorder.RecorderDump] = field(default_factory=dict)
    _maybe_dumps: dict[str, _Seen] = field(default_factory=dict)
    _packed: list[str] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _missing: set[str] = field(default_factory=set)
    _scanned_at: float = -SCAN_S

    def __post_init__(self) -> None:
        tail.allow_files()
        if "-" in self.paths:
            self.pipe = tail.TailedInput()

    def look(self, now: float) -> None:
        if now - self._scanned_at < SCAN_S:
            return
        is_first, self._scanned_at = self._scanned_at < 0, now
        for path in self.paths:
            if path != "-":
                with log_files.refusals(path):
                    self._look_at(Path(path), is_first)

    def _look_at(self, path: Path, is_first: bool) -> None:
        if path.is_dir():
            for file in log_files.within(path):
                self._take_up(str(file), is_first)
        elif path.exists():
            self._take_up(str(path), True)
        elif str(path) not in self._missing:
            self._missing.add(str(path))
            self.say(f"waiting for {path}, which does not exist yet")

    def _take_up(self, name: str, is_first: bool) -> None:
        if name in self._known:
            return
        self._known.add(name)
        if not is_first and self._is_rotated(name):
            return
        head = log_files.head_of(name)
        if what := log_files.foreign(head):
            self.say(f"skipped {name}: it is {what}")
        elif packed.kind(head):
            self._packed.append(name)
        elif self._may_be_a_dump(name, head):
            self._maybe_dumps[name] = _Seen()
        else:
            self.files[name] = tail.TailedFile(name)

    def _may_be_a_dump(self, name: str, head: bytes) -> bool:
        begins_so = not head or head[:1] in _BEGINS_A_DUMP
        return begins_so and flight_recorder.is_named_so(name) and Path(name).is_file()

    def _is_rotated(self, name: str) -> bool:
        """Whether it is what a followed file was called before: its lines have been read."""
        return _ROTATED.sub("", name) in self.files and bool(_ROTATED.search(name))

    def packed(self) -> Iterator[log_files.LogContent]:
        """Files that are read once, as they are."""
        while self._packed:
            yield log_files.LogContent(self._packed.pop())

    def read_dumps(self, now: float) -> bool:
        """Read dumps that were written; whether there is a new one. What turns out to be none is a log."""
        is_new = False
        for name, seen in list(self._maybe_dumps.items()):
            try:
                what = self._dump_or_log(name, seen, now)
            except BadInput as error:
                self.say(f"{error.message}: {error.remedy}")
                what = "left out"
            if what is None:
                continue
            del self._maybe_dumps[name]
            if isinstance(what, flight_recorder.RecorderDump):
                self.dumps[name], is_new = what, True
            elif what == "log":
                self.files[name] = tail.TailedFile(name)
        return is_new

    def _dump_or_log(self, name: str, seen: _Seen, now: float) -> flight_recorder.RecorderDump | str | None:
        """None = it cannot be told yet: it is empty, or still being written."""
        head, size = log_files.head_of(name), log_files.size_of(name)
        if head and head[:1] not in _BEGINS_A_DUMP:
            return "log"
        if not head or size != seen.size:
            seen.size = size
            seen.since = seen.since if head and seen.since else now
        elif one := flight_recorder.dump(name, self.trust_pickle):
            return one
        return "log" if head and now - seen.since > self.patience_s else None

    def close(self) -> None:
        for file in self.files.values():
            file.close()
