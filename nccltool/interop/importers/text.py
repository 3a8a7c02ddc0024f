"""What nccl-tests and rccl-tests print on the screen: preamble, table, footer.

Lines of several processes that a launcher or a collector has labelled are read writer by writer. Lines of others
in between (NCCL INFO, mpirun) are passed over where they cannot be a row; a row that is missing is found by the
head of its test and by the mean of its footer. A test that stopped does not take the complete ones along.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from nccltool.core.errors import BadInput
from nccltool.interop.importers import lines as layers
from nccltool.interop.importers import nearest, operations
from nccltool.interop.importers.base import Report, Told, Unrecognised, refuse
from nccltool.interop.importers.lines import Lines
from nccltool.interop.importers.section import MIXED, OneTest, begins, failure_in


def read(text: str, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a text. Raises BadInput; Unrecognised where nothing in it is of nccl-tests."""
    writers = layers.of_writers(text)
    sections = [section for lines in writers.values() for section in _sections(lines, where)]
    if not sections:
        problem, remedy = nearest.of(_without_labels(writers))
        raise Unrecognised(f"{where}: {problem}", remedy)
    _add_failures(sections, writers)
    named = operations.mentions([line for lines in writers.values() for line in lines])
    if not any(section.is_over or section.lines or section.failures for section in sections):
        _refuse_cut(sections[-1], max(lines[-1][0] for lines in writers.values()))
    return tuple(_reports(sections, told, named))


def _without_labels(writers: Mapping[str, Lines]) -> str:
    """The text that all wrote, each line where it was."""
    own = {number: line for lines in writers.values() for number, line in lines}
    return "\n".join(own.get(number, "") for number in range(1, max(own, default=0) + 1))


def _reports(sections: list[OneTest], told: Told, named: operations.Mentions) -> Iterator[Report]:
    """One report of each test; what stopped too early for one of its own goes to a neighbour."""
    found: list[Report] = []
    stopped: list[str] = []
    for section in sections:
        if section.is_over or (section.lines and not section.is_stopped):
            found.append(section.test(told, named, len(sections) > 1))
            continue
        report = _of_stopped(section, told, named, len(sections) > 1)
        found += [report] if report else []
        stopped += [] if report else [section.stop()]
    if not found:
        refuse(sections[0].file, f"no test came to a result; {stopped[0]}", "see what the test printed before it")
    yield replace(found[0], stopped=(*found[0].stopped, *stopped))
    yield from found[1:]


def _of_stopped(section: OneTest, told: Told, named: operations.Mentions, one_of_several: bool) -> Report | None:
    """What a stopped test measured; None where it printed no row, or too little to say of what."""
    if section.columns is None or not section.lines:
        return None
    try:
        return section.test(told, named, one_of_several)
    except BadInput:
        return None


def _sections(lines: Lines, file: str) -> list[OneTest]:
    """The tests in the lines of one writer, complete or not."""
    section = OneTest(file, lines[0][0])
    found: list[OneTest] = []
    for number, line in lines:
        if section.begins_anew(line):
            if section.is_begun:
                found.append(section)
                section.is_followed = True
            section = OneTest(file, number)
        section.take(number, line)
    if section.is_begun:
        found.append(section)
    _refuse_mixed(found)
    return found


def _refuse_mixed(sections: list[OneTest]) -> None:
    """Stopped before their tables, one behind the other, and then a table: it can be that of any of them."""
    for before, after in pairwise(sections):
        if before.columns is None and before.ranks and after.columns is not None and not after.ranks:
            problem = "a second test begins before the table of the first one: outputs are mixed"
            refuse(after.at(after.line), problem, MIXED)


def _add_failures(sections: list[OneTest], writers: dict[str, Lines]) -> None:
    """What other ranks say of a failure belongs to the test that runs at their line."""
    whose = {section.line for section in sections}
    for lines in writers.values():
        if any(number in whose or begins(line) for number, line in lines):
            continue
        for number, line in lines:
            if failure := failure_in(line):
                before = [one for one in sections if one.line <= number]
                max(before or sections[:1], key=lambda one: one.line).fail(failure)


def _refuse_cut(section: OneTest, last: int) -> None:
    where = "before its first row" if section.columns else "before the table"
    section.refuse(last, f"the file ends {where}; expected '# size count type ...' and rows")
