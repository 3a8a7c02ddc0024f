"""What a file of nccl-tests says, before it is judged: tests, rows, halves, numbers as they are printed."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn, Protocol, TypeVar

import msgspec

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding
from nccltool.core.text import counted
from nccltool.probe import nccl_tests
from nccltool.probe.result import Cadence, Placement

_NUMBER = re.compile(r"([+-]?)(\d{1,30})(?:\.(\d{0,30}))?(?:[eE]([+-]?\d{1,3}))?", re.ASCII)
_REDUCTIONS = ("sum", "prod", "max", "min", "avg", "mulsum", "none")
_MOST_RANKS = 10**6
MOST = 1e30
"""The largest number of a file. Sums and products of such numbers are finite."""
SIX_DECIMALS = 0.5e-6
"""How far a number of a JSON file can be from the true one."""
_ARITHMETIC = 1e-9
"""Relative error of the arithmetic here and there."""
Count = Annotated[int, msgspec.Meta(ge=0)]
NCCL_TESTS_TIMES = "times are means over iterations and over ranks unless the test was run with -a"
T = TypeVar("T")
_NOT_A_NUMBER = re.compile(r"[+-]?(nan|inf)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Printed:
    """A number and how far the true one can be from it: half a unit of its last digit."""

    value: float
    half: float

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most that it can stand for."""
        return self.value - self.half, self.value + self.half


UNMEASURED = Printed(math.nan, 0.0)
"""nan or inf: nccl-tests divides by a count or a time of zero."""


