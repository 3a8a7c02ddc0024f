"""Collectives among the ranks of each node, all nodes at once, each by itself."""

from nccltool.preflight import probe_run
from nccltool.preflight.stages.base import StageContext, StageResult, skipped

NEEDS = ("inventory", "doctor")
_AT_ONCE = 32
"""Each is a command here, and an ssh."""
_ONE_RANK = "one rank on each node: nobody to talk to inside of it"


def about_s(context: StageContext) -> float:
    """How long it takes."""
    part = context.suite.within
    if part is None or _why_not(context):
        return 0.0
    return context.probe_s(part) * -(-len(_nodes(context)) // _at_once(context))


def plan(context: StageContext) -> tuple[str, ...]:
    """What it would do."""
    part = context.suite.within
    assert part is not None
    if why := _why_not(context):
        return (why,)
    first, *more = _nodes(context)
    line = context.call("within", context.probe(part), [first], context.nproc).line
    return (line, *([f"and so on {len(more)} more, {_at_once(context)} at once"] if more else []))


def run(context: StageContext) -> StageResult:
    """Measure, and judge."""
    part = context.suite.within
    assert part is not None
    if why := _why_not(context):
        return skipped("within", why)
    command, nodes = context.probe(part), _nodes(context)
    calls = [
        (context.call(f"within-{_plain(context.hosts[node])}", command, [node], context.nproc), [node])
        for node in nodes
    ]
    ran = context.start("within", calls, _at_once(context))
    judged = [
        outcome
        for one in ran
        for outcome in (
            *probe_run.judged(one, part),
            *context.against_baseline(one),
        )
    ]
    done = [one for one in ran if one.run is not None]
    return StageResult(
        outcomes=tuple(judged),
        runs=tuple(one.folder for one in ran if one.folder),
        measurements=tuple(row for one in done if one.run for row in one.run.measurements)
        if len(done) == 1
        else (),
        info=done[0].run if done else None,
    )


def _nodes(context: StageContext) -> list[int]:
    """Of nodes that are processes of one host, one is enough."""
    first = {context.hosts[node]: node for node in reversed(context.nodes_left())}
    return sorted(first.values())


def _at_once(context: StageContext) -> int:
    return min(_AT_ONCE, len(_nodes(context))) or 1


def _why_not(context: StageContext) -> str:
    return _ONE_RANK if context.nproc == 1 else ""


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
