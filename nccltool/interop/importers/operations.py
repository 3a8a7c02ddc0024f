"""Which operation a test measured: by its output, else the user, else its command line or the name of its file."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from nccltool.interop.importers.base import Told, operation
from nccltool.probe import nccl_tests

_COMMAND = re.compile(r"(?<![\w-])(\w+)_perf(?:_mpi)?(?![\w.])")
_IN_NAME = re.compile(
    r"(?<![a-z])(reduce[_-]?scatter|all[_-]?reduce|all[_-]?gather|all[_-]?to[_-]?all|send[_-]?recv"
    r"|broadcast|bcast|gather|scatter|reduce)(?![a-z])"
)
_UNDIVIDED = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "bcast": "broadcast",
}
"""Names of files leave out what stands between the words, or use the word of MPI."""

Mentions = Sequence[tuple[int, str]]
"""(line, operation) of the programs that a text names."""


def mentions(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The operations of nccl-tests' programs that lines name: command lines, mpirun's words about them."""
    found = []
    for number, line in lines:
        if "_perf" in line:
            ops = {nccl_tests.operation(match[1]) for match in _COMMAND.finditer(line)} - {None}
            if len(ops) == 1:
                found.append((number, str(ops.pop())))
    return found


def of_test(program: str | None, table: int, named: Mentions, told: Told, where: str) -> tuple[str, str]:
    """(operation, where it was taken from) of the test whose table begins in a line. Raises BadInput."""
    if program or told.op:
        return operation(program, told, where), "the program's output" if program else "--op"
    before = [found for found in named if found[0] <= table]
    if before:
        return before[-1][1], f"the command in line {before[-1][0]}"
    if len({op for _, op in named}) == 1:
        return named[0][1], f"the command in line {named[0][0]}"
    file, *folders = reversed(PurePath(where.rpartition(", line ")[0] or where).parts)
    if by_name := _of_name(file):
        return by_name, "the file name"
    if by_folder := next(filter(None, map(_of_name, folders)), None):
        return by_folder, "the name of its folder"
    return operation(None, told, where), ""


def _of_name(name: str) -> str | None:
    """The one operation that the name of a file or of a folder contains."""
    words = {match[1].replace("_", "").replace("-", "") for match in _IN_NAME.finditer(name.lower())}
    ops = {nccl_tests.operation(_UNDIVIDED.get(word, word)) for word in words}
    return ops.pop() if len(ops) == 1 else None
