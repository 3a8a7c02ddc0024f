"""How what dumps show becomes an event."""

from collections.abc import Iterable, Mapping

from nccltool.triage.flight_recorder.dumps import RecorderDump
from nccltool.triage.logs.base import LONGEST_TEXT, LogEvent


def event(kind: str, of: RecorderDump, text: str, fields: Mapping[str, str], rank: int | None = None) -> LogEvent:
    """A failure that a dump shows; of the rank that wrote it, unless it is told of another one."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)[:LONGEST_TEXT]
    return LogEvent(
        kind=kind,
        role="failure",
        text=clean,
        file=of.file.encode(errors="backslashreplace").decode(),  # documents are UTF-8
        line=1,
        rank=of.rank if rank is None else rank,
        fields=fields,
    )


def at(stack: str) -> str:
    """Where the program made a call, where the dump has it."""
    return f"; called at {stack}" if stack else ""


def listed(ranks: Iterable[int]) -> str:
    """Ranks with commas between them."""
    return ", ".join(map(str, ranks))
