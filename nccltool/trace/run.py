"""Read the traces, and report on them."""

from collections.abc import Sequence

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.trace import files, reader
from nccltool.trace.report import TraceReport, report
from nccltool.trace.result import RankTrace


def trace(paths: Sequence[str], command: tuple[str, ...]) -> TraceReport:
    """Raises BadInput for files that are no traces, and for two traces of a rank."""
    traces, damage = [], {}
    for file in files.found(paths):
        one, wrong = reader.read(file)
        traces.append(one)
        if wrong:
            damage[one.file] = wrong
    _check_ranks(traces)
    order = sorted(traces, key=lambda one: (one.rank is None, one.rank, one.file))
    return report(order, damage, command)


def _check_ranks(traces: Sequence[RankTrace]) -> None:
    seen: dict[int, str] = {}
    for one in traces:
        if one.rank is not None and (other := seen.setdefault(one.rank, one.file)) != one.file:
            raise BadInput(
                f"{escaped(other)} and {escaped(one.file)} are both traces of rank {one.rank}",
                "name the traces of one run: one file per rank",
            )
