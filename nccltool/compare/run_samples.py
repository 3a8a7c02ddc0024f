"""What comparisons need of a run, and which keys of two of them differ. Pure."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, replace

import msgspec

from nccltool.compare.result import Circumstances, Difference, RowKey, RowSample, RunSample
from nccltool.core.documents import RunInfo
from nccltool.core.errors import BadInput
from nccltool.core.statistics import MIN_FOR_INTERVAL, Stats
from nccltool.core.text import counted
from nccltool.core.units import format_bytes
from nccltool.probe.result import Measurement

P90_SIGMAS = 1.2816
"""Standard deviations between the middle and the 90th percentile of normal numbers."""
P99_SIGMAS = 2.3263
UNKNOWN = "unknown"
"""A word of --ignore: keys that one side does not know."""
VERSIONS = ("backend_version", "torch", "tool")
"""What the word `versions` stands for."""
OF_A_RUN = tuple(field.name for field in fields(Circumstances))
OF_A_ROW = ("dtype", "reduce_op", "placement", "cadence")
WORDS = tuple(name.replace("_", "-") for name in (*OF_A_RUN, *OF_A_ROW, "versions", UNKNOWN))
"""What --ignore takes."""


def of_run(info: RunInfo, measurements: Sequence[Measurement]) -> RunSample:
    """The sample of a run, of what it has so far; measurements with wrong data are left out."""
    usable = [row for row in measurements if not row.wrong and row.time_s.seconds > 0]
    wrong = [row for row in measurements if row.wrong]
    return RunSample(
        id=info.id,
        started=info.started,
        hosts=info.hosts,
        circumstances=_circumstances(info),
        rows=tuple(_of_row(row) for row in usable),
        left_out=tuple(f"{info.id}: {row.op} at {format_bytes(row.bytes)} has wrong data" for row in wrong),
    )


def _circumstances(info: RunInfo) -> Circumstances:
    known = msgspec.convert(info, Circumstances, from_attributes=True)
    return replace(known, ranks=info.world_size, tool=info.tool or f"nccltool {info.nccltool}")


def _of_row(row: Measurement) -> RowSample:
    return RowSample(
        key=key_of(row),
        median_s=row.time_s.median or None,
        mean_s=row.time_s.seconds,
        spread=_spread(row.time_s, row.iterations),
        iterations=row.iterations,
        busbw_bytes_per_s=row.busbw_bytes_per_s,
    )


def _spread(times: Stats, iterations: int | None) -> float | None:
    """How far the mean could go up if more iterations were like the slow ones: a relative standard deviation.

    None = not known.
    """
    if iterations is not None and iterations < MIN_FOR_INTERVAL:
        return None
    quantiles = ((times.p90, P90_SIGMAS), (times.p99, P99_SIGMAS))
    found = [math.log(quantile / times.seconds) / sigmas for quantile, sigmas in quantiles if quantile]
    return max(0.0, *found) if found else None


def key_of(row: Measurement) -> RowKey:
    key = msgspec.convert(row, RowKey, from_attributes=True)
    of = row.group
    return replace(key, of_group=f"{of.text} ({counted(of.world_size, 'rank')})") if of else key


def ignored(words: Sequence[str]) -> frozenset[str]:
    """The keys that --ignore names. Raises BadInput."""
    found: set[str] = set()
    for word in words:
        if word not in WORDS:
            raise BadInput(f"--ignore: {word!r} is not a key", f"choose from {', '.join(WORDS)}")
        name = word.replace("-", "_")
        found.update(VERSIONS if name == "versions" else (name,))
    return frozenset(found)


def differences(a: Circumstances, b: Circumstances) -> tuple[Difference, ...]:
    """The keys of runs that differ; what one side does not know is a difference."""
    return tuple(
        Difference(key=name.replace("_", "-"), a=shown(name, one), b=shown(name, other))
        for name in OF_A_RUN
        if (one := getattr(a, name)) != (other := getattr(b, name))
    )


def matters(difference: Difference, ignore: Collection[str]) -> bool:
    """Whether a difference is not among those that are to be ignored."""
    not_known = NOT_KNOWN in (difference.a, difference.b)
    return difference.key.replace("-", "_") not in ignore and not (not_known and UNKNOWN in ignore)


NOT_KNOWN = "unknown"


def shown(name: str, value: object) -> str:
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or {"nics": "no network", "gpu": "no GPU"}.get(name, "none")


def row_differences(a: Collection[RowKey], b: Collection[RowKey]) -> Iterator[str]:
    """How the measurements of two sides that have none in common differ: `dtype: float32, not bfloat16`."""
    for name in (field.name for field in fields(RowKey)):
        ours, theirs = ({getattr(key, name) for key in side} for side in (a, b))
        if not ours & theirs:
            form = format_bytes if name == "bytes" else _group if name == "of_group" else str
            texts = [", ".join(sorted(form(value) for value in side)[:4]) for side in (ours, theirs)]
            yield f"{name.replace('_', '-')} (A: {texts[0]}; B: {texts[1]})"


def _group(of_group: str | None) -> str:
    return of_group or "all ranks"


def without(key: RowKey, ignore: Collection[str]) -> tuple[object, ...]:
    """A row's key, less what is to be ignored."""
    return tuple(None if field.name in ignore else getattr(key, field.name) for field in fields(RowKey))
