"""The sentences and figures that the views of a plan share."""

from nccltool.core.text import counted, listed
from nccltool.core.units import format_seconds
from nccltool.plan.checked import CheckedStrategy
from nccltool.plan.result import Plan, PlannedStrategy
from nccltool.plan.scaling import PredictedCurve

TERMS = (
    "parameters",
    "gradients",
    "optimizer",
    "activations",
    "logits",
    "unsharded",
    "temporaries",
    "allocator",
    "context",
    "communication",
)
"""Of memory, in the order in which they are shown."""


def headline(plan: Plan) -> str:
    """The answer in one sentence."""
    on = f"{counted(plan.gpus, 'GPU')} ({plan.machine.name}{', assumed' if plan.is_assumed else ''})"
    if plan.choice is None:
        return f"plan: {plan.model.name} does not fit on {on}"
    one = plan.choice
    return (
        f"plan: {plan.model.name} on {on}: {one.layout.name}, {format_seconds(one.time.total)} per step, "
        f"{gib(one.memory.total)} of {gib(plan.machine.memory_bytes)} GiB"
    )


def gib(size: int) -> str:
    return f"{size / 2**30:.1f}"


def billions(parameters: int) -> str:
    return f"{parameters / 1e9:.2f}B" if parameters >= 1e9 else f"{parameters / 1e6:.1f}M"


def what(plan: Plan) -> str:
    """The model, the batch, and how it is trained."""
    model, recipe = plan.model, plan.recipe
    active = f" ({billions(model.active_parameters)} active)" if model.experts else ""
    batch = f"{counted(recipe.global_batch, 'sequence')} of {counted(recipe.sequence, 'token')} per step"
    size = f"{billions(model.parameters)} parameters{active}, {model.layers} layers"
    return f"{size}; {batch}; {recipe.precision.name}, {recipe.optimizer.name}"


def batch(plan: Plan, one: PlannedStrategy) -> str:
    """Micro-batches of a rank and step, times sequences of each."""
    return f"{one.layout.micro_batches(plan.recipe)} x {one.layout.micro_batch}"


def batches(plan: Plan, one: PlannedStrategy) -> str:
    """The same as a sentence, and what is recomputed."""
    layout, count = one.layout, one.layout.micro_batches(plan.recipe)
    word = "micro-batch" if count == 1 else "micro-batches"
    each = counted(layout.micro_batch, "sequence")
    pipeline = (
        f"; {layout.schedule} with {counted(layout.stages, 'stage')} per rank" if layout.pipeline > 1 else ""
    )
    return f"{count} {word} of {each} per rank and step; recomputation: {layout.recompute}{pipeline}"


def interval(one: PlannedStrategy) -> str:
    return f"{format_seconds(one.time.total)} ({format_seconds(one.fastest_s)} to {format_seconds(one.slowest_s)})"


def training(plan: Plan) -> str | None:
    """Time of the whole training; None where it was not asked."""
    if plan.training_s is None or plan.tokens is None:
        return None
    days = plan.training_s / 86400
    hours = plan.training_s / 3600 * plan.gpus
    time = f"{days:.1f} days" if days >= 2 else f"{plan.training_s / 3600:.1f} hours"
    cost = f"{hours:,.0f} GPU hours, without failures and restarts"
    return f"{_tokens(plan.tokens)}: {time}, {cost}"


def _tokens(count: int) -> str:
    for word, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if count >= size:
            return f"{count / size:.4g} {word} tokens"
    return counted(count, "token")


SCALING = ("ranks", "step", "predicted", "efficiency", "predicted")
"""Columns of a curve: measured and predicted time of a step, measured and predicted efficiency."""


def curve(one: PredictedCurve) -> str:
    """What a curve is of."""
    return f"{one.strategy}, {one.kind} scaling ({one.detail})"


def curve_rows(one: PredictedCurve) -> list[tuple[str, ...]]:
    return [
        (
            str(point.ranks),
            format_seconds(point.measured_s),
            "?" if point.predicted_s is None else format_seconds(point.predicted_s),
            f"{point.measured:.0%}",
            "?" if point.predicted is None else f"{point.predicted:.0%}",
        )
        for point in one.points
    ]


def curve_end(one: PredictedCurve) -> str:
    """Where it bends, or why nothing is predicted."""
    return (
        one.bend
        or one.reason
        or "no bend: efficiency falls by less than 5 % from each number of ranks to the next"
    )


def checked(one: CheckedStrategy) -> str:
    """How well a strategy was predicted, in one sentence."""
    if one.reason:
        return f"{one.name}: not counted: {one.reason}"
    figures = [row for row in one.rows if row.what != "activations"]
    exact = sum(row.is_right for row in figures)
    ratios = [row.predicted / row.counted - 1 for row in one.rows if row.what == "activations" and row.counted]
    worst = max(ratios, key=abs, default=0.0)
    of_calls = {row.what.partition(" ")[0] for row in figures if row.what.endswith(" calls")}
    names = listed(sorted(of_calls)) or "no collectives"
    return (
        f"{one.name}: {exact} of {counted(len(figures), 'figure')} exact "
        f"({names}, parameters, gradients, optimizer); "
        f"activations {100 * worst:+.0f} %"
    )
