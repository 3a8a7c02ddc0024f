"""One test in the output of nccl-tests: its lines are taken one by one, and become a report."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import NoReturn

from nccltool.core.errors import BadInput
from nccltool.core.text import counted, whole
from nccltool.core.units import format_bytes
from nccltool.interop.importers import columns as layout
from nccltool.interop.importers import operations, sweep, torn
from nccltool.interop.importers.base import Printed, Report, Row, Told, printed, refuse, world_size
from nccltool.interop.importers.lines import Lines
from nccltool.probe import nccl_tests
from nccltool.probe.result import Placement

_TOOL = re.compile(r"# ((?:nccl|rccl)-tests) version (\S+)(?:.*-library=(\d+))?")
_RCCL_TOOL = re.compile(r"rccl-tests: Version (\S+)")
_STARTING = re.compile(r"# Collective test starting: (\S+)")
_CONCLUDED = re.compile(r"# Collective test concluded: (\S+)")
_PARAMETERS = re.compile(r"# nThread \d+ nGpus \d+ minBytes .* warmup iters: \d+ iters: (\d+) .*validation: \d+")
_BLOCKING = re.compile(r"# Blocking Enabled: (.*)")
_RANK = re.compile(r"#\s+Rank\s+(\d+)(?:\s+Group\s+(\d+))?(?:\s+Pid\s+-?\d+)?\s+on\s+(\S+)\s+device\s+\d+\s+\[")
_IS_RANK = re.compile(r"#\s+Rank\s+\d")
_CUT_RANK = re.compile(r"#\s.*\.\.\.$")
"""nccl-tests keeps 2 KiB of these lines for a process, and ends them with three dots."""
_LIBRARY = re.compile(r"(?:NCCL|RCCL) version\s*:?\s*(\d+(?:\.\d+)+)")
_OUT_OF_BOUNDS = re.compile(r"# Out of bounds values\s*: (\d+) (OK|FAILED)\s*")
_AVERAGE = re.compile(r"# Avg bus bandwidth\s*: (\S+)(?: (OK|FAILED))?\s*")
_ERROR = re.compile(r"# error: (.*)")
_NOTE = re.compile(r"# nccltool (\w+): (.*)")
_BACKEND = re.compile(r"(\w+)(?: (\d\S*),)? ")
_OLD = re.compile(r"#\s+bytes\s+N\s+type")
_FAILURE = re.compile(
    r"[A-Za-z][\w.-]*: Test (?:NCCL failure|CUDA failure|timeout) .+|\.\. \S+ pid \d+: Test failure .+"
)
"""Of CHECK macros and of their callers; it can follow a row without an end of line."""
_FIELDS = 9
"""Of the narrowest row that a current nccl-tests or rccl-tests prints."""
_MOST_FAILURES = 20
MIXED = "label the lines of each process (srun -l, mpirun --tag-output), or write one file per process"


@dataclass(slots=True)
class OneTest:
    """One test as far as it has been read."""

    file: str
    line: int
    tool: str | None = None
    library: str | None = None
    """The version of NCCL or RCCL."""
    program: str | None = None
    parameters: re.Match[str] | None = None
    sizes: sweep.Sweep | None = None
    blocking: str | None = None
    ranks: list[tuple[int, str, str]] = field(default_factory=list)
    """(rank, group, host)"""
    ranks_are_cut: bool = False
    notes: dict[str, str] = field(default_factory=dict)
    placements: tuple[Placement, ...] = ()
    columns: layout.Columns | None = None
    table_line: int = 0
    wrapped: tuple[str, BadInput] | None = None
    """A heading that is not whole, and what is wrong with it."""
    has_units: bool = False
    lines: Lines = field(default_factory=list)
    """Those under the heading that are no comments."""
    out_of_bounds: int | None = None
    average: Printed | None = None
    concluded: bool = False
    under_minimum: bool = False
    errors: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    is_followed: bool = False
    """Another test of the same writer comes behind it."""

    @property
    def is_over(self) -> bool:
        """Whether the footer of its table has been read."""
        return self.columns is not None and (
            self.average is not None or (self.concluded and self.out_of_bounds is not None)
        )

    @property
    def is_stopped(self) -> bool:
        """Whether it came to no end, rather than that the end of its output is missing."""
        return not self.is_over and bool(self.failures or self.is_followed)

    @property
    def is_begun(self) -> bool:
        """Whether something was read that no other program prints."""
        return bool(self.program or self.sizes or self.ranks or self.columns)

    def at(self, line: int) -> str:
        return f"{self.file}, line {line}"

    def refuse(self, line: int, problem: str, remedy: str = "") -> NoReturn:
        refuse(self.at(line), problem, remedy)

    def begins_anew(self, line: str) -> bool:
        """Whether a line belongs to the next test."""
        if self.is_over:
            return begins(line)
        opened = self.columns is not None
        return bool(
            (_STARTING.match(line) and (opened or self.program))
            or (_PARAMETERS.match(line) and (opened or self.sizes))
            or (_TOOL.match(line) and (opened or self.sizes or self.ranks))
        )

    def take(self, number: int, line: str) -> None:
        """Read one more line. Raises BadInput."""
        if line.startswith("#"):
            self._take_comment(number, line)
        elif match := _RCCL_TOOL.match(line):
            self.tool = f"rccl-tests {match[1]}"
        elif match := _LIBRARY.match(line):
            self.library = match[1]
        elif (failure := failure_in(line)) and self.fail(failure) and line.strip() == failure.strip():
            pass
        elif self.columns is None:
            self._take_wrapped(number, line)
        elif self.out_of_bounds is None and self.average is None:
            self.lines.append((number, line))
        elif len(words := line.split()) >= _FIELDS and printed(words[0]) is not None:
            self.refuse(number, "found a row after the footer; expected the headings of a table first")

    def fail(self, text: str) -> bool:
        """Keep what a process printed where the test failed; the echoes of its callers say only where."""
        is_echo = text.startswith("..")
        if self.failures and self.failures[0].startswith("..") and not is_echo:
            self.failures.clear()
        if len(self.failures) < _MOST_FAILURES and not (self.failures and is_echo):
            self.failures.append(text.strip())
        return True

    def test(self, told: Told, named: operations.Mentions, one_of_several: bool) -> Report:
        """The report of what was read. Raises BadInput."""
        where = self.at(self.line) if one_of_several else self.file
        listed = {rank for rank, _, _ in self.ranks}
        missing = next((rank for rank in range(len(listed)) if rank not in listed), None)  # a number may be huge
        if missing is not None and not self.ranks_are_cut:
            self.refuse(self.line, f"the line of rank {missing} is missing in its list of devices")
        group = self.ranks[0][1] if self.ranks else "0"
        together = [host for _, of_group, host in self.ranks if of_group == group]
        found = len(together) if together and not self.ranks_are_cut else None
        op, source = operations.of_test(self.program, self.table_line or self.line, named, told, where)
        size = world_size(found, told, where)
        note = _BACKEND.match(self.notes.get("backend", ""))
        backend, version = note.groups() if note else ("nccl", self.library)
        table = torn.table(self.lines, self.columns, self.at) if self.columns else torn.TornTable()
        return Report(
            where=where,
            tool=self.tool or "nccl-tests",
            op=op,
            world_size=size,
            hosts=tuple(dict.fromkeys(together)) if found else None,
            backend=backend,
            backend_version=version,
            emulated="emulated" in self.notes,
            cadence="isolated" if self.blocking else "stream",
            cpu_time=bool(self.columns and "cputime" in self.columns.half),
            rows=tuple(self._rows(table.rows)),
            out_of_bounds=self.out_of_bounds,
            average=self.average,
            under_minimum=self.under_minimum,
            errors=tuple(self.errors),
            failures=tuple(self.failures),
            stopped=(self.stop(),) if self.is_stopped else (),
            missing=() if self.is_stopped else tuple(self._missing(table, size)),
            said=tuple(self._said(table, len(together), source)),
        )

    def stop(self) -> str:
        """How a test ended that has no footer."""
        place = f"{self.at(self.line)}: the test stopped "
        place += "inside its table" if self.columns else "before its table"
        return f"{place}: {self.failures[0]}" if self.failures else f"{place} without a word of nccl-tests"

    def _missing(self, table: torn.TornTable, world_size: int) -> Iterator[str]:
        """Rows and lines that must have been printed."""
        gone = sweep.missing(self.sizes, table.rows, world_size) if self.sizes else ()
        torn_sizes = (torn.size_of(text) for _, text in table.lost)
        sizes = list(dict.fromkeys((*gone, *(format_bytes(size) for size in torn_sizes if size is not None))))
        if sizes:
            yield f"the {'row' if len(sizes) == 1 else 'rows'} for {sweep.shown(sizes)}"
        halves = [half.busbw.value for row in table.rows for half in row.halves]
        if table.without_in_place and halves and not self._is_mean(fmean(halves)):
            yield "the in-place half of every row"
        if self.out_of_bounds is None:
            yield "the line '# Out of bounds values'"
        if self.average is None:
            yield "the line '# Avg bus bandwidth'"

    def _is_mean(self, mean: float) -> bool:
        """Whether the footer can mean this, in GB/s, with what two decimals of each row leave open."""
        return self.average is not None and abs(self.average.value - mean) <= self.average.half + 0.01

    def _rows(self, rows: list[Row]) -> Iterator[Row]:
        """The rows with what is said about them elsewhere."""
        only = self.notes.get("measured", "").partition(" only")[0].replace(" ", "-")
        given = self.notes.get("iterations", "").split()
        each = (count for word in given if (count := whole(word)) is not None)
        common = int(self.parameters[1]) or None if self.parameters else None
        for row in rows:
            halves = []
            for half in row.halves:
                repeats = bool(only) and half.placement != only
                count = common if repeats else next(each, common)
                halves.append(replace(half, repeats=repeats, iterations=count))
            yield replace(row, halves=tuple(halves))

    def _said(self, table: torn.TornTable, together: int, source: str) -> Iterator[str]:
        if self.parameters:
            yield self.parameters.string[2:]
        if self.program is None:
            yield f"the operation was taken from {source}"
        if self.blocking:
            yield f"blocking: {self.blocking.strip()}"
        if table.rejoined:
            lines = ", ".join(map(str, table.rejoined[:_FIELDS]))
            place = "line" if len(table.rejoined) == 1 else "lines"
            yield f"{counted(len(table.rejoined), 'torn row')} joined, from {place} {lines}"
        if table.without_in_place:
            yield "the rows hold one placement, though their heading names two"
        if len(self.ranks) > together:
            yield (
                f"{counted(len(self.ranks), 'rank')} ran in groups; "
                f"the numbers are from the {together} in the first group"
            )

    def _take_comment(self, number: int, line: str) -> None:
        if self.wrapped is not None:
            raise self.wrapped[1]
        if self.columns is None:
            self._take_preamble(number, line)
        elif not self.has_units and layout.are_units(line):
            layout.check_units(line, self.columns, self.at(number))
            self.has_units = True
        else:
            self._take_footer(number, line)

    def _take_preamble(self, number: int, line: str) -> None:
        if match := _TOOL.match(line):
            self.tool = f"{match[1]} {match[2]}"
            if match[3] and int(match[3]):
                self.library = nccl_tests.version_text(int(match[3]))
        elif match := _STARTING.match(line):
            self.program = match[1]
        elif sizes := sweep.of_head(line):
            self.parameters, self.sizes = _PARAMETERS.match(line), sizes
        elif match := _BLOCKING.match(line):
            self.blocking = match[1]
        elif match := _NOTE.match(line):
            self.notes[match[1]] = match[2]
        elif self.ranks and _CUT_RANK.match(line):
            self.ranks_are_cut = True
        elif _IS_RANK.match(line):
            self._take_rank(number, line)
        elif _OLD.match(line):
            self.refuse(number, "the layout of nccl-tests 1; expected that of 2.0 or newer")
        elif layout.is_heading(line):
            self._take_heading(number, line)
        elif self.sizes and line.startswith("# Reducing"):
            self.sizes = sweep.reduced(self.sizes, line)
        else:
            self.placements = layout.placements(line) or self.placements

    def _take_heading(self, number: int, line: str) -> None:
        """The heading of the table; one that a terminal wrapped goes on in the next line."""
        try:
            self.columns = layout.from_heading(line, self.placements, self.at(number))
        except BadInput as error:
            if self.wrapped is not None:
                raise self.wrapped[1] from error
            self.wrapped = (line, error)
        else:
            self.table_line, self.wrapped = number, None

    def _take_wrapped(self, number: int, line: str) -> None:
        """A line before the table that is no comment: it can be the end of one."""
        if self.wrapped and line.strip():
            self._take_heading(number, self.wrapped[0] + line)
        elif line.strip():
            self.placements = tuple(dict.fromkeys((*self.placements, *layout.placements(f"#{line}"))))

    def _take_rank(self, number: int, line: str) -> None:
        match = _RANK.match(line)
        if match is None:
            self.refuse(number, "expected '# Rank R ... on HOST device D [PCI] NAME'")
        rank = int(match[1])
        if any(rank == other for other, _, _ in self.ranks):
            self.refuse(number, f"rank {rank} is listed twice: outputs of several processes are mixed", MIXED)
        self.ranks.append((rank, match[2] or "0", match[3]))

    def _take_footer(self, number: int, line: str) -> None:
        if match := _OUT_OF_BOUNDS.fullmatch(line):
            if self.out_of_bounds is not None or self.average is not None:
                self.refuse(
                    number, "a second footer under one table: outputs of several processes are mixed", MIXED
                )
            self.out_of_bounds = int(match[1])
        elif match := _AVERAGE.fullmatch(line):
            self.average = printed(match[1]) or self.refuse(number, f"{match[1]!r} is not a number")
            self.under_minimum = match[2] == "FAILED"
        elif match := _CONCLUDED.match(line):
            self.program, self.concluded = self.program or match[1], True
        elif match := _ERROR.match(line):
            self.errors.append(match[1])
        elif self.sizes and line.startswith("# Reducing"):
            self.sizes = sweep.reduced(self.sizes, line)
        elif not self.is_over and begins(line):
            self.refuse(number, "a table begins inside another one: outputs of several processes are mixed", MIXED)


def begins(line: str) -> bool:
    """Whether a line stands before a table of nccl-tests, or is its heading."""
    return bool(
        any(pattern.match(line) for pattern in (_TOOL, _STARTING, _PARAMETERS, _IS_RANK))
        or (line.startswith("#") and (layout.is_heading(line) or layout.placements(line)))
    )


def failure_in(line: str) -> str:
    """What a process says of its failed test in this line; empty when nothing."""
    match = _FAILURE.search(line) if "Test " in line else None
    return match[0] if match else ""
