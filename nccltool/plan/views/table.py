"""A plan for people: the answer, why, where memory and time go, and what other strategies would cost."""

from collections.abc import Iterator

from nccltool.core.look import PLAIN, Align, Look
from nccltool.core.notices import INDENT, verdict_line
from nccltool.core.text import counted, escaped
from nccltool.core.units import format_seconds
from nccltool.plan import wording
from nccltool.plan.result import Plan, PlannedStrategy
from nccltool.plan.scaling import PredictedCurve
from nccltool.plan.step_time import CallTime

_SHOWN = 8
_BAR = 40
_HEADERS = ("strategy", "GiB", "step", "tokens/s/GPU", "MFU", "micro-batches", "recompute", "why")
_ALIGN: tuple[Align, ...] = ("left", "right", "right", "right", "right", "right", "left", "left")
_ONLY_VERBOSE = (5, 6)
"""Columns that no screen of 80 has room for."""


def render(plan: Plan, look: Look = PLAIN) -> str:
    shown = plan.choice or plan.strategies[0]
    blocks = (
        list(_verdict(plan, look)),
        [line for finding in plan.findings for line in finding.lines(look)],
        list(_memory(plan, shown, look)),
        list(_time(shown, look)),
        list(_strategies(plan, look)),
        list(_checks(plan, look)),
        *(list(_curve(one, look)) for one in plan.scaling),
    )
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _verdict(plan: Plan, look: Look) -> Iterator[str]:
    yield from verdict_line(look, plan.verdict.status, escaped(wording.headline(plan)))
    lines = [wording.what(plan)]
    if plan.choice:
        lines += [wording.batches(plan, plan.choice), *plan.choice.reasons]
    if told := wording.training(plan):
        lines.append(told)
    for line in lines:
        yield from look.wrapped(f"{INDENT}{escaped(line)}", 2 * INDENT)


def _memory(plan: Plan, one: PlannedStrategy, look: Look) -> Iterator[str]:
    """A bar for each term, on the scale of the GPU."""
    memory, there = one.memory, max(plan.machine.memory_bytes, one.memory.total)
    where = f", rank {memory.pipeline_rank} of the pipeline" if one.layout.pipeline > 1 else ""
    yield f"memory of a GPU, peak at: {memory.instant}{where}"
    sign = "█" if look.unicode else "#"
    for name in wording.TERMS:
        size = getattr(memory, name)
        if size:
            yield f"{INDENT}{name:14} {wording.gib(size):>7} GiB  {sign * round(_BAR * size / there)}".rstrip()
    yield f"{INDENT}{'total':14} {wording.gib(memory.total):>7} GiB of {wording.gib(plan.machine.memory_bytes)}"
    if memory.host:
        yield f"{INDENT}{'host memory':14} {wording.gib(memory.host):>7} GiB for each GPU"


def _time(one: PlannedStrategy, look: Look) -> Iterator[str]:
    time = one.time
    yield f"a step takes {wording.interval(one)}"
    parts = (
        ("arithmetic", time.compute),
        ("bubble", time.bubble),
        ("waiting for communication", time.exposed),
        ("optimizer", time.optimizer),
        ("waiting for PCIe", time.transfer),
    )
    told = ", ".join(f"{name} {format_seconds(seconds)}" for name, seconds in parts if seconds)
    yield from look.wrapped(f"{INDENT}{told}", 2 * INDENT)
    for timed in time.calls:
        yield from look.wrapped(f"{INDENT}{_call(timed)}", 2 * INDENT)


def _call(timed: CallTime) -> str:
    calls, group = timed.calls, timed.group
    where = f"across {group.nodes} nodes" if group.is_across else "inside a node"
    return (
        f"{calls.operation} x {calls.count} of {calls.ranks} {calls.axis} ranks {where}: "
        f"{wording.gib(calls.bytes)} GiB, {format_seconds(timed.seconds)}; {calls.why}"
    )


def _strategies(plan: Plan, look: Look) -> Iterator[str]:
    shown = plan.strategies if look.verbose else plan.strategies[:_SHOWN]
    rows = [_row(plan, one) for one in shown]
    kept = [place for place in range(len(_HEADERS)) if look.verbose or place not in _ONLY_VERBOSE]
    table = look.table(
        [_HEADERS[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        [_ALIGN[place] for place in kept],
        flexible=len(kept) - 1,
    )
    yield from table.split("\n")
    if len(shown) < len(plan.strategies):
        yield f"and {counted(len(plan.strategies) - len(shown), 'other kind')}; -v shows all"
    yield f"{counted(plan.searched, 'layout')} compared"


def _checks(plan: Plan, look: Look) -> Iterator[str]:
    """With -v every figure, else one line for each strategy."""
    if plan.checks is None:
        return
    yield "predicted against counted, in small models that torch trains in the same layout"
    for one in plan.checks:
        yield from look.wrapped(f"{INDENT}{escaped(wording.checked(one))}", 2 * INDENT)
        if look.verbose:
            yield from (
                f"{2 * INDENT}rank {row.rank} {row.what}: {row.predicted} predicted, {row.counted} counted"
                for row in one.rows
            )


def _curve(one: PredictedCurve, look: Look) -> Iterator[str]:
    yield from look.wrapped(escaped(wording.curve(one)), INDENT)
    align: list[Align] = ["right"] * len(wording.SCALING)
    yield from look.table(wording.SCALING, wording.curve_rows(one), align).split("\n")
    yield from look.wrapped(f"{INDENT}{wording.curve_end(one)}", 2 * INDENT)


def _row(plan: Plan, one: PlannedStrategy) -> tuple[str, ...]:
    return (
        one.layout.name,
        wording.gib(one.memory.total),
        format_seconds(one.time.total) if one.fits else "-",
        f"{one.tokens_per_s / plan.gpus:.0f}" if one.fits else "-",
        f"{100 * one.mfu:.0f} %" if one.fits else "-",
        wording.batch(plan, one),
        one.layout.recompute,
        "the choice" if one is plan.choice else "; ".join(one.reasons),
    )
