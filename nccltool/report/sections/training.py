"""Trainings against their reference: loss, errors, and where the time of a step goes."""

from collections.abc import Iterator

from nccltool.core.text import counted, named
from nccltool.core.units import format_seconds
from nccltool.preflight.result import Preflight
from nccltool.report import charts
from nccltool.report.material import Material
from nccltool.report.parts import ChartPart, FoldPart, KeyEntry, KeyFigure, Part, ReportSection, TablePart, Tone
from nccltool.report.sections import base
from nccltool.train.result import TrainingResult, TrainRun, TrainStep

_HEADERS = (
    "strategy",
    "result",
    "step",
    "tokens/s",
    "exposed",
    "scaling",
    "loss error",
    "allowed",
    "memory",
    "why",
)
_STEPS = ("step", "loss", "reference", "difference", "gradient norm", "reference", "time")
_SERIES = ("loss", "reference")
_TONES: dict[str, Tone] = {"pass": "pass", "fail": "fail", "warn": "warn", "skip": "plain"}


def of(material: Material) -> ReportSection | None:
    run = material.newest
    if not isinstance(run, TrainRun | Preflight) or not run.trainings:
        return None
    equal = [one for one in run.trainings if one.status == "pass"]
    parts: list[Part] = [_table(run.trainings)]
    timed = [one for one in run.trainings if one.step_time_s]
    if timed:
        parts.append(_breakdown(timed))
    parts += [_loss(one) for one in run.trainings if _losses(one)]
    parts += [_steps(one) for one in run.trainings if one.steps]
    return ReportSection(
        id="training",
        title="Training",
        headline=_headline(run.trainings, equal),
        figure=KeyFigure(value=f"{len(equal)} of {len(run.trainings)}", label="equal the reference"),
        parts=tuple(parts),
    )


def _headline(trainings: tuple[TrainingResult, ...], equal: list[TrainingResult]) -> str:
    failed = [one.strategy for one in trainings if one.status == "fail"]
    bad = f"; {named(failed, 4)} {'differs' if len(failed) == 1 else 'differ'}" if failed else ""
    equals = "equals" if len(equal) == 1 else "equal"
    return f"{len(equal)} of {counted(len(trainings), 'training')} {equals} the reference{bad}."


def _table(trainings: tuple[TrainingResult, ...]) -> TablePart:
    return base.table("Trainings", _HEADERS, [_row(one) for one in trainings], *range(2, 9))


def _row(one: TrainingResult) -> tuple[str, ...]:
    oracle = one.oracle
    memory = max((size for size in one.peak_memory_bytes if size is not None), default=None)
    return (
        one.strategy,
        one.status,
        base.seconds(one.step_time_s.seconds if one.step_time_s else None),
        _number(one.throughput_tokens_per_s, ",.0f"),
        base.percent(one.exposed_communication_ratio),
        base.percent(one.scaling_efficiency),
        _number(oracle.max_abs_error if oracle else None, ".2g"),
        _number(oracle.tolerance if oracle else None, ".2g"),
        base.UNKNOWN if memory is None else f"{memory / 2**20:.0f} MiB",
        one.reason,
    )


def _number(value: float | None, form: str) -> str:
    return base.UNKNOWN if value is None else format(value, form)


def _breakdown(timed: list[TrainingResult]) -> ChartPart:
    """A bar for a step: what it computes, then what it waits for communication."""
    values = tuple(value for one in timed for value in _stretches(one))
    return ChartPart(
        title="Where the time of a step goes",
        about="computing and exposed communication in a step; the table has the numbers",
        spec=charts.stretches("time (ms)", len(timed)),
        values=values,
        key=(
            KeyEntry(shape="box", color="series-1", label="computing and the rest"),
            KeyEntry(shape="box", color="warn", label="waiting for communication"),
            KeyEntry(shape="box", color="unknown", label="not told apart"),
        ),
        table=_table(tuple(timed)),
        spark=tuple(one.step_time_s.seconds for one in timed if one.step_time_s),
    )


def _stretches(one: TrainingResult) -> Iterator[dict[str, object]]:
    assert one.step_time_s
    whole, exposed = one.step_time_s.seconds * 1e3, one.exposed_communication_ratio
    if exposed is None:
        about = f"{one.strategy}: {format_seconds(whole / 1e3)}; what communication takes is not known"
        yield _stretch(one, 0.0, whole, "unknown", about)
        return
    border = whole * (1 - exposed)
    yield _stretch(one, 0.0, border, "plain", f"{one.strategy}: {format_seconds(border / 1e3)} computing")
    waits = f"{one.strategy}: {format_seconds((whole - border) / 1e3)} ({base.percent(exposed)}) waiting"
    yield _stretch(one, border, whole, "warn", waits)


def _stretch(one: TrainingResult, low: float, high: float, tone: Tone, about: str) -> dict[str, object]:
    return {"name": one.strategy, "low": low, "high": high, "tone": base.TONE_COLORS[tone], "about": about}


def _losses(one: TrainingResult) -> list[TrainStep]:
    return [step for step in one.steps if step.loss is not None]


def _loss(one: TrainingResult) -> ChartPart:
    values = []
    for step in one.steps:
        for name, loss in zip(_SERIES, (step.loss, step.reference_loss), strict=True):
            if loss is not None:
                about = f"{one.strategy} step {step.step}: {name} {loss:.6g}"
                values.append({"x": step.step, "y": loss, "series": name, "about": about})
    return ChartPart(
        title=f"Loss of {one.strategy}",
        name=one.strategy,
        about="loss of the training and of the reference; the table has the numbers",
        spec=charts.steps("loss", _SERIES),
        values=tuple(values),
        key=(
            KeyEntry(shape="line", color="series-1", label="training"),
            KeyEntry(shape="dashed", color="series-2", label="reference"),
        ),
        table=_steps_table(one),
        spark=tuple(step.loss for step in one.steps),
    )


def _steps(one: TrainingResult) -> FoldPart:
    tone = _TONES.get(one.status, "unknown")
    return FoldPart(summary=f"Steps of {one.strategy}", parts=(_steps_table(one),), tone=tone)


def _steps_table(one: TrainingResult) -> TablePart:
    return base.table("", _STEPS, [_step(step) for step in one.steps], *range(len(_STEPS)))


def _step(step: TrainStep) -> tuple[str, ...]:
    known = step.loss is not None and step.reference_loss is not None
    difference = (step.loss or 0.0) - (step.reference_loss or 0.0) if known else None
    return (
        str(step.step),
        _number(step.loss, ".6g"),
        _number(step.reference_loss, ".6g"),
        _number(difference, ".2g"),
        _number(step.gradient_norm, ".5g"),
        _number(step.reference_gradient_norm, ".5g"),
        format_seconds(step.time_s),
    )
