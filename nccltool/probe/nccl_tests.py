"""The words of nccl-tests for what is called otherwise here, and runs cut into its tables: pure.

The layout is that of nccl-tests 2.19.6 (src/util.cu, src/common.cu); rccl-tests 2.17.9 prints the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter

from nccltool.core.errors import BadInput
from nccltool.probe import collectives
from nccltool.probe.result import Measurement, Placement, Run

VERSION = "2.19.6"
JSON_VERSION = 3

TYPES = {
    "int8": ("int8", 1),
    "char": ("int8", 1),
    "uint8": ("uint8", 1),
    "int32": ("int32", 4),
    "int": ("int32", 4),
    "uint32": ("uint32", 4),
    "int64": ("int64", 8),
    "uint64": ("uint64", 8),
    "half": ("float16", 2),
    "float": ("float32", 4),
    "double": ("float64", 8),
    "bfloat16": ("bfloat16", 2),
    "f8e4m3": ("float8_e4m3fn", 1),
    "f8e5m2": ("float8_e5m2", 1),
    "fp8_e4m3": ("float8_e4m3fn", 1),
    "fp8_e5m2": ("float8_e5m2", 1),
}
"""Type -> (ours, bytes). char and int are NCCL 1's, fp8_* those of rccl-tests."""

ONLY_OUT_OF_PLACE = ("all_to_all", "all_to_all_v", "send_recv")
"""nccl-tests runs their in-place form without a check, because it is no valid call."""

_SAME = attrgetter("op", "bytes", "count", "dtype", "reduce_op", "cadence")
"""Of both halves of a row."""
_PROGRAM = re.compile(r"(?:.*/)?(\w+?)_perf\w*")


def operation(program: str) -> str | None:
    """The operation of a program: all_reduce of build/all_reduce_perf_mpi; None = not one of ours."""
    match = _PROGRAM.fullmatch(program)
    wanted = match[1] if match else program
    names = ((op, collectives.get(op).nccl_tests) for op in collectives.NAMES)
    return next((op for op, name in names if wanted in (name, op)), None)


def program(op: str) -> str:
    return f"{collectives.get(op).nccl_tests}_perf"


def type_word(dtype: str) -> str:
    words = [word for word, (ours, _) in TYPES.items() if ours == dtype and word not in ("char", "int")]
    return words[0] if words else dtype


def number(value: float, width: int) -> str:
    """A time or a bandwidth as nccl-tests fits it into a column: two decimals, one, none, then an exponent."""
    for decimals in (2, 1, 0):
        text = f"{value:{width}.{decimals}f}"
        if len(text) <= width:
            return text
    return f"{value:{width}.{1 if width >= 7 else 0}e}"[:width]


@dataclass(frozen=True, slots=True)
class PrintedHalf:
    """One placement of a line, as it is printed."""

    row: Measurement
    wrong: int | None
    """None = nccl-tests prints no number there."""
    is_measured: bool
    """False = it repeats the other placement."""


@dataclass(frozen=True, slots=True)
class TableLine:
    """A row of nccl-tests: one size, both placements; None = that one was not measured."""

    out_of_place: Measurement | None
    in_place: Measurement | None

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """What was measured of it, in the order of the columns."""
        return tuple(half for half in (self.out_of_place, self.in_place) if half is not None)

    @property
    def halves(self) -> tuple[PrintedHalf, PrintedHalf]:
        """Both, in the order of the columns; one that was not measured repeats the other."""
        return self._half(self.out_of_place), self._half(self.in_place)

    def _half(self, mine: Measurement | None) -> PrintedHalf:
        row = mine or self.measured[0]
        is_checked = mine is not None or collectives.without_skew(row.op) not in ONLY_OUT_OF_PLACE
        return PrintedHalf(row=row, wrong=row.wrong if is_checked else None, is_measured=mine is not None)

    @property
    def root(self) -> str:
        """As it is printed; -1 where there is none."""
        return f"{0 if collectives.get(self.measured[0].op).is_rooted else -1:6d}"


