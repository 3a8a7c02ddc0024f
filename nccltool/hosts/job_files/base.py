"""What the files of a job have in common: a variable, and the line that sets it."""

import re
from dataclasses import dataclass

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSetting:
    """A variable that a line sets."""

    number: int
    name: str
    value: str
    is_exported: bool = True


def parted(word: str) -> tuple[str, str] | None:
    """(NAME, value) of NAME=value; None: it is something else."""
    name, equals, value = word.partition("=")
    return (name, value) if equals and NAME.fullmatch(name) else None
