"""JUDGE how speed grows with the number of ranks, over runs that differ in that alone. Pure.

Weak scaling keeps the sequences of a rank, strong scaling those of all ranks together. The efficiency of both is
sequences per second and rank over those of the smallest run. A collective has it of its bus bandwidth, which the
number of ranks does not change by itself.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from nccltool.core.statistics import Stats
from nccltool.probe.result import Measurement, Run
from nccltool.train.result import ModelShape, TrainingResult, TrainRun
from nccltool.train.series import LeftOut

ScalingKind = Literal["weak", "strong", "collective"]
FEWEST = 2
"""Numbers of ranks that make a curve."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalingPoint:
    """One number of ranks."""

    run: str
    """Id of the run."""
    ranks: int
    nodes: int | None
    sequences_per_rank: float | None
    """In a step; None = of a collective."""
    time_s: float
    """Of a step, or of a call."""
    rate: float
    """Sequences per second of all ranks, or bus bandwidth in B/s."""
    efficiency: float
    """1 at the base."""
    efficiency_low: float | None
    efficiency_high: float | None
    """95 % interval; None = too few steps were timed, or it is the base."""
    compute_s: float | None = None
    """Of a step: the same work of a rank while the others wait."""
    exposed_s: float | None = None
    """Of a step: what would be saved if communication took no time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalingCurve:
    """What grows with the ranks, from the fewest to the most."""

    of: str
    """The strategy, or the operation."""
    detail: str
    """What stays the same."""
    kind: ScalingKind
    bytes: int | None
    """Of a collective's message."""
    base: int
    """Ranks of the point that the efficiency is relative to."""
    points: tuple[ScalingPoint, ...]


class _Same(NamedTuple):
    """What the points of a curve have in common, in the order of the curves."""

    order: int
    of: str
    detail: str
    kind: ScalingKind
    bytes: int | None
    held: float
    """Sequences of a rank or of all ranks."""


class _Timed(NamedTuple):
    point: ScalingPoint
    between: tuple[float, float] | None
    """95 % interval of the time."""


def curves(runs: Iterable[Run]) -> tuple[ScalingCurve, ...]:
    """Those with at least two numbers of ranks. Of runs with the same number, the last counts."""
    found: dict[_Same, dict[int, _Timed]] = defaultdict(dict)
    orders: dict[str, int] = {}
    for run in runs:
        for same, timed in _points(run, orders):
            found[same][timed.point.ranks] = timed
    made = [_curve(same, points) for same, points in sorted(found.items(), key=_order) if len(points) >= FEWEST]
    return tuple(_without_parts(made))


