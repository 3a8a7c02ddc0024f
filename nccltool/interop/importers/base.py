"""What a file of nccl-tests says, before it is judged: tests, rows, halves, numbers as they are printed."""

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec

from nccltool.core.errors import BadInput
from nccltool.probe import nccl_tests
from nccltool.probe.result import Cadence, Placement

_NUMBER = re.compile(r"([+-]?)(\d{1,30})(?:\.(\d{0,30}))?(?:[eE]([+-]?\d{1,3}))?", re.ASCII)
_REDUCTIONS = ("sum", "prod", "max", "min", "avg", "mulsum", "none")
_MOST_RANKS = 10**6
MOST = 1e30
"""The largest number of a file. Sums and products of such numbers are finite."""
SIX_DECIMALS = 0.5e-6
"""How far a number of a JSON file can be from the true one."""
Count = Annotated[int, msgspec.Meta(ge=0)]
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
    said: tuple[str, ...]
    """What else is worth keeping, as text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What the user says of files that do not say it."""

    op: str | None = None
    ranks: int | None = None


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
        refuse(
            where,
            "it does not name its operation (nccl-tests before 2.17)",
            "pass the operation, for example --op all_reduce",
        )
    return op


def world_size(found: int | None, told: Told, where: str) -> int:
    """The ranks that a file lists, or the user."""
    if found is not None and told.ranks is not None and found != told.ranks:
        refuse(where, f"it lists {found} ranks, but --ranks says {told.ranks}", "omit --ranks")
    size = found if found is not None else told.ranks
    if size is None:
        refuse(where, "it does not list its ranks", "pass the number of ranks, for example --ranks 8")
    if not 1 <= size <= _MOST_RANKS:
        refuse(where, f"it lists {size} ranks; expected 1 to {_MOST_RANKS}")
    return size
