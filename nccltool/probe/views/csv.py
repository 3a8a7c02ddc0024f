"""A row a measurement, units in the column names; what a spreadsheet or a data frame reads."""

import csv
import io

from nccltool.probe.result import Measurement, Run

COLUMNS = (
    "run",
    "emulated",
    "backend",
    "nodes",
    "world_size",
    "op",
    "bytes",
    "bytes_per_rank",
    "dtype",
    "reduce_op",
    "placement",
    "cadence",
    "iterations",
    "time_mean_s",
    "time_median_s",
    "time_min_s",
    "time_max_s",
    "algbw_bytes_per_s",
    "busbw_bytes_per_s",
    "wrong",
    "limit_busbw_bytes_per_s",
)


def render(run: Run) -> str:
    """Comma-separated values; an empty field is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(run, row) for row in run.measurements)
    return text.getvalue()


def _row(run: Run, row: Measurement) -> tuple[object, ...]:
    info, times = run.info, row.time_s
    return (
        info.id,
        "true" if info.emulated else "false",
        info.backend,
        info.nodes,
        info.world_size,
        row.op,
        row.bytes,
        row.bytes_per_rank,
        row.dtype,
        row.reduce_op,
        row.placement,
        row.cadence,
        row.iterations,
        times.mean,
        times.median,
        times.min,
        times.max,
        row.algbw_bytes_per_s,
        row.busbw_bytes_per_s,
        row.wrong,
        row.limit_busbw_bytes_per_s,
    )
