"""Which of the past runs to list."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from nccltool.core.errors import BadInput
from nccltool.core.text import comma_separated
from nccltool.core.units import parse_since
from nccltool.core.unknown_names import unknown
from nccltool.core.user_files import contents
from nccltool.monitor.run_list import Entry

KINDS = ("probe", "train", "preflight")


class _Kept(msgspec.Struct):
    kind: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """What `nccltool runs` was asked for, as it was given; empty = everything."""

    limit: int | None = None
    kind: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    since: str | None = None

    def chosen(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """The runs that fit, oldest first. Raises BadInput."""
        kinds = comma_separated(self.kind)
        for kind in kinds:
            if kind not in KINDS:
                raise unknown("kind of runs", kind, KINDS, option="--kind")
        first = _moment(self.since) if self.since else ""
        found = tuple(
            one
            for one in entries
            if (not kinds or _kind(one) in kinds)
            and (not self.status or one.status in self.status)
            and one.id[: len(first)] >= first
        )
        return found[-self.limit :] if self.limit else found


def _kind(entry: Entry) -> str:
    """The command of a run, also of one that did not end in order; empty = not known."""
    try:
        return msgspec.json.decode(contents(Path(entry.path) / "job.json", silence_s=0), type=_Kept).kind
    except (BadInput, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def _moment(text: str) -> str:
    """The beginning of ids from then on."""
    return f"{datetime.fromtimestamp(parse_since(text, '--since'), UTC):%Y%m%dT%H%M%SZ}"
