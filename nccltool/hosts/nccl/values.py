"""How NCCL reads values: numbers, names, algorithms, levels; what it takes from a value, and what it drops.

Written after NCCL's own parsers (src/misc/param.cc, src/misc/utils.cc, src/graph/tuning.cc, src/debug.cc), which
differ between versions; tests hold the parts that need no GPU against the library itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from nccltool.core.versions import Version

_SPACE = " \t\n\v\f\r"
_NUMBER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_INT64 = 2**63
FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")
LEVELS = ("VERSION", "WARN", "INFO", "ABORT", "TRACE")
LEVELS_OF_RCCL = (*LEVELS, "NONE", "ERROR")
PATHS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
SUBSYSTEMS = (
    "INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALLOC_HOST", "CALL", "PROXY", "NVLS",
    "BOOTSTRAP", "REG", "PROFILE", "RAS", "DESTROY", "ALL",
)  # fmt: skip
FUNCTION_LISTS = Version(2, 24, 3)
"""From here on NCCL_ALGO and NCCL_PROTO take lists for a function, and refuse words that they do not know."""
_RAILS = Version(2, 30, 7)
"""The release from which a name may have a rail and a plane, and is cut at 63 characters."""
_LONGEST_NAME = 63


@dataclass(frozen=True, kw_only=True, slots=True)
class Integer:
    """A number as strtoll(text, base 0) reads it."""

    value: int | None
    """None: it does not fit 64 bits, and NCCL takes its default instead."""
    rest: str
    """What follows the number; NCCL drops it."""
    digits: bool
    """Whether there was a number at all: without one the value is 0."""
    octal: bool = False
    """A leading zero made it a number of base 8."""


def since(release: Version, version: Version | None) -> bool:
    """Whether a version reads as this release; one that is not known reads as the newest."""
    return version is None or version >= release


def integer(text: str) -> Integer | None:
    """The number in `text`; None for an empty text, which NCCL takes for an unset variable."""
    if not text:
        return None
    match = _NUMBER.match(text.lstrip(_SPACE))
    if match is None:
        return Integer(value=0, rest=text, digits=False)
    rest = text.lstrip(_SPACE)[match.end() :]
    base = 16 if match[2][:2] in ("0x", "0X") else 8 if match[2][0] == "0" else 10
    octal = base == 8 and (len(match[2]) > 1 or rest[:1] in ("8", "9"))
    if len(match[2]) > 30:  # far beyond 64 bits; Python refuses to convert thousands of digits
        return Integer(value=None, rest=rest, digits=True, octal=octal)
    value = int(match[2], base) * (-1 if match[1] == "-" else 1)
    return Integer(value=value if -_INT64 <= value < _INT64 else None, rest=rest, digits=True, octal=octal)


def atoi(text: str) -> int:
    """A number as atoi reads it: decimal, 0 where there is none; more than 32 bits wrap."""
    match = re.match(r"[+-]?[0-9]{1,18}", text.lstrip(_SPACE), re.ASCII)
    return ((int(match[0]) + 2**31) % 2**32) - 2**31 if match else 0


_TRUE, _FALSE = ("1", "t", "true"), ("0", "f", "false")


def strict_bool(text: str) -> bool | None:
    """A boolean of NCCL's parameters since 2.30 (1, t, true); None: not understood, so the default holds."""
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def torch_bool(text: str) -> bool | None:
    """A boolean of torch's TORCH_NCCL_ variables; None: torch throws."""
    word = text.lower()
    return True if word in (*_TRUE, "y", "yes") else False if word in (*_FALSE, "n", "no") else None


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedName:
    """One entry of a list of interfaces or adapters."""

    name: str
    port: int = -1
    """-1: any."""
    rail: int = -1
    plane: int = -1


@dataclass(frozen=True, kw_only=True, slots=True)
class NameList:
    """A list of interfaces or adapters, as NCCL_SOCKET_IFNAME and NCCL_IB_HCA have it."""

    exclude: bool
    exact: bool
    entries: tuple[ListedName, ...]

    def chooses(self, name: str, port: int = -1) -> bool:
        """Whether the list chooses an interface, or a port of an adapter."""
        return self.matches(name, port) != self.exclude

    def matches(self, name: str, port: int = -1) -> bool:
        """Whether an entry fits; an empty list fits everything."""
        return not self.entries or any(self._fits(entry, name, port) for entry in self.entries)

    def _fits(self, entry: ListedName, name: str, port: int) -> bool:
        named = name == entry.name if self.exact else name.startswith(entry.name)
        return named and (port == -1 or entry.port in (-1, port))


