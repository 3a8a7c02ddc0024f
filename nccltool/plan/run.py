"""From an order to a plan."""

from dataclasses import replace

from nccltool.core.documents import begun_now
from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, Subject
from nccltool.core.text import counted
from nccltool.core.verdicts import of_findings
from nccltool.plan import choice, counting_process, search
from nccltool.plan.checked import CheckedStrategy
from nccltool.plan.finding_kinds import NOTHING_FITS, PREDICTION_DIFFERS
from nccltool.plan.layout import impossible
from nccltool.plan.options import PlanOrder
from nccltool.plan.result import Plan, PlannedStrategy

_MOST_GPUS = 2**17


def plan(order: PlanOrder, command: tuple[str, ...]) -> Plan:
    """Raises BadInput if no layout is possible, whatever memory there is."""
    strategies, searched = choice.planned(order.model, order.recipe, order.machine, order.mfu, order.wanted)
    if not strategies:
        raise BadInput(*_why_impossible(order))
    fits = strategies[0].fits
    findings = () if fits else (_nothing_fits(order, strategies[0]),)
    return Plan(
        info=begun_now(command),
        verdict=of_findings(findings),
        findings=findings,
        model=order.model,
        machine=order.machine,
        is_assumed=order.is_assumed,
        recipe=order.recipe,
        gpus=order.wanted.gpus,
        strategies=strategies,
        choice=strategies[0] if fits else None,
        searched=searched,
        tokens=order.tokens,
        scaling=order.scaling,
    )


def with_counts(plan: Plan) -> Plan:
    """The same, and what torch does for each strategy. Raises BadInput where torch is missing."""
    checks = counting_process.check(plan.model, plan.recipe, plan.strategies)
    findings = (*plan.findings, *(_differs(one) for one in checks if one.wrong))
    return replace(plan, checks=checks, findings=findings, verdict=of_findings(findings))


def _differs(one: CheckedStrategy) -> Finding:
    rows = [
        f"{row.what} of pipeline rank {row.rank}: {row.predicted} predicted, {row.counted} counted"
        for row in one.wrong
    ]
    return PREDICTION_DIFFERS.finding(
        subject=Subject(kind="operation", name=one.name),
        message=f"{one.name}: {counted(len(one.wrong), 'figure')} of the plan differs from what torch does",
        evidence=tuple(rows),
        remedy="do not rely on these figures; report the difference with the version of torch",
    )


def _why_impossible(order: PlanOrder) -> tuple[str, str]:
    """The first reason of the simplest shape, and what to change."""
    shapes = search.shapes(order.model, order.wanted, order.recipe.sequence, order.machine.gpus)
    shape = next(iter(shapes), None)
    if shape is None:
        return "no layout has these degrees and strategies", "omit --strategy, or one of --tp, --cp, --pp, --ep"
    micro_batch = order.recipe.micro_batch or 1
    reasons = impossible(replace(shape, micro_batch=micro_batch), order.model, order.recipe)
    reason = next(reasons, "no layout is possible")
    if reason.startswith("--offload"):
        return reason, "omit --offload, or use more data-parallel ranks and one of these strategies"
    return reason, "change a degree, --micro-batch, --step-sequences, or --gpus"


def _nothing_fits(order: PlanOrder, least: PlannedStrategy) -> Finding:
    needed, there = least.memory.total / 2**30, order.machine.memory_bytes / 2**30
    return NOTHING_FITS.finding(
        subject=Subject(kind="run", name=order.model.name),
        message=f"{order.model.name} does not fit on {counted(order.wanted.gpus, 'GPU')} of {there:.1f} GiB: "
        f"{least.layout.name} needs least, {needed:.1f} GiB and a margin of {100 * choice.MARGIN:.0f} %",
        evidence=least.reasons,
        remedy=_remedy(order),
    )


def _remedy(order: PlanOrder) -> str:
    """The smallest number of the same GPUs that does, in whole nodes."""
    more = "GPUs with more memory, or a shorter --sequence"
    enough = order.wanted.gpus
    while (enough := 2 * enough) <= _MOST_GPUS:
        if found := _fitting(order, enough):
            break
    else:
        return f"use {more}".replace(",", "")
    node = order.machine.gpus
    short, enough = enough // 2 // node, -(-enough // node)  # nodes that are too few, and enough
    while enough - short > 1:
        middle = (short + enough) // 2
        if fewer := _fitting(order, middle * node):
            enough, found = middle, fewer
        else:
            short = middle
    return f"use --gpus {found.layout.gpus} ({found.layout.name} fits), {more}"


def _fitting(order: PlanOrder, gpus: int) -> PlannedStrategy | None:
    """What fits on so many GPUs, with a batch that they can share."""
    batch = max(order.recipe.global_batch, gpus)
    recipe = replace(order.recipe, global_batch=-(-batch // gpus) * gpus)
    wanted = replace(order.wanted, gpus=gpus)
    there, _ = choice.planned(order.model, recipe, order.machine, order.mfu, wanted)
    return there[0] if there and there[0].fits else None
