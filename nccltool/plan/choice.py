"""Which layout to take: the simplest of the fastest that fit, and one sentence for each that it beats. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from nccltool.core.units import format_seconds
from nccltool.plan import memory, search, step_time
from nccltool.plan.hardware import Machine
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.memory import Memory
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe
from nccltool.plan.result import PlannedStrategy
from nccltool.plan.search import Wanted
from nccltool.plan.step_time import EFFICIENCY, StepTime

MARGIN = 0.06
"""A layout fits if it still does with this much more: predictions of reserved memory are up to 8 % too low
(docs/plan.md), and a job that runs out of memory costs more than one GPU too many."""
TIE = 0.03
"""Steps whose times differ by less are equally fast: the model is no better."""


def planned(
    model: Model, recipe: Recipe, machine: Machine, mfu: float | None, wanted: Wanted
) -> tuple[tuple[PlannedStrategy, ...], int]:
    """The best of each kind of layout, the choice first; and how many layouts were worked out."""
    best: dict[tuple[object, ...], PlannedStrategy] = {}
    searched = 0
    for shape in search.shapes(model, wanted, recipe.sequence, machine.gpus):
        for one in _of_shape(shape, model, recipe, machine, mfu):
            searched += 1
            there = best.get(_kind(one.layout))
            if there is None or _place(one) < _place(there):
                best[_kind(one.layout)] = one
    ordered = sorted(best.values(), key=_place)
    fitting = [one for one in ordered if one.fits]
    if fitting:
        fastest = min(one.time.total for one in fitting)
        tied = [one for one in fitting if one.time.total <= fastest * (1 + TIE)]
        choice = min(tied, key=lambda one: (_effort(one.layout), one.time.total))
        ordered = [choice, *(one for one in ordered if one is not choice)]
    return tuple(_told(model, one, ordered[0], recipe, machine, mfu) for one in ordered), searched


def _of_shape(
    shape: ParallelLayout, model: Model, recipe: Recipe, machine: Machine, mfu: float | None
) -> Iterator[PlannedStrategy]:
    """Of each size of micro-batch what recomputes least and fits; no larger one where nothing does."""
    for ways in search.batches(shape, model, recipe):
        for layout in ways:
            needed = memory.of(model, layout, recipe)
            fits = needed.total * (1 + MARGIN) <= machine.memory_bytes
            if fits or layout is ways[-1]:
                yield _timed(layout, needed, fits, model, recipe, machine, mfu)
                break
        if not fits:
            return


def _timed(
    layout: ParallelLayout,
    needed: Memory,
    fits: bool,
    model: Model,
    recipe: Recipe,
    machine: Machine,
    mfu: float | None,
) -> PlannedStrategy:
    efficiency = EFFICIENCY[1] if mfu is None else step_time.efficiency_of(mfu, layout, machine)
    time = step_time.of(model, layout, recipe, machine, efficiency)
    return PlannedStrategy(
        layout=layout,
        fits=fits,
        memory=needed,
        time=time,
        fastest_s=time.total,
        slowest_s=time.total,
        tokens_per_s=recipe.tokens / time.total,
        mfu=_mfu(model, layout, recipe, machine, time),
    )


def _mfu(model: Model, layout: ParallelLayout, recipe: Recipe, machine: Machine, time: StepTime) -> float:
    flop = model.flop_per_token(recipe.sequence) * recipe.tokens
    return flop / (layout.gpus * machine.peak_flop_per_s * time.total)


def _kind(layout: ParallelLayout) -> tuple[object, ...]:
    """Layouts of a kind differ in numbers only."""
    return (
        layout.strategy,
        layout.tensor > 1,
        layout.context > 1,
        layout.pipeline > 1,
        layout.expert > 1,
    )


def _place(one: PlannedStrategy) -> tuple[float, ...]:
    """What fits before what does not; the fast ones first, those that need least first."""
    if one.fits:
        return (0, one.time.total * (1 + TIE * 0.1 * _effort(one.layout)))
    return (1, one.memory.total)


_EFFORT: Mapping[str, int] = {"none": 0, "ddp": 0, "zero1": 1, "fsdp": 1, "zero2": 2, "hsdp": 2}


def _effort(layout: ParallelLayout) -> int:
    """How much there is to set up: each kind of parallelism, the more the less frameworks do it by themselves."""
    others = (
        2 * (layout.tensor > 1) + 2 * (layout.expert > 1) + 3 * (layout.context > 1) + 3 * (layout.pipeline > 1)
    )
    return _EFFORT[layout.strategy] + others


def _told(
    model: Model,
    one: PlannedStrategy,
    choice: PlannedStrategy,
    recipe: Recipe,
    machine: Machine,
    mfu: float | None,
) -> PlannedStrategy:
    fastest, slowest = step_time.interval(model, one.layout, recipe, machine, mfu)
    if not one.fits:
        reasons = tuple(_too_large(one, machine))
    elif one is choice:
        reasons = tuple(_for(one, machine))
    else:
        reasons = tuple(_slower(one, choice))
    return replace(one, fastest_s=fastest, slowest_s=slowest, reasons=reasons)


def _too_large(one: PlannedStrategy, machine: Machine) -> Iterator[str]:
    needed, there = one.memory.total / 2**30, machine.memory_bytes / 2**30
    names = ("parameters", "gradients", "optimizer", "activations", "logits", "unsharded", "temporaries")
    most = max(names, key=lambda name: int(getattr(one.memory, name)))
    of_most = getattr(one.memory, most) / 2**30
    margin = " with its margin" if needed <= there else ""
    yield f"needs {needed:.1f} GiB{margin}, a GPU has {there:.1f} GiB; most of it: {most}, {of_most:.1f} GiB"


def _for(one: PlannedStrategy, machine: Machine) -> Iterator[str]:
    """The rules that the choice follows."""
    layout, time = one.layout, one.time
    if layout.strategy == "ddp":
        is_whole = layout.gpus == layout.data
        part = "all of the model fits on each GPU" if is_whole else "its part of the model fits on each GPU"
        yield f"{part}, so no parameters have to be gathered"
    if layout.strategy in ("fsdp", "hsdp"):
        share = time.exposed / time.total
        yield f"parameters are split over the ranks; {100 * share:.1f} % of the step waits for communication"
    if layout.strategy == "hsdp":
        yield f"shards of {layout.shard} stay inside a node; only reduced gradients cross the network"
    if layout.tensor > 1:
        seconds = sum(call.seconds for call in time.calls if call.calls.axis == "tensor")
        where = "stays inside a node" if layout.tensor <= machine.gpus else "crosses nodes"
        yield f"tensor parallelism {where}: {format_seconds(seconds)} of a step"
    if layout.pipeline > 1:
        yield f"the bubble of the pipeline takes {100 * time.bubble / time.total:.0f} % of the step"
    if layout.context > 1:
        yield f"each GPU has {_part(layout.context)} of a sequence, whose activations would not fit otherwise"
    if layout.recompute != "none":
        yield f"{layout.recompute} recomputation is the least that fits"


def _part(degree: int) -> str:
    return {2: "half", 4: "a quarter", 8: "an eighth"}.get(degree, f"1/{degree}")


def _slower(one: PlannedStrategy, choice: PlannedStrategy) -> Iterator[str]:
    """The part of the step that costs most more than in the choice."""
    more = one.time.total - choice.time.total
    if abs(more) <= TIE * choice.time.total:
        yield (
            "as fast as the choice, with more to set up"
            if _effort(one.layout) > _effort(choice.layout)
            else ("as fast as the choice")
        )
        return
    parts = {
        "arithmetic": one.time.compute - choice.time.compute,
        "the bubble": one.time.bubble - choice.time.bubble,
        "communication that nothing hides": one.time.exposed - choice.time.exposed,
        "the optimizer": one.time.optimizer - choice.time.optimizer,
    }
    largest = max(parts, key=lambda name: parts[name])
    why = " (recomputation)" if largest == "arithmetic" and one.layout.recompute != "none" else ""
    if largest == "communication that nothing hides":
        costliest = max(one.time.calls, key=lambda call: call.seconds, default=None)
        why = f" (most: {costliest.calls.operation} of {costliest.calls.axis} ranks)" if costliest else ""
    if more > 0:
        yield f"{format_seconds(more)} slower per step: {format_seconds(parts[largest])} of it is {largest}{why}"
    else:
        yield "faster by less than the doubt of the model, with more to set up"
