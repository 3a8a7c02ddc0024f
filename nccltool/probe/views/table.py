"""The table for people: where it ran, a row a measurement, then what was found."""

from collections.abc import Iterator

from tabulate import tabulate

from nccltool.core.documents import RunInfo
from nccltool.core.look import PLAIN, Look
from nccltool.core.statistics import STATISTIC
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.probe import collectives
from nccltool.probe.result import LatencyModel, Measurement, Run
from nccltool.probe.views.base import circumstances

HEADERS = ("op", "size", "time", "algbw", "busbw", "% of limit", "wrong", "iterations", "note")
_LIMIT = HEADERS.index("% of limit")
_HEAVY_TAIL = 1.25
"""A mean this far above the median is that of a few slow iterations, and the row says so."""
LEGEND = (
    f"size: as in nccl-tests, 1 MiB = 2**20 B   time: {STATISTIC} over iterations of the slowest rank\n"
    "algbw, busbw: GB/s = 10**9 B/s   wrong: elements over all ranks"
)


def render(run: Run, look: Look = PLAIN) -> str:
    blocks = [circumstances(run.info)]
    if run.measurements:
        blocks += [_rows(run), LEGEND, *_limits(run)]
    if run.models:
        blocks.append(_models(run))
    rows = f"{len(run.measurements)} measurement{'' if len(run.measurements) == 1 else 's'}"
    last = f"{run.verdict.status}: {rows}, exit code {run.verdict.exit_code}"
    return "\n".join([*blocks, *(line for finding in run.findings for line in finding.lines(look)), last]) + "\n"


def _rows(run: Run) -> str:
    rows = [HEADERS, *(_row(row, run.info) for row in run.measurements)]
    align = ["left", *["right" for _ in HEADERS[1:-1]], "left"]
    if not _limits(run):
        rows = [row[:_LIMIT] + row[_LIMIT + 1 :] for row in rows]
        del align[_LIMIT]
    return str(tabulate(rows, "firstrow", tablefmt="simple", colalign=align, disable_numparse=True))


def _row(row: Measurement, info: RunInfo) -> tuple[str, ...]:
    return (
        row.op,
        format_bytes(row.bytes),
        format_seconds(row.time_s.seconds),
        format_gb_per_s(row.algbw_bytes_per_s),
        format_gb_per_s(row.busbw_bytes_per_s),
        _share(row),
        "not checked" if row.wrong is None else str(row.wrong),
        "?" if row.iterations is None else str(row.iterations),
        ", ".join(_notes(row, info)),
    )


def _share(row: Measurement) -> str:
    if row.limit_busbw_bytes_per_s is None:
        return ""
    percent = row.busbw_bytes_per_s / row.limit_busbw_bytes_per_s * 100
    return f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"


def _limits(run: Run) -> list[str]:
    """What the limits are made of, or why there are none; empty where nothing limits."""
    lines = []
    if run.info.limit_source:
        lines.append(f"% of limit: of what the wires allow. {run.info.limit_source}")
    if run.info.limit_unknown_reason:
        lines.append(f"% of limit is not known: {run.info.limit_unknown_reason}")
    above = dict.fromkeys(row.op for row in run.measurements if row.limit_may_be_exceeded)
    if above:
        lines.append(f"{', '.join(above)} can be above 100 % where switches reduce (NVLS, SHARP)")
    return lines


def _notes(row: Measurement, info: RunInfo) -> Iterator[str]:
    if info.emulated:
        yield "emulated"
    if _is_rare(row):
        yield row.placement.replace("-", " ")
    if row.cadence == "isolated":
        yield "isolated"
    middle = row.time_s.median
    if middle is not None and row.time_s.seconds > _HEAVY_TAIL * middle:
        yield f"tail: median {format_seconds(middle)}"
    if row.noisy:
        yield f"noisy: {_spread(row)}"
    if row.launch_limited:
        yield "limited by launches"
    if row.late_rank is not None and row.late_s is not None:
        yield f"waited {format_seconds(row.late_s)} for rank {row.late_rank}"


def _is_rare(row: Measurement | LatencyModel) -> bool:
    """Of operations that torch.distributed does in place, out of place; of the others, in place."""
    return (row.placement == "in-place") != (collectives.get(row.op).placements[0] == "in-place")


def _spread(row: Measurement) -> str:
    error = row.time_s.relative_error
    return "too few iterations" if error is None else f"+-{error * 100:.0f} %"


def _about(size: float) -> str:
    """A size that is an estimate: whole KiB where there are any."""
    return format_bytes(round(size / 1024) * 1024 if size >= 1024 else round(size))


def _models(run: Run) -> str:
    headers = ("model t = alpha + bytes / beta", "alpha", "beta", "n-half", "residual")
    rows = [
        (
            f"{model.op} {model.placement.replace('-', ' ')}" if _is_rare(model) else model.op,
            format_seconds(model.alpha_s),
            f"{format_gb_per_s(model.beta_bytes_per_s)} GB/s",
            _about(model.n_half_bytes),
            f"{model.residual * 100:.0f} %",
        )
        for model in run.models
    ]
    align = ("left", "right", "right", "right", "right")
    return "\n" + str(tabulate(rows, headers, tablefmt="simple", colalign=align, disable_numparse=True)) + "\n"
