"""Collectives over all nodes; a host that a run names is tested again with another partner."""

from collections.abc import Sequence

from nccltool.preflight import probe_run
from nccltool.preflight.result import CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.stages.base import StageContext, StageResult, skipped

NEEDS = ("inventory", "doctor", "reach", "within")
_ONE_NODE = "one node: nothing is between nodes"


def about_s(context: StageContext) -> float:
    """How long it takes."""
    part = context.suite.across
    return 0.0 if part is None or len(context.nodes_left()) < 2 else context.probe_s(part)


def plan(context: StageContext) -> tuple[str, ...]:
    """What it would do."""
    part, nodes = context.suite.across, context.nodes_left()
    assert part is not None
    return (
        context.call("across", context.probe(part), nodes, context.nproc).line if len(nodes) > 1 else _ONE_NODE,
    )


def run(context: StageContext) -> StageResult:
    """Measure, and judge."""
    part, nodes = context.suite.across, context.nodes_left()
    assert part is not None
    if len(nodes) < 2:
        return skipped("across", _ONE_NODE if len(context.hosts) < 2 else "fewer than two hosts are left")
    command = context.probe(part)

    def judged(ran: StageRun) -> Sequence[CheckOutcome]:
        return tuple(probe_run.judged(ran, part))

    (ran,) = context.start("across", [(context.call("across", command, nodes, context.nproc), nodes)])
    outcomes, more = context.with_second_tests("across", command, nodes, judged(ran), judged)
    return StageResult(
        outcomes=(*outcomes, *context.against_baseline(ran)),
        runs=tuple(one.folder for one in (ran, *more) if one.folder),
        measurements=ran.run.measurements if ran.run else (),
        info=ran.run,
    )
