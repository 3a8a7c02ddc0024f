"""The catalogue of variables: what each is, since when, and what it does (nccl_env.json).

The releases in it were read in the sources of NCCL 2.3.5 to 2.30.7, and the names that came later in the library
2.32.3.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from nccltool.core.versions import Version, parse

NEWEST = Version(2, 32, 3)
"""A name that is not in the catalogue may have come after this release."""
_FILE = Path(__file__).parent / "nccl_env.json"


class KnownVariable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable."""

    name: str
    component: str
    """Who reads it: nccl, torch, gloo, aws-ofi-nccl, ..."""
    group: str
    type: Literal[
        "switch", "integer", "bytes", "text", "list", "path", "word", "names", "boolean", "torch boolean",
        "ofi boolean",
    ]  # fmt: skip
    """switch, integer and bytes are read as numbers; names is a list of interfaces or adapters."""
    status: Literal["live", "removed", "ghost", "alias", "plugin-only", "reserved"]
    """ghost: no release reads it. alias: an old spelling. reserved: only scripts and images use it."""
    values: str = ""
    default: str = ""
    min: int | None = None
    max: int | None = None
    since: str | None = None
    """The first release of NCCL that reads it; None = not a variable of NCCL, or since ever."""
    removed: str | None = None
    """The first release that does not read it any more."""
    instead: str | None = None
    """What to use instead."""
    documented: bool = False
    """It stands in the guide of its makers."""
    debugging: bool = False
    """NVIDIA's guide lists it under Debugging: not to be kept in scripts and files."""
    must_match: bool = False
    """It must have one value on all ranks."""
    summary: str = ""
    note: str = ""
    source: str = ""

    @property
    def since_version(self) -> Version | None:
        """`since` as a number."""
        return parse(self.since) if self.since else None

    @property
    def removed_version(self) -> Version | None:
        """`removed` as a number."""
        return parse(self.removed) if self.removed else None

    @property
    def is_number(self) -> bool:
        """NCCL reads a number from it."""
        return self.type in ("switch", "integer", "bytes") and self.component == "nccl"


@cache
def every() -> Mapping[str, KnownVariable]:
    return {entry.name: entry for entry in msgspec.json.decode(_FILE.read_bytes(), type=list[KnownVariable])}


def distance(one: str, other: str) -> int:
    """How many slips (a letter too many, too few, wrong, or two swapped) are between two words."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, wanted in enumerate(other, start=1):
            slips = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                slips = min(slips, rows[-2][j - 2] + 1)
            row.append(slips)
        rows.append(row)
    return rows[-1][-1]
