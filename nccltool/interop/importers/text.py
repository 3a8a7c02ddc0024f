"""What nccl-tests and rccl-tests print on the screen: preamble, table, footer.

Lines of several processes that a launcher has labelled (srun -l, mpirun --tag-output) are read process by
process. Lines of others in between (NCCL INFO, mpirun) are passed over where they cannot be a row; a row that
is missing shows in the mean of the footer.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NoReturn

from nccltool.interop.importers import columns as layout
from nccltool.interop.importers.base import Printed, Report, Row, Told, operation, printed, refuse, world_size
from nccltool.probe import nccl_tests
from nccltool.probe.result import Placement

_LABEL = re.compile(r"\s*(?:(\[[^\]\s]*\d+,\s*\d+\]<std(?:out|err)>):\s?|(\d+):(?:\s|$))")
"""mpirun --tag-output: [1,0]<stdout>: or [prterun-host-17@1,0]<stdout>: and srun -l: 0:"""
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
_FIELDS = 9
"""Of the narrowest row that a current nccl-tests or rccl-tests prints."""
_MIXED = "label the lines of each process (srun -l, mpirun --tag-output), or write one file per process"

Lines = list[tuple[int, str]]


def read(text: str, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a text. Raises BadInput."""
    sections = [section for lines in _processes(text) for section in _sections(lines, where)]
    if not sections:
        refuse(where, "no table of nccl-tests found; expected '# size count type ...' and rows under it")
    return tuple(section.test(told, len(sections) > 1) for section in sections)


def _processes(text: str) -> Iterable[Lines]:
    """The lines of each process, with their numbers. Without labels they are those of one."""
    by_label: dict[str, Lines] = {}
    *lines, cut = text.split("\n")
    lines += [""] if cut else []  # a line without an end was cut, and says nothing
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r")
        label = _LABEL.match(line)
        rest = line[label.end() :] if label else line
        by_label.setdefault(label[1] or label[2] if label else "", []).append((number, rest))
    return by_label.values()


@dataclass(slots=True)
class _Section:
    """One test as far as it has been read."""

    file: str
    line: int
    tool: str | None = None
    library: str | None = None
    """The version of NCCL or RCCL."""
    program: str | None = None
    parameters: re.Match[str] | None = None
    blocking: str | None = None
    ranks: list[tuple[int, str, str]] = field(default_factory=list)
    """(rank, group, host)"""
    ranks_are_cut: bool = False
    notes: dict[str, str] = field(default_factory=dict)
    placements: tuple[Placement, ...] = ()
    columns: layout.Columns | None = None
    has_units: bool = False
    rows: list[Row] = field(default_factory=list)
    out_of_bounds: int | None = None
    average: Printed | None = None
    under_minimum: bool = False
    errors: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.average is not None

    def at(self, line: int) -> str:
        return f"{self.file}, line {line}"

    def refuse(self, line: int, problem: str, remedy: str = "") -> NoReturn:
        refuse(self.at(line), problem, remedy)

    def test(self, told: Told, one_of_several: bool) -> Report:
        where = self.at(self.line) if one_of_several else self.file
        listed = {rank for rank, _, _ in self.ranks}
        missing = set(range(max(listed, default=-1) + 1)) - listed
        if missing and not self.ranks_are_cut:
            self.refuse(self.line, f"the line of rank {min(missing)} is missing in its list of devices")
        group = self.ranks[0][1] if self.ranks else "0"
        together = [host for _, of_group, host in self.ranks if of_group == group]
        found = len(together) if together and not self.ranks_are_cut else None
        note = _BACKEND.match(self.notes.get("backend", ""))
        backend, version = note.groups() if note else ("nccl", self.library)
        return Report(
            where=where,
            tool=self.tool or "nccl-tests",
            op=operation(self.program, told, where),
            world_size=world_size(found, told, where),
            hosts=tuple(dict.fromkeys(together)) if found else None,
            backend=backend,
            backend_version=version,
            emulated="emulated" in self.notes,
            cadence="isolated" if self.blocking else "stream",
            cpu_time=bool(self.columns and "cputime" in self.columns.half),
            rows=tuple(self._rows()),
            out_of_bounds=self.out_of_bounds,
            average=self.average,
            under_minimum=self.under_minimum,
            errors=tuple(self.errors),
            said=tuple(self._said(len(together))),
        )

    def _rows(self) -> Iterator[Row]:
        """The rows with what is said about them elsewhere."""
        only = self.notes.get("measured", "").partition(" only")[0].replace(" ", "-")
        given = self.notes.get("iterations", "").split()
        each = iter(int(count) for count in given if count.isdecimal())
        common = int(self.parameters[1]) or None if self.parameters else None
        for row in self.rows:
            halves = []
            for half in row.halves:
                repeats = bool(only) and half.placement != only
                count = common if repeats else next(each, common)
                halves.append(replace(half, repeats=repeats, iterations=count))
            yield replace(row, halves=tuple(halves))

    def _said(self, together: int) -> Iterator[str]:
        if self.parameters:
            yield self.parameters.string[2:]
        if self.blocking:
            yield f"blocking: {self.blocking.strip()}"
        if len(self.ranks) > together:
            yield (
                f"{len(self.ranks)} ranks ran in groups; the numbers are from the {together} in the first group"
            )


