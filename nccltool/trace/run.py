"""Read the traces, and report on them."""

from collections.abc import Sequence
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.trace import files, reader
from nccltool.trace.communicators import communicators
from nccltool.trace.inspector_calls import InspectorCalls
from nccltool.trace.report import TraceReport, report
from nccltool.trace.result import RankTrace


def trace(paths: Sequence[str], command: tuple[str, ...]) -> TraceReport:
    """A file of a folder is left out if it is no trace. Raises BadInput if it is named, or the only one."""
    named = set(map(Path, paths))
    traces, damage, refused, calls = [], {}, [], InspectorCalls()
    for file in files.found(paths):
        try:
            one, wrong = reader.read(file, calls)
        except BadInput as error:
            if file in named:
                raise
            damage[escaped(str(file))] = f"{escaped(error.message)}; it was left out"
            refused.append(error)
            continue
        if one is not None:
            traces.append(one)
        if wrong:
            damage[escaped(str(file))] = f"{escaped(str(file))} was read in part: {wrong}"
    if refused and not traces and not calls.found:
        raise refused[0]
    _check_ranks(traces)
    order = sorted(traces, key=lambda one: (one.rank is None, one.rank, one.file))
    return report(order, damage, command, communicators(calls))


def _check_ranks(traces: Sequence[RankTrace]) -> None:
    """A later run with fewer ranks leaves the traces of an earlier one in the folder."""
    seen: dict[int, str] = {}
    sized = [(one.file, one.world_size) for one in traces if one.world_size is not None]
    for file, size in sized:
        if size != sized[0][1]:
            raise BadInput(
                f"{escaped(sized[0][0])} is of a run with {sized[0][1]} ranks, {escaped(file)} of one with {size}",
                "name the traces of one run",
            )
    for one in traces:
        if one.rank is not None and (other := seen.setdefault(one.rank, one.file)) != one.file:
            raise BadInput(
                f"{escaped(other)} and {escaped(one.file)} are both traces of rank {one.rank}",
                "name the traces of one run: one file per rank",
            )