def left_out(runs: Iterable[Run]) -> tuple[LeftOut, ...]:
    """Strategies that runs could not train: they have no point there."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for run in runs:
        for one in run.trainings if isinstance(run, TrainRun) else ():
            if one.status == "skip" and run.info.world_size:
                found[one.strategy][run.info.world_size] = one.reason
    return tuple(
        LeftOut(of=name, ranks=tuple(sorted(reasons)), reason=reasons[min(reasons)])
        for name, reasons in found.items()
    )


def _order(one: tuple[_Same, Mapping[int, _Timed]]) -> tuple[object, ...]:
    same, points = one
    return same.order, same.kind != "weak", same.bytes or 0, -len(points), same.held


def _without_parts(every: Sequence[ScalingCurve]) -> Iterator[ScalingCurve]:
    """Of curves of one kind, only the longest: a series of strong scaling has runs by chance that look weak."""
    most = defaultdict[tuple[object, ...], int](int)
    for one in every:
        key = one.of, one.kind, one.bytes, one.detail.split(";")[0]
        most[key] = max(most[key], len(one.points))
    for one in every:
        if len(one.points) == most[one.of, one.kind, one.bytes, one.detail.split(";")[0]]:
            yield one


def _points(run: Run, orders: dict[str, int]) -> Iterator[tuple[_Same, _Timed]]:
    ranks = run.info.world_size
    if not ranks:
        return
    if isinstance(run, TrainRun):
        for training in run.trainings:
            order = orders.setdefault(training.strategy, len(orders))
            yield from _of_training(training, run, ranks, order)
    else:
        for row in run.measurements:
            if row.group is None and row.busbw_bytes_per_s > 0:
                detail = f"{run.info.backend or 'backend unknown'}, {row.dtype} {row.placement} {row.cadence}"
                order = orders.setdefault(row.op, len(orders))
                same = _Same(order, row.op, detail, "collective", row.bytes, 0.0)
                yield same, _of_row(row, run, ranks)


def _of_training(one: TrainingResult, run: TrainRun, ranks: int, order: int) -> Iterator[tuple[_Same, _Timed]]:
    """The point of a training, which may be on a weak and on a strong curve."""
    times, rate = one.step_time_s, one.throughput_samples_per_s
    if times is None or not rate or not times.seconds or one.model is None or one.status == "fail":
        return
    sequences = round(rate * times.seconds)
    per_rank = sequences / ranks
    detail = f"{run.info.backend or 'backend unknown'}, {_model(one.model)}"
    compute_s, exposed_s = _parts(one, times.seconds, ranks)
    point = ScalingPoint(
        run=run.info.id,
        ranks=ranks,
        nodes=run.info.nodes,
        sequences_per_rank=per_rank,
        time_s=times.seconds,
        rate=rate,
        efficiency=1.0,
        efficiency_low=None,
        efficiency_high=None,
        compute_s=compute_s,
        exposed_s=exposed_s,
    )
    timed = _Timed(point, _between(times))
    weak, strong = f"{per_rank:g} sequences per rank", f"{sequences} sequences in all"
    yield _Same(order, one.strategy, f"{detail}; {weak}", "weak", None, per_rank), timed
    yield _Same(order, one.strategy, f"{detail}; {strong}", "strong", None, sequences), timed


def _parts(one: TrainingResult, step_s: float, ranks: int) -> tuple[float | None, float | None]:
    """(computing, exposed communication) of a step. A rank that is alone waits for nobody: what was measured is
    noise."""
    if ranks == 1:
        return step_s, 0.0
    compute, exposed = one.scaling_efficiency, one.exposed_communication_ratio
    return None if compute is None else compute * step_s, None if exposed is None else exposed * step_s


def _model(shape: ModelShape) -> str:
    """Models that were enlarged for more ranks are others."""
    return f"{shape.layers} layers, width {shape.width}, context {shape.context}"


def _of_row(row: Measurement, run: Run, ranks: int) -> _Timed:
    point = ScalingPoint(
        run=run.info.id,
        ranks=ranks,
        nodes=run.info.nodes,
        sequences_per_rank=None,
        time_s=row.time_s.seconds,
        rate=row.busbw_bytes_per_s,
        efficiency=1.0,
        efficiency_low=None,
        efficiency_high=None,
    )
    return _Timed(point, _between(row.time_s))


def _between(times: Stats) -> tuple[float, float] | None:
    return times.seconds_between if times.ci95 and times.seconds_between[0] > 0 else None


def _curve(same: _Same, points: Mapping[int, _Timed]) -> ScalingCurve:
    ordered = [points[ranks] for ranks in sorted(points)]
    base = ordered[0]
    return ScalingCurve(
        of=same.of,
        detail=same.detail,
        kind=same.kind,
        bytes=same.bytes,
        base=base.point.ranks,
        points=tuple(_with_efficiency(one, base, same.kind) for one in ordered),
    )


def _with_efficiency(one: _Timed, base: _Timed, kind: ScalingKind) -> ScalingPoint:
    point = one.point
    efficiency = point.rate / base.point.rate
    if kind != "collective":
        efficiency *= base.point.ranks / point.ranks
    if one is base:
        return point
    low = high = None
    if one.between and base.between:
        # independent errors of logarithms; a longer time is a lower rate
        mine, of_base = _apart(one.between, point.time_s), _apart(base.between, base.point.time_s)
        low = efficiency * math.exp(-math.hypot(mine[1], of_base[0]))
        high = efficiency * math.exp(math.hypot(mine[0], of_base[1]))
    return replace(point, efficiency=efficiency, efficiency_low=low, efficiency_high=high)


def _apart(between: tuple[float, float], seconds: float) -> tuple[float, float]:
    """How far the ends of an interval are from the value, in logarithms."""
    low, high = between
    return math.log(seconds / low), math.log(high / seconds)