@dataclass(frozen=True, slots=True)
class Table:
    """Lines of one operation that have the same placements: what one program of nccl-tests prints."""

    op: str
    only: Placement | None
    """The only placement that was measured; None = both were."""
    cadence: str
    lines: tuple[TableLine, ...]

    @property
    def measured(self) -> tuple[Measurement, ...]:
        return tuple(half for line in self.lines for half in line.measured)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Each once, as they came."""
        return tuple(dict.fromkeys(half.bytes for half in self.measured))

    @property
    def validation(self) -> int:
        """Whether any data was checked."""
        return int(any(half.wrong is not None for half in self.measured))

    @property
    def failed_checks(self) -> int:
        """nccl-tests' "out of bounds values": checks that failed, not elements."""
        return sum(1 for half in self.measured if half.wrong)

    @property
    def mean_busbw(self) -> float:
        """nccl-tests' "avg bus bandwidth": the mean over all halves as they are printed, GB/s.

        Where one placement is printed twice, the mean over the measured one is the same.
        """
        return sum(half.busbw_bytes_per_s for half in self.measured) / len(self.measured) / 1e9


def tables(run: Run) -> tuple[Table, ...]:
    """The tables of a run, in the order of its measurements. Raises BadInput where they have no place for its
    rows."""
    if run.groups or any(row.group for row in run.measurements):
        raise BadInput(
            f"the formats of nccl-tests cannot show the groups of run {run.info.id}", "use table, json, or csv"
        )
    return tuple(Table(*kind, tuple(lines)) for kind, lines in groupby(_lines(run), key=_kind))


def _kind(line: TableLine) -> tuple[str, Placement | None, str]:
    half, *more = line.measured
    return half.op, None if more else half.placement, half.cadence


def _lines(run: Run) -> Iterator[TableLine]:
    """Pairs of successive measurements that differ in nothing but the placement, and what is left alone."""
    rows = list(run.measurements)
    while rows:
        row = rows.pop(0)
        halves = {row.placement: row}
        if rows and _SAME(row) == _SAME(rows[0]) and row.placement != rows[0].placement:
            other = rows.pop(0)
            halves[other.placement] = other
        yield TableLine(halves.get("out-of-place"), halves.get("in-place"))


def host_of(run: Run, rank: int) -> str:
    """The host of a rank, as far as a run keeps it: ranks are numbered host by host."""
    hosts = run.info.hosts or ("unknown",)
    world_size = run.info.world_size or 1
    return hosts[min(rank * len(hosts) // world_size, len(hosts) - 1)]


def ranks_per_host(run: Run) -> int:
    """Ranks on a host, rounded up."""
    return -(-(run.info.world_size or 1) // len(run.info.hosts or ("unknown",)))


def step(sizes: tuple[int, ...]) -> tuple[str, int]:
    """How sizes grow: ("factor", 2), ("bytes", 1048576), or ("bytes", 0) for a list without a rule."""
    grown = list(pairwise(sizes))
    ratios = {after / before if before else 0 for before, after in grown}
    steps = {after - before for before, after in grown}
    if len(ratios) == 1 and (ratio := ratios.pop()) > 1 and ratio == int(ratio):
        return "factor", int(ratio)
    return "bytes", max(steps.pop(), 0) if len(steps) == 1 else 0


def version_number(text: str | None) -> int | None:
    """NCCL's number of a version: 22907 of 2.29.7 (nccl.h, NCCL_VERSION_CODE); None when it is not one."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", text or "")
    if match is None:
        return None
    major, minor, patch = (int(part) for part in match.groups())
    return major * 1000 + minor * 100 + patch if (major, minor) <= (2, 8) else major * 10000 + minor * 100 + patch


def version_text(number: int) -> str:
    """2.29.7 of 22907."""
    large = 10000 if number >= 10000 else 1000
    return f"{number // large}.{number % large // 100}.{number % 100}"
