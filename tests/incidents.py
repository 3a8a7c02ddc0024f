"""Short logs of our own with the root cause that they show: a block each."""

import re
from dataclasses import dataclass
from pathlib import Path

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Incident:
    name: str
    root_cause: str
    offender: str | None
    log: str

    def __str__(self) -> str:
        return self.name


def _read(name: str) -> tuple[Incident, ...]:
    text = (_DATA / name).read_text()
    found = []
    for block in re.split(r"^=== (?=[\w-]+ \| )", text, flags=re.MULTILINE)[1:]:
        head, _, log = block.partition("\n")
        name, root_cause, offender = (word.strip() for word in head.split("|"))
        found.append(Incident(name, root_cause, None if offender == "-" else offender, log))
    return tuple(found)


INCIDENTS = _read("incidents.txt")
LOGS = {incident.name: incident.log for incident in INCIDENTS}
VARIANTS = _read("variants.txt")
"""Other wordings, prefixes and versions; several ranks, with the echoes of the others around the cause."""
