"""Places in a program that each rank reports to have reached: `trainer 3: data loader ready`."""

import re
from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import event, table

PATTERNS = table(r"""
state
    job.milestone  `ntering |ntered |eached |rrived| ready|before |efore_| joined|nitialized|finished| done` => ^
                   (?!.*(?:NCCL|\bWorkNCCL|Watchdog|INFO UCX|UCX  )).{0,200}$
""")
_WRITER = re.compile(
    r"(?i)(?<![\w.])(?P<of>rank|trainer|worker|process|proc|host|task|node|replica|actor|dp|tp|pp|ep)"
    r"(?:[ _:=#-]| #)?(?P<name>\d{1,5})\b(?![.\d]|/\d| of)"
)
_NUMBERED = re.compile(r"\b(?:step|iter\w*|epoch|layer|batch|stage|phase|round|barrier|seq\w*)[ _:=#]{0,2}\d+")
_TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]?[\d:.,Z+-]*|\b\d\d:\d\d:\d\d[\d.,]*")


def events(line: SourceLine) -> Iterator[LogEvent]:
    """Who tells it and what, without its times and counts: of all that are there, the same text."""
    found = next(PATTERNS.found(line.text), None)
    if found is None:
        return
    named = _WRITER.search(line.text)
    if named:
        of, name = named["of"].lower(), str(int(named["name"]))
    elif line.rank is not None:
        of, name = "rank", str(line.rank)
    elif line.host:
        of, name = "host", line.host
    else:
        return
    yield event(found[0], line, {"of": of, "who": name, "what": _what(line.text, named)})


def _what(text: str, named: re.Match[str] | None) -> str:
    told = _TIMES.sub("", text if named is None else text[: named.start()] + text[named.end() :])
    kept = {match.start(): match[0] for match in _NUMBERED.finditer(told)}
    parts, place = [], 0
    for start, words in kept.items():
        parts += [re.sub(r"\d+", "#", told[place:start]), words]
        place = start + len(words)
    return "".join([*parts, re.sub(r"\d+", "#", told[place:])]).strip().lower()
