"""Short logs of our own with the root cause that they show: one file, a block each."""

import re
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "incidents.txt"


@dataclass(frozen=True)
class Incident:
    name: str
    root_cause: str
    offender: str | None
    log: str

    def __str__(self) -> str:
        return self.name


def _read(text: str) -> tuple[Incident, ...]:
    found = []
    for block in re.split(r"^=== (?=[\w-]+ \| )", text, flags=re.MULTILINE)[1:]:
        head, _, log = block.partition("\n")
        name, root_cause, offender = (word.strip() for word in head.split("|"))
        found.append(Incident(name, root_cause, None if offender == "-" else offender, log))
    return tuple(found)


INCIDENTS = _read(_FILE.read_text())
