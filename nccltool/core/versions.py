"""Version numbers of NCCL and others: compared as numbers, written as people do."""

import re
from typing import NamedTuple

_VERSION = re.compile(r"\D{0,20}?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?")
_CODE = re.compile(r"\d{4,6}")


class Version(NamedTuple):
    """2.27.7; what is not said is 0."""

    major: int
    minor: int = 0
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def parse(text: str) -> Version | None:
    """The version in `text`: 2.27.7, 2.27, v2.27.7-1, `NCCL version 2.27.7+cuda12.9`, 22707; None = none."""
    text = text.strip()
    if _CODE.fullmatch(text):
        return of_code(int(text))
    match = _VERSION.match(text)
    return match and Version(int(match[1]), int(match[2]), int(match[3] or 0))


def of_code(code: int) -> Version:
    """The version in the number that ncclGetVersion answers: 22707, and 2804 before NCCL 2.9."""
    scale = 10000 if code >= 10000 else 1000
    return Version(code // scale, code % scale // 100, code % 100)