def printed(text: str) -> Printed | None:
    """The number in a text; None when it is not one."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return UNMEASURED if _NOT_A_NUMBER.fullmatch(text) else None
    exponent = int(match[4] or 0)
    if abs(exponent) > 200:
        return None
    return Printed(float(text), 0.5 * 10.0 ** (exponent - len(match[3] or "")))


@dataclass(frozen=True, kw_only=True, slots=True)
class Half:
    """One placement of a row; times in microseconds, bandwidths in GB/s."""

    placement: Placement
    time: Printed
    algbw: Printed
    busbw: Printed
    wrong: int | None
    """None = not checked, or not counted: nccl-tests before 2.12 prints the largest error instead."""
    min_us: float | None = None
    max_us: float | None = None
    p99_us: float | None = None
    samples_us: tuple[float, ...] = ()
    repeats: bool = False
    """It was not measured and repeats the other half (nccltool's own output)."""
    iterations: int | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it holds numbers of its own."""
        numbers = (self.time.value, self.algbw.value, self.busbw.value)
        return not self.repeats and all(math.isfinite(value) for value in numbers)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One size."""

    where: str
    """Its place in the file."""
    bytes: int
    count: int | None
    dtype: str
    element_size: int
    reduce_op: str | None
    root: int | None
    halves: tuple[Half, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """One program's output."""

    where: str
    """The file, and the line when there are several in it."""
    tool: str
    """nccl-tests 2.19.6."""
    op: str
    world_size: int
    hosts: tuple[str, ...] | None = None
    backend: str = "nccl"
    backend_version: str | None = None
    emulated: bool = False
    cadence: Cadence = "stream"
    cpu_time: bool = False
    """The times are those of the CPU (-C 1), and the bandwidths are not made of them."""
    rows: tuple[Row, ...]
    out_of_bounds: int | None = None
    """Checks that failed; None = the source has no such count."""
    average: Printed | None = None
    """Mean bus bandwidth over all halves, GB/s."""
    under_minimum: bool = False
    """nccl-tests itself judged the mean as too low (NCCL_TESTS_MIN_BW)."""
    errors: tuple[str, ...] = ()
    """What NCCL said last."""
    stopped: tuple[str, ...] = ()
    """Tests of the same output that came to no end, each with its place and the failure that it printed."""
    failures: tuple[str, ...] = ()
    """What the program printed where its test failed."""
    missing: tuple[str, ...] = ()
    """Rows and lines that the program must have printed and that are not there."""
    said: tuple[str, ...]
    """What else is worth keeping, as text."""
    times: str = NCCL_TESTS_TIMES
    """What the times are."""
    series: str = ""
    """Tests of one file that differ in this are different runs."""
    found: tuple[Finding, ...] = ()
    """What the importer itself found: rows that are missing, data that failed, what cannot be compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What the user says of files that do not say it."""

    op: str | None = None
    ranks: int | None = None


class Unrecognised(BadInput):
    """Nothing in a file says that it is a result; in an archive it is passed over."""


def refuse(where: str, problem: str, remedy: str = "") -> NoReturn:
    raise BadInput(f"{where}: {problem}", remedy or "nothing was imported; pass the complete, unchanged output")


def converted(value: Any, kind: type[T], where: str, tool: str) -> T:
    """What a decoded JSON file of a tool has there."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # JSON can escape half a character
        refuse(where, f"not in the format that {tool} writes: {error}")


def element_type(word: str, where: str) -> tuple[str, int]:
    """(our name, bytes) of a type."""
    if word not in nccl_tests.TYPES:
        refuse(where, f"{word!r} is not an element type; expected one of {', '.join(nccl_tests.TYPES)}")
    return nccl_tests.TYPES[word]


def is_reduction(word: str) -> bool:
    return word in _REDUCTIONS


def bandwidth_fits(size: int, half: Half) -> bool:
    """Whether algbw can be size / time, with what rounding leaves open."""
    least_us, most_us = half.time.range
    if not half.is_measured or least_us <= 0:
        return not size or half.time.value == 0 or not half.is_measured
    low, high = half.algbw.range
    return low <= size / least_us / 1e3 * (1 + _ARITHMETIC) and size / most_us / 1e3 * (1 - _ARITHMETIC) <= high


def reduction(word: str, where: str) -> str | None:
    """The name of a reduction; None = of an operation that does not reduce."""
    if word not in _REDUCTIONS:
        refuse(where, f"expected a reduction ({' '.join(_REDUCTIONS)}), found {word}")
    return None if word == "none" else word


def operation(program: str | None, told: Told, where: str) -> str:
    """The operation that a file names, or the user."""
    found = nccl_tests.operation(program) if program else None
    if program and found is None:
        refuse(where, f"{program} tests an operation that nccltool does not know", "omit this file")
    if found and told.op and found != told.op:
        refuse(where, f"it is a test of {found}, but --op says {told.op}", "omit --op")
    op = found or told.op
    if op is None:
        problem = "it does not name its operation (nccl-tests before 2.17)"
        raise OperationNotTold(f"{where}: {problem}", "pass the operation, for example --op all_reduce")
    return op


class OperationNotTold(BadInput):
    """A file does not name its operation."""


class NotTold(BadInput):
    """A file does not name what an option of import can."""


def world_size(found: int | None, told: Told, where: str) -> int:
    """The ranks that a file lists, or the user."""
    if found is not None and told.ranks is not None and found != told.ranks:
        refuse(where, f"it lists {counted(found, 'rank')}, but --ranks says {told.ranks}", "omit --ranks")
    size = found if found is not None else told.ranks
    if size is None:
        raise NotTold(f"{where}: it does not list its ranks", "pass the number of ranks, for example --ranks 8")
    if not 1 <= size <= _MOST_RANKS:
        refuse(where, f"it lists {counted(size, 'rank')}; expected 1 to {_MOST_RANKS}")
    return size


class Importer(Protocol):
    """One that tells by a mark of its own whether a text is its own."""

    @property
    def recognises(self) -> Callable[[str], bool]: ...

    @property
    def read(self) -> Callable[[str, str, Told], tuple[Report, ...]]:
        """The tests in a text, of a file called so. Raises BadInput."""
        ...


@dataclass(frozen=True, slots=True)
class GuardedImporter:
    """An importer whose functions are others than those of its module."""

    recognises: Callable[[str], bool]
    read: Callable[[str, str, Told], tuple[Report, ...]]
