"""How speed grows with the ranks: measured, predicted, and where the curve bends. Pure.

The links are those of probes, the arithmetic that of the fewest ranks. So the prediction has no doubt but that of
the model of communication; what ranks lose to each other on a shared host is not in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nccltool.compare import scaling as measured_scaling
from nccltool.compare.scaling import ScalingCurve, ScalingPoint
from nccltool.core.units import format_seconds
from nccltool.plan import machines, step_time, trained
from nccltool.plan.hardware import Machine
from nccltool.plan.step_time import StepTime
from nccltool.plan.trained import STRATEGIES, MeasuredTraining
from nccltool.probe.result import Run
from nccltool.train.result import ModelShape, TrainingResult, TrainRun

BEND = 0.05
"""A fall of the efficiency by this much between two numbers of ranks is a bend: less is within the errors of weak
scaling on a quiet machine."""
_UNSEEN = 0.25
"""What the prediction of a step is good for: more than this above it, and something is not in the model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictedPoint:
    """One number of ranks."""

    ranks: int
    measured_s: float
    """Of a step."""
    measured: float
    """Efficiency, 1 at the fewest ranks."""
    predicted_s: float | None
    """None: no probe measured what the strategy calls."""
    predicted: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictedCurve:
    """Of a strategy."""

    strategy: str
    kind: str
    """weak or strong."""
    detail: str
    points: tuple[PredictedPoint, ...]
    bend: str
    """Where the measured efficiency falls first, and why; empty: nowhere."""
    reason: str = ""
    """Why nothing is predicted."""


def of(runs: Sequence[Run], machine: Machine) -> tuple[PredictedCurve, ...]:
    """`machine`: what no run says, such as GPUs per node."""
    trainings = [run for run in runs if isinstance(run, TrainRun)]
    curves = [one for one in measured_scaling.curves(trainings) if one.of in STRATEGIES]
    if not curves:
        return ()
    probes = [run for run in runs if not isinstance(run, TrainRun) and machines.has_links(run)]
    linked = machines.with_runs(machine, probes) if probes else None
    return tuple(_curve(one, trainings, linked) for one in curves)


def _curve(curve: ScalingCurve, runs: Sequence[TrainRun], machine: Machine | None) -> PredictedCurve:
    found = [(point, _step(curve, point, runs)) for point in curve.points]
    base_point, base = found[0]
    compute_s = base_point.compute_s or base_point.time_s
    times: list[StepTime | None] = [None] * len(found)
    if machine is not None and base is not None:
        fast = trained.with_arithmetic(machine, base, compute_s)
        times = [_predicted(step, point, fast) for point, step in found]
    points = tuple(_points(curve.points, times))
    return PredictedCurve(
        strategy=curve.of,
        kind=curve.kind,
        detail=curve.detail,
        points=points,
        bend=_bend(points, times, curve.points),
        reason="" if any(times) else "no run of nccltool probe with these ranks was named",
    )


def _step(curve: ScalingCurve, point: ScalingPoint, runs: Sequence[TrainRun]) -> MeasuredTraining | None:
    run = next((one for one in runs if one.info.id == point.run), None)
    training = next((one for one in run.trainings if one.strategy == curve.of), None) if run else None
    if training is None or training.model is None or point.sequences_per_rank is None:
        return None
    shape = replace(training.model, batch=round(point.sequences_per_rank))
    return _with_schedule(MeasuredTraining(strategy=curve.of, shape=shape, ranks=point.ranks), training, shape)


def _with_schedule(step: MeasuredTraining, training: TrainingResult, shape: ModelShape) -> MeasuredTraining:
    if training.bubble is None:
        return step
    return replace(step, micro_batches=training.bubble.micro_batches, schedule=training.bubble.schedule)


def _predicted(step: MeasuredTraining | None, point: ScalingPoint, machine: Machine) -> StepTime | None:
    if step is None:
        return None
    per_node = max(1, point.ranks // (point.nodes or 1))
    there = replace(machine, gpus=per_node)
    if not step_time.is_measured(step.model, step.layout, step.recipe, there):
        return None
    return trained.predicted(step, there)


def _points(measured: Sequence[ScalingPoint], times: Sequence[StepTime | None]) -> Iterator[PredictedPoint]:
    first = times[0]
    for point, time in zip(measured, times, strict=True):
        work = point.efficiency * point.time_s / measured[0].time_s  # of a rank, relative to the fewest
        yield PredictedPoint(
            ranks=point.ranks,
            measured_s=point.time_s,
            measured=point.efficiency,
            predicted_s=None if time is None else time.total,
            predicted=None if time is None or first is None else work * first.total / time.total,
        )


def _bend(
    points: Sequence[PredictedPoint], times: Sequence[StepTime | None], measured: Sequence[ScalingPoint]
) -> str:
    """The largest fall between two neighbors."""
    falls = [(b.measured / a.measured, number) for number, (a, b) in enumerate(pairwise(points))]
    share, number = min(falls)
    if share > 1 - BEND:
        return ""
    before, after = points[number], points[number + 1]
    where = (
        f"from {before.ranks} to {after.ranks} ranks, efficiency falls "
        f"from {before.measured:.0%} to {after.measured:.0%}"
    )
    time = times[number + 1]
    if time is None:
        return f"{where}; cause unknown without a prediction"
    if after.measured_s > time.total * (1 + _UNSEEN):
        lost = format_seconds(after.measured_s - time.total)
        return (
            f"{where}: {lost} of the step is neither arithmetic nor communication, as on a host with too few cores"
        )
    parts = {"communication that nothing hides": time.exposed, "waiting in the pipeline": time.bubble}
    most = max(parts, key=lambda name: parts[name])
    call = max(time.calls, key=lambda one: one.seconds, default=None)
    what = f" (most: {call.calls.operation})" if call is not None else ""
    return f"{where}: {format_seconds(parts[most])} of the step is {most}{what}"
