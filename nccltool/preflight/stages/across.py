"""Collectives across all nodes; a host that a run names is tested again with another partner."""

from nccltool.preflight import probe_run
from nccltool.preflight.probe_run import ProbePart
from nccltool.preflight.stages.base import StageContext, StageResult, skipped

NEEDS = ("inventory", "doctor", "reach", "within")
STARTS_RANKS = True
PART = probe_run.PART
_ONE_NODE = "with one node, there is no network to test"


def about_s(context: StageContext, part: ProbePart) -> float:
    return part.about_s(context.started()) if len(context.nodes_left()) > 1 else 0.0


def plan(context: StageContext, part: ProbePart) -> tuple[str, ...]:
    several = len(context.nodes_left()) > 1
    return (context.call("across", part.command(context.on_gpus)).line if several else _ONE_NODE,)


def run(context: StageContext, part: ProbePart) -> StageResult:
    if len(context.nodes_left()) < 2:
        return skipped("across", _ONE_NODE if len(context.hosts) < 2 else "fewer than two hosts are left")
    return context.over_all("across", part.command(context.on_gpus), lambda ran: probe_run.judged(ran, part))