def _sections(lines: Lines, file: str) -> Iterator[_Section]:
    """The tests in the lines of one process. Raises BadInput where one is not complete."""
    section = _Section(file, lines[0][0])
    for number, line in lines:
        if section.is_over and _begins(line):
            yield section
            section = _Section(file, number)
        _take(section, number, line)
    if section.is_over:
        yield section
    elif section.columns:
        section.refuse(
            lines[-1][0],
            f"the file ends inside a table of {len(section.rows)} rows; "
            "expected rows, then '# Out of bounds values : ...' and '# Avg bus bandwidth : ...'",
        )
    elif section.program or section.parameters or section.ranks:  # no other program prints such lines
        section.refuse(lines[-1][0], "the file ends before the table; expected '# size count type ...' and rows")


def _begins(line: str) -> bool:
    """Whether a line belongs to the next test."""
    return bool(
        any(pattern.match(line) for pattern in (_TOOL, _STARTING, _PARAMETERS, _IS_RANK))
        or (line.startswith("#") and (layout.is_heading(line) or layout.placements(line)))
    )


def _take(section: _Section, number: int, line: str) -> None:
    if line.startswith("#"):
        if section.columns is None:
            _take_preamble(section, number, line)
        elif not section.has_units:
            layout.check_units(line, section.columns, section.at(number))
            section.has_units = True
        else:
            _take_footer(section, number, line)
    elif match := _RCCL_TOOL.match(line):
        section.tool = f"rccl-tests {match[1]}"
    elif match := _LIBRARY.match(line):
        section.library = match[1]
    elif section.columns and (words := line.split()) and (words[0] == "-1" or printed(words[0]) is not None):
        if not section.has_units:
            section.refuse(number, "found a row; expected the units of its columns first")
        if section.out_of_bounds is None:
            section.rows.append(layout.row(line, section.columns, section.at(number)))
        elif len(words) >= _FIELDS:
            section.refuse(number, "found a row after the footer; expected the headings of a table first")


def _take_preamble(section: _Section, number: int, line: str) -> None:
    if match := _TOOL.match(line):
        section.tool = f"{match[1]} {match[2]}"
        if match[3] and int(match[3]):
            section.library = nccl_tests.version_text(int(match[3]))
    elif match := _STARTING.match(line):
        _only_once(section, section.program, number)
        section.program = match[1]
    elif match := _PARAMETERS.match(line):
        _only_once(section, section.parameters, number)
        section.parameters = match
    elif match := _BLOCKING.match(line):
        section.blocking = match[1]
    elif match := _NOTE.match(line):
        section.notes[match[1]] = match[2]
    elif section.ranks and _CUT_RANK.match(line):
        section.ranks_are_cut = True
    elif _IS_RANK.match(line):
        _take_rank(section, number, line)
    elif _OLD.match(line):
        section.refuse(number, "the layout of nccl-tests 1; expected that of 2.0 or newer")
    elif layout.is_heading(line):
        section.columns = layout.from_heading(line, section.placements, section.at(number))
    else:
        section.placements = layout.placements(line) or section.placements


def _take_rank(section: _Section, number: int, line: str) -> None:
    match = _RANK.match(line)
    if match is None:
        section.refuse(number, "expected '# Rank R ... on HOST device D [PCI] NAME'")
    rank = int(match[1])
    if any(rank == other for other, _, _ in section.ranks):
        section.refuse(number, f"rank {rank} is listed twice: outputs of several processes are mixed", _MIXED)
    section.ranks.append((rank, match[2] or "0", match[3]))


def _only_once(section: _Section, before: object, number: int) -> None:
    if before is not None:
        problem = (
            "a second test begins before the table of the first one: a test was stopped, or outputs are mixed"
        )
        section.refuse(number, problem, _MIXED)


def _take_footer(section: _Section, number: int, line: str) -> None:
    if match := _OUT_OF_BOUNDS.fullmatch(line):
        section.out_of_bounds = int(match[1])
    elif match := _AVERAGE.fullmatch(line):
        if section.out_of_bounds is None:
            section.refuse(number, "expected '# Out of bounds values : ...' before this line")
        section.average = printed(match[1]) or section.refuse(number, f"{match[1]!r} is not a number")
        section.under_minimum = match[2] == "FAILED"
    elif match := _CONCLUDED.match(line):
        section.program = section.program or match[1]
    elif match := _ERROR.match(line):
        section.errors.append(match[1])
    elif not section.is_over and _begins(line):
        problem = "a test begins before the previous table ends: a test was stopped, or outputs are mixed"
        section.refuse(number, problem, _MIXED)
