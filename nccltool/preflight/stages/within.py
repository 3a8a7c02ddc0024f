"""Collectives among the ranks of each node, all nodes at once, each by itself."""

import re
from dataclasses import replace

from nccltool.preflight import probe_run
from nccltool.preflight.probe_run import ProbePart
from nccltool.preflight.stages.base import StageContext, StageResult, skipped

NEEDS = ("inventory", "doctor")
STARTS_RANKS = True
PART = probe_run.PART
_AT_ONCE = 32
"""Each is a command here, and an ssh."""
_ONE_RANK = "with one rank per node, there is no communication within a node"


def about_s(context: StageContext, part: ProbePart) -> float:
    nodes = _nodes(context)
    if context.nproc == 1 or not nodes:
        return 0.0
    return part.about_s(context.started(nodes[:1])) * -(-len(nodes) // _at_once(len(nodes)))


def plan(context: StageContext, part: ProbePart) -> tuple[str, ...]:
    if context.nproc == 1:
        return (_ONE_RANK,)
    first, *more = _nodes(context)
    line = context.call("within", part.command(context.on_gpus), [first]).line
    return (line, *([f"the same on {len(more)} more, {_at_once(len(more) + 1)} at a time"] if more else []))


def run(context: StageContext, part: ProbePart) -> StageResult:
    if context.nproc == 1:
        return skipped("within", _ONE_RANK)
    command, nodes = part.command(context.on_gpus), _nodes(context)
    labels = {node: re.sub(r"[^\w-]", "_", context.hosts[node]) for node in nodes}
    calls = [context.call(f"within-{labels[node]}", command, [node]) for node in nodes]
    ran = context.start("within", calls, _at_once(len(nodes)))
    outcomes = (
        outcome for one in ran for outcome in (*probe_run.judged(one, part), *context.against_baseline(one))
    )
    done = [one.run for one in ran if one.run is not None]
    told = replace(done[0], measurements=()) if len(done) > 1 else next(iter(done), None)
    return StageResult(outcomes=tuple(outcomes), runs=tuple(one.folder for one in ran if one.folder), run=told)


def _nodes(context: StageContext) -> list[int]:
    """Of nodes that are processes of one host, one is enough."""
    first = {context.hosts[node]: node for node in reversed(context.nodes_left())}
    return sorted(first.values())


def _at_once(count: int) -> int:
    return min(_AT_ONCE, count) or 1
