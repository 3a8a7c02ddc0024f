"""What other libraries of a training job accept as the value of a variable (neighbor_values.json).

The types were read in the sources that the file names: tables of UCX, parameters of libfabric, variables of Open
MPI, NVSHMEM, OpenMP, CUDA, Slurm, and of engines such as vLLM and SGLang. A value that a pattern matches may still
be wrong; one that it does not match is.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

_FILE = Path(__file__).parent / "neighbor_values.json"


class Accepted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a library accepts of some variables."""

    component: str
    """The library."""
    source: str
    expected: str
    """In words."""
    pattern: str
    """Of the whole value."""
    effect: str
    """What the library does with another value."""
    names: tuple[str, ...]
    refuses_empty: bool = False
    """An empty value is refused; unset is not."""

    def takes(self, value: str) -> bool:
        return re.fullmatch(self.pattern, value, re.ASCII) is not None


@cache
def every() -> Mapping[str, Accepted]:
    """By the name of the variable."""
    entries = msgspec.json.decode(_FILE.read_bytes(), type=list[Accepted])
    return {name: entry for entry in entries for name in entry.names}
