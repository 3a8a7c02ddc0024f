"""The latency-bandwidth model of an operation, t = alpha + bytes / beta, fitted robustly; and dips against it.

alpha is what a call costs however small it is, beta the bandwidth that large sizes approach (Hockney 1994);
at n-half = alpha * beta bytes half of beta is reached.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from nccltool.core.findings import Finding, Subject
from nccltool.core.units import format_bytes, format_gb_per_s
from nccltool.probe.finding_kinds import DIP
from nccltool.probe.result import LatencyModel, Measurement, Placement, RowGroup

MIN_SIZES = 4
DIP_SLACK = 0.05
"""A fall in bandwidth by this much is not worth a word (ROCm's CVS uses the same 5 %)."""
_ROUNDS = 30
_TINY = 1e-12

Point = tuple[int, float]
"""(bytes, seconds)"""


def models(rows: Iterable[Measurement]) -> tuple[LatencyModel, ...]:
    """A model for each operation and placement that was measured at enough sizes."""
    found = []
    for (op, placement, of), group in _by_operation(rows).items():
        points = [(row.bytes, row.time_s.seconds) for row in group if row.time_s.seconds > 0]
        if len({size for size, _ in points}) < MIN_SIZES:
            continue
        alpha_s, seconds_per_byte = fit(points)
        if seconds_per_byte <= 0:
            continue  # time does not grow with size: no bandwidth in it
        residual = median(abs(_model(size, alpha_s, seconds_per_byte) / t - 1) for size, t in points)
        found.append(
            LatencyModel(
                op=op,
                placement=placement,
                alpha_s=alpha_s,
                beta_bytes_per_s=1 / seconds_per_byte,
                n_half_bytes=alpha_s / seconds_per_byte,
                residual=residual,
                group=of,
            )
        )
    return tuple(found)


def fit(points: Sequence[Point]) -> tuple[float, float]:
    """(alpha in seconds, seconds per byte), neither negative, that minimise the sum of relative errors.

    Least absolute deviations by iteratively reweighted least squares: single sizes that fall out of line (a
    change of algorithm or protocol) do not bend it, and small sizes count as much as large ones.
    """
    weights = [1 / (t * t) for _, t in points]
    alpha, slope = 0.0, 0.0
    for _ in range(_ROUNDS):
        alpha, slope = _least_squares(points, weights)
        errors = [abs(_model(size, alpha, slope) / t - 1) for size, t in points]
        weights = [1 / (t * t) / max(error, 1e-3) for (_, t), error in zip(points, errors, strict=True)]
    return alpha, slope


def _model(size: int, alpha: float, slope: float) -> float:
    return alpha + slope * size


def _least_squares(points: Sequence[Point], weights: Sequence[float]) -> tuple[float, float]:
    total = sum(weights)
    x = sum(w * size for w, (size, _) in zip(weights, points, strict=True)) / total
    y = sum(w * t for w, (_, t) in zip(weights, points, strict=True)) / total
    sxx = sum(w * (size - x) ** 2 for w, (size, _) in zip(weights, points, strict=True))
    sxy = sum(w * (size - x) * (t - y) for w, (size, t) in zip(weights, points, strict=True))
    slope = max(sxy / max(sxx, _TINY), 0.0)
    alpha = y - slope * x
    if alpha >= 0:
        return alpha, slope
    through_zero = sum(w * size * t for w, (size, t) in zip(weights, points, strict=True))
    return 0.0, through_zero / max(sum(w * size**2 for w, (size, _) in zip(weights, points, strict=True)), _TINY)


def dips(rows: Iterable[Measurement]) -> tuple[Finding, ...]:
    """Sizes whose bandwidth is below that of the next smaller one by more than the noise of both, where known."""
    found = []
    for (op, _, of), group in _by_operation(rows).items():
        ordered = sorted((row for row in group if row.time_s.ci95), key=lambda row: row.bytes)
        for small, large in pairwise(ordered):
            if small.bytes < large.bytes and large.busbw_interval[1] < small.busbw_interval[0] * (1 - DIP_SLACK):
                found.append(_dip(f"{op} in group {of.text}" if of else op, small, large))
    return tuple(found)


def _dip(what: str, small: Measurement, large: Measurement) -> Finding:
    before, after = format_gb_per_s(small.busbw_bytes_per_s), format_gb_per_s(large.busbw_bytes_per_s)
    return DIP.finding(
        subject=Subject(kind="operation", name=small.op),
        message=f"{what}: busbw drops from {before} GB/s at {format_bytes(small.bytes)} "
        f"to {after} GB/s at {format_bytes(large.bytes)}",
        evidence=("the intervals of the two sizes are more than 5 % apart",),
        remedy="likely cause: the protocol or algorithm changes between these sizes; on CPUs, a cache "
        "becomes too small",
    )


def _by_operation(
    rows: Iterable[Measurement],
) -> dict[tuple[str, Placement, RowGroup | None], list[Measurement]]:
    groups: dict[tuple[str, Placement, RowGroup | None], list[Measurement]] = defaultdict(list)
    for row in rows:
        if not row.launch_limited:  # that is the time of Python, and says nothing of the operation
            groups[row.op, row.placement, row.group].append(row)
    return groups
