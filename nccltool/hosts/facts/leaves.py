"""What a fact is made of: a value or the reason why there is none."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeAlias, TypeVar

import msgspec

from nccltool.core.unknown import Unknown


class NotKnown(Exception):
    """A rule needs a fact that is Unknown. `str()` is the reason."""


NOT_READ = Unknown("not checked")

T = TypeVar("T")
U = TypeVar("U")
P = ParamSpec("P")
Part = TypeVar("Part", bound=msgspec.Struct)
Text: TypeAlias = str | Unknown
Count: TypeAlias = int | Unknown
Number: TypeAlias = float | Unknown
Flag: TypeAlias = bool | Unknown
Limit: TypeAlias = int | Unknown | None
"""None = unlimited."""
Texts: TypeAlias = tuple[str, ...] | Unknown


def known(leaf: T | Unknown) -> T:
    """The value of a leaf. Raises NotKnown with the reason where there is none."""
    if isinstance(leaf, Unknown):
        raise NotKnown(leaf.reason)
    return leaf


def or_none(leaf: T | Unknown) -> T | None:
    """The value of a leaf, or None: for evidence and tables, where the reason does not matter."""
    return None if isinstance(leaf, Unknown) else leaf


def then(leaf: T | Unknown, change: Callable[[T], U]) -> U | Unknown:
    """What comes of the value of a leaf; a reason stays as it is."""
    return leaf if isinstance(leaf, Unknown) else change(leaf)


def or_unknown(read: Callable[P, T]) -> Callable[P, T | Unknown]:
    """A reader of a leaf, for which the first leaf that it needs and that is not known is the reason."""

    @wraps(read)
    def answered(*args: P.args, **kwargs: P.kwargs) -> T | Unknown:
        try:
            return read(*args, **kwargs)
        except NotKnown as why:
            return Unknown(str(why))

    return answered


class Setting(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A named text of the kernel: a sysctl, a parameter of a driver, a counter."""

    name: str
    value: Text = NOT_READ


def all_unknown(part: type[Part], reason: str, **given: object) -> Part:
    """A part each of whose leaves is Unknown for one reason; what is given, or is no leaf, stays as it is."""
    leaves = [one.name for one in msgspec.structs.fields(part) if one.default is NOT_READ]
    return part(**{**{name: Unknown(reason) for name in leaves}, **given})


_LONGEST_RANGE, _MOST_NUMBERS = 12, 1 << 16
"""Ports are the longest list of the kernel."""


@lru_cache(maxsize=256)
def numbers(text: str) -> frozenset[int]:
    """The numbers of a list as the kernel writes it, `0-3,8`. Raises NotKnown for anything else."""
    found: set[int] = set()
    for word in text.strip().split(",") if text.strip() else ():
        first, _, last = word.partition("-")
        plain = word.isascii() and first.isdecimal() and (last.isdecimal() or "-" not in word)
        if not plain or len(word) > _LONGEST_RANGE or len(found) > _MOST_NUMBERS:
            raise NotKnown(f"{text[:40]!r} is not a list of CPUs")
        found.update(range(int(first), min(int(last or first), int(first) + _MOST_NUMBERS) + 1))
    return frozenset(found)
