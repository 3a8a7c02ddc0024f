"""The first line of a result: what was measured, whether all of it came, who is suspected, the best bandwidth."""

from collections.abc import Iterator, Sequence

from nccltool.core.findings import Finding
from nccltool.core.text import counted, named
from nccltool.core.units import format_bytes, format_gb_per_s
from nccltool.probe import collectives, group_summary
from nccltool.probe.result import LatencyModel, Measurement, RowGroup, Run

_NAMED = 3
INTERRUPTED = 130


def of(run: Run) -> str:
    """What follows the verdict in the first line."""
    best = _groups(run) if run.groups else _peaks(run.measurements)
    parts = [_what(run), *_troubles(run.findings), *_unknown(run), *best]
    source = f"{run.info.source}: " if run.info.source else ""
    end = f" (exit code {run.verdict.exit_code})" if run.verdict.exit_code else ""
    return f"{source}{'; '.join(parts)}{end}"


def _what(run: Run) -> str:
    if not run.measurements:
        return f"{_came(run)}nothing was measured"
    ops = list(dict.fromkeys(row.op for row in run.measurements))
    what = named(ops, _NAMED) if len(ops) <= _NAMED else f"{len(ops)} operations"
    return f"{_came(run)}{what}, {sizes(run.measurements)}"


def _came(run: Run) -> str:
    """How much of it there is, where it is not all."""
    if run.verdict.status != "incomplete":
        return ""
    planned = run.info.rows_planned
    count = (
        counted(len(run.measurements), "row") if planned is None else f"{len(run.measurements)} of {planned} rows"
    )
    return f"interrupted: {count}: " if run.verdict.exit_code == INTERRUPTED else f"{count}: "


def sizes(rows: Sequence[Measurement]) -> str:
    """`1 KiB to 16 MiB`."""
    least, most = (format_bytes(choose(row.bytes for row in rows)) for choose in (min, max))
    return least if least == most else f"{least} to {most}"


def _troubles(findings: Sequence[Finding]) -> Iterator[str]:
    errors = [finding for finding in findings if finding.is_error]
    if errors:
        yield named(dict.fromkeys(finding.code for finding in errors), _NAMED)
    yield from suspects(findings)


def _unknown(run: Run) -> Iterator[str]:
    """Why a run cannot be judged."""
    if run.verdict.status == "unknown":
        reasons = {finding.message: finding for finding in run.findings if finding.effect == "unknown"}
        yield from (f"{finding.code}: {_of(run, message)}" for message, finding in list(reasons.items())[:1])


def _of(run: Run, message: str) -> str:
    """A message without the name of the file, which comes first already."""
    return message.removeprefix(f"{run.info.source}: ") if run.info.source else message


def suspects(findings: Sequence[Finding]) -> Iterator[str]:
    """`suspect: rank 1`, where findings accuse somebody."""
    accused = dict.fromkeys(f"{one.kind} {one.name}" for finding in findings if (one := finding.suspect))
    if accused:
        yield f"suspect{'s' if len(accused) > 1 else ''}: {named(accused, _NAMED)}"


def _groups(run: Run) -> Iterator[str]:
    """How many there are, and which is the slowest where that can be told."""
    yield f"{len(run.groups)} groups"
    found = group_summary.slowest(run.measurements, run.groups)
    named_once = dict.fromkeys(one.group for one in found if one.stands_out)
    if named_once:
        yield f"slowest: {named(named_once, _NAMED)}"


def _peaks(rows: Sequence[Measurement]) -> Iterator[str]:
    peaks = [peak([row for row in rows if row.op == op]) for op in dict.fromkeys(row.op for row in rows)]
    if not peaks:
        return
    if len(peaks) == 1:
        yield f"peak busbw {_rate(peaks[0])} at {format_bytes(peaks[0].bytes)}"
    elif len(peaks) <= _NAMED:
        yield f"peak busbw {', '.join(f'{row.op} {_rate(row)}' for row in peaks)}"
    else:
        best = peak(peaks)
        yield f"peak busbw {_rate(best)} ({best.op})"


def _rate(row: Measurement) -> str:
    return f"{format_gb_per_s(row.busbw_bytes_per_s)} GB/s"


def peak(rows: Sequence[Measurement]) -> Measurement:
    """The row with the highest bus bandwidth."""
    return max(rows, key=lambda row: row.busbw_bytes_per_s)


def of_operations(rows: Sequence[Measurement]) -> list[list[Measurement]]:
    """The rows of each operation in each placement, of each group of ranks, in the order of their sizes."""
    groups: dict[tuple[str, str, RowGroup | None], list[Measurement]] = {}
    for row in rows:
        groups.setdefault((row.op, row.placement, row.group), []).append(row)
    return [sorted(group, key=lambda row: row.bytes) for group in groups.values()]


def name(row: Measurement) -> str:
    """The operation, its placement where that is not the usual one, and its group of ranks where there is one."""
    what = f"{row.op} {row.placement}" if is_rare(row) else row.op
    return f"{what}, {row.group.text}" if row.group else what


def is_rare(row: Measurement | LatencyModel) -> bool:
    """Of operations that torch.distributed does in place, out of place; of the others, in place."""
    return (row.placement == "in-place") != (collectives.get(row.op).placements[0] == "in-place")
