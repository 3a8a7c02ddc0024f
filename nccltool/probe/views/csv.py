"""A row a measurement, units in the column names; what a spreadsheet or a data frame reads."""

import csv
import io
from collections.abc import Callable, Mapping

from nccltool.core.documents import RunInfo
from nccltool.core.text import escaped
from nccltool.probe.result import Measurement, Run

_COLUMNS: Mapping[str, Callable[[RunInfo, Measurement], object]] = {
    "run": lambda info, row: info.id,
    "emulated": lambda info, row: "true" if info.emulated else "false",
    "backend": lambda info, row: info.backend,
    "nodes": lambda info, row: info.nodes,
    "world_size": lambda info, row: row.group.world_size if row.group else info.world_size,
    "op": lambda info, row: row.op,
    "bytes": lambda info, row: row.bytes,
    "bytes_per_rank": lambda info, row: row.bytes_per_rank,
    "dtype": lambda info, row: row.dtype,
    "reduce_op": lambda info, row: row.reduce_op,
    "placement": lambda info, row: row.placement,
    "cadence": lambda info, row: row.cadence,
    "iterations": lambda info, row: row.iterations,
    "time_mean_s": lambda info, row: row.time_s.mean,
    "time_median_s": lambda info, row: row.time_s.median,
    "time_min_s": lambda info, row: row.time_s.min,
    "time_max_s": lambda info, row: row.time_s.max,
    "algbw_bytes_per_s": lambda info, row: row.algbw_bytes_per_s,
    "busbw_bytes_per_s": lambda info, row: row.busbw_bytes_per_s,
    "wrong": lambda info, row: row.wrong,
    "limit_busbw_bytes_per_s": lambda info, row: row.limit_busbw_bytes_per_s,
    "source": lambda info, row: info.source,
    "group": lambda info, row: row.group and row.group.name,
    "alone": lambda info, row: row.group and ("true" if row.group.alone else "false"),
    "imbalance": lambda info, row: row.traffic and row.traffic.imbalance,
    "slowest_destination": lambda info, row: row.traffic and row.traffic.slowest_destination,
}


def render(run: Run) -> str:
    """Comma-separated values; an empty field is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([_plain(cell(run.info, row)) for cell in _COLUMNS.values()] for row in run.measurements)
    return text.getvalue()


def _plain(value: object) -> object:
    """A document may come from elsewhere, and CSV has no escapes of its own."""
    return escaped(value) if isinstance(value, str) else value
