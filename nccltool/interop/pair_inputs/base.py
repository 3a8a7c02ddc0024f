"""What files say about nodes that met, before anything is made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from nccltool.core.errors import BadInput
from nccltool.core.text import shortened
from nccltool.localize.encounter import Encounter

MOST = 2_000_000
"""Measurements of one file: more would take all memory."""
LONGEST_NAME = 255
_REMEDY = "pass a CSV file with the columns a,b,busbw, or results of a benchmark"


@dataclass(frozen=True, kw_only=True, slots=True)
class PairFile:
    """What one file holds."""

    encounters: tuple[Encounter, ...]
    notes: tuple[str, ...] = ()
    """What was left out of it, and why."""
    missing: tuple[str, ...] = ()
    """What belongs into it, and is not there."""
    is_within: bool = False
    """Ranks met inside their nodes."""


def refuse(where: str, problem: str, remedy: str = _REMEDY) -> NoReturn:
    """Raises BadInput."""
    raise BadInput(f"{where}: {problem}", remedy)


def members(where: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of nodes that met. Raises BadInput for one that can be none, and for a node that met itself."""
    for name in names:
        if not name:
            refuse(where, "the name of a node is empty", "write a name in each row")
        if len(name) > LONGEST_NAME:
            refuse(where, f"the name of a node is too long: {shortened(name, 40)}", "pass host names")
    if len(set(names)) < len(names):
        refuse(where, f"{shortened(names[0], 60)} is paired with itself", "remove this row")
    return tuple(names)
