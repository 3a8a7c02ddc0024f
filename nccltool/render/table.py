"""The table for people: where it ran, a row a measurement, then what was found."""

from collections.abc import Iterator

from tabulate import tabulate

from nccltool.model import Finding, Measurement, Run, RunInfo
from nccltool.units import format_bytes, format_gb_per_s, format_seconds

HEADERS = ("op", "size", "time", "algbw", "busbw", "wrong", "iterations", "note")
_HEAVY_TAIL = 1.25
"""A mean this far above the median is that of a few slow iterations, and the row says so."""
_OFTEN_OUT_OF_PLACE = ("all_gather", "reduce_scatter")
"""Operations with two forms, of which the table names the rarer one."""
LEGEND = (
    "size: as in nccl-tests, 1 MiB = 2**20 B   time: mean over iterations of the slowest rank\n"
    "algbw, busbw: GB/s = 10**9 B/s   wrong: elements over all ranks"
)


def render(run: Run) -> str:
    """Plain text, with a newline at its end."""
    blocks = [_circumstances(run.info)]
    if run.measurements:
        blocks += [_rows(run), LEGEND]
    if run.models:
        blocks.append(_models(run))
    blocks += [_finding(finding) for finding in run.findings]
    return "\n".join([*blocks, _last_line(run)]) + "\n"


def _circumstances(info: RunInfo) -> str:
    where = ", ".join(info.hosts) or "no host answered"
    lines = [
        f"nccltool {info.nccltool}, torch {info.torch or 'unknown'}, run {info.id}",
        f"{info.nodes or '?'} nodes, {info.world_size or '?'} ranks on {where}",
    ]
    if info.backend:
        lines.append(f"backend {info.backend}: {info.backend_reason}")
    if info.emulated:
        lines.append("EMULATED: the nodes are processes of one host; no network between nodes was measured")
    return "\n".join(lines)


def _rows(run: Run) -> str:
    rows = [_row(row, run.info) for row in run.measurements]
    align = ("left", "right", "right", "right", "right", "right", "right", "left")
    return str(tabulate(rows, HEADERS, tablefmt="simple", colalign=align, disable_numparse=True))


def _row(row: Measurement, info: RunInfo) -> tuple[str, ...]:
    return (
        row.op,
        format_bytes(row.bytes),
        format_seconds(row.time_s.mean),
        format_gb_per_s(row.algbw_bytes_per_s),
        format_gb_per_s(row.busbw_bytes_per_s),
        "not checked" if row.wrong is None else str(row.wrong),
        str(row.iterations),
        ", ".join(_notes(row, info)),
    )


def _notes(row: Measurement, info: RunInfo) -> Iterator[str]:
    if info.emulated:
        yield "emulated"
    if row.placement == "in-place" and row.op in _OFTEN_OUT_OF_PLACE:
        yield "in place"
    if row.cadence == "isolated":
        yield "isolated"
    if row.time_s.mean > _HEAVY_TAIL * row.time_s.median:
        yield f"tail: median {format_seconds(row.time_s.median)}"
    if row.noisy:
        yield f"noisy: {_spread(row)}"
    if row.late_rank is not None and row.late_s is not None:
        yield f"waited {format_seconds(row.late_s)} for rank {row.late_rank}"


def _spread(row: Measurement) -> str:
    if row.time_s.ci95 is None:
        return "too few iterations"
    low, high = row.time_s.ci95
    return f"+-{(high - low) / 2 / row.time_s.median * 100:.0f} %"


def _models(run: Run) -> str:
    headers = ("model t = alpha + bytes / beta", "alpha", "beta", "n-half", "residual")
    rows = [
        (
            model.op
            if model.placement != "in-place" or model.op not in _OFTEN_OUT_OF_PLACE
            else f"{model.op} in place",
            format_seconds(model.alpha_s),
            f"{format_gb_per_s(model.beta_bytes_per_s)} GB/s",
            format_bytes(round(model.n_half_bytes / 1024) * 1024),
            f"{model.residual * 100:.0f} %",
        )
        for model in run.models
    ]
    align = ("left", "right", "right", "right", "right")
    return "\n" + str(tabulate(rows, headers, tablefmt="simple", colalign=align, disable_numparse=True)) + "\n"


def _finding(finding: Finding) -> str:
    lines = [f"{finding.severity.upper()} {finding.code}: {finding.message}"]
    lines += [f"    {line}" for text in finding.evidence for line in text.splitlines()]
    if finding.remedy:
        lines.append(f"    -> {finding.remedy}")
    return "\n".join(lines)


def _last_line(run: Run) -> str:
    count = len(run.measurements)
    return (
        f"{run.verdict.status}: {count} measurement{'' if count == 1 else 's'}, exit code {run.verdict.exit_code}"
    )