def names(text: str, longest: int, version: Version | None = None) -> NameList:
    """Read `[^][=]name[:port[:rail[:plane]]],...`; NCCL keeps the `longest` first (16 interfaces, 32 adapters).

    Without a version, as the newest NCCL reads it.
    """
    exclude, text = text.startswith("^"), text.removeprefix("^")
    exact, text = text.startswith("="), text.removeprefix("=")
    with_rails = since(_RAILS, version)
    entries = (_name(word, with_rails) for word in text.split(",") if word.partition(":")[0])
    return NameList(exclude=exclude, exact=exact, entries=tuple(islice(entries, longest)))


def _name(word: str, with_rails: bool) -> ListedName:
    name, *numbers = word.split(":")
    if not with_rails:
        return ListedName(name=name, port=atoi(numbers[0]) if numbers else -1)
    port, rail, plane = [atoi(number) if number else -1 for number in [*numbers, "", "", ""][:3]]
    # cut as the C string of 64 bytes is
    cut = name.encode(errors="surrogateescape")[:_LONGEST_NAME].decode(errors="surrogateescape")
    return ListedName(name=cut, port=port, rail=rail, plane=plane)


WordProblem = Literal["word", "function", "no function", "nothing"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What NCCL_ALGO or NCCL_PROTO leaves of the algorithms or protocols, for each function."""

    left: dict[str, tuple[str, ...]] = field(hash=False)
    """Function -> what it may use; a function that is missing is not restricted."""
    named: tuple[str, ...]
    """Words that were given to choose something, in the spelling of NCCL."""
    unknown: tuple[tuple[WordProblem, str], ...]
    """Words that NCCL does not know; from 2.24 on initialization fails at the first one."""


def selection(text: str, words: tuple[str, ...], version: Version | None = None) -> Selection:
    """Read NCCL_ALGO (with ALGORITHMS) or NCCL_PROTO (with PROTOCOLS); without a version, as the newest NCCL.

    Before 2.24 there is one list for all functions, and words that are not known are dropped without a message.
    """
    by_function = since(FUNCTION_LISTS, version)
    left: dict[str, tuple[str, ...]] = {}
    named: list[str] = []
    unknown: list[tuple[WordProblem, str]] = []
    for number, part in enumerate(split(text, ";") if by_function else [text]):
        pieces = list(split(part, ":")) if by_function else [part]
        if not pieces:
            unknown.append(("nothing", part))
            continue
        prefix, words_of = (None, pieces[0]) if len(pieces) == 1 else (pieces[0], pieces[1])
        if prefix is None and number:
            unknown.append(("no function", part))
            continue
        functions = [name for name in FUNCTIONS if prefix is None or name.lower() == prefix.lower()]
        if not functions:
            unknown.append(("function", str(prefix)))
        chosen, wrong = _chosen(words_of, words)
        named += () if words_of.startswith("^") else chosen
        unknown += [("word", word) for word in wrong]
        left |= dict.fromkeys(functions, chosen)
    return Selection(left=left, named=tuple(dict.fromkeys(named)), unknown=tuple(unknown))


def _chosen(text: str, words: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """(what `[^]word,word` leaves of `words`, words that are not among them)."""
    invert = text.startswith("^")
    given = list(split(text.removeprefix("^")))
    lower, known = {word.lower() for word in given}, {word.lower() for word in words}
    chosen = tuple(word for word in words if (word.lower() in lower) != invert)
    return chosen, [word for word in given if word.lower() not in known]


def split(text: str, separator: str = ",") -> Iterator[str]:
    """The words of a list that strtok splits: empty ones are not there."""
    return (word for word in text.split(separator) if word)


def path_level(text: str) -> str | None:
    """NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL: LOC to SYS, or an old number; None = ignored.

    Names are compared exactly; a text that begins with a digit is an old number (0 LOC, 1 PIX, 2 PXB, 3 PHB,
    4 and more SYS).
    """
    if text in PATHS:
        return text
    if text[:1] in tuple("0123456789"):
        number = integer(text)
        old = ("LOC", "PIX", "PXB", "PHB", "SYS")
        return old[min(number.value or 0, 4)] if number and number.value is not None else "SYS"
    return None
