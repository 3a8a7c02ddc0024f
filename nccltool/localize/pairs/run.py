"""From an order of pairs to a finished run: measure, judge, save."""

from dataclasses import dataclass

from nccltool.core.findings import Finding
from nccltool.core.host_lists import briefly
from nccltool.core.run_directory import RunDir
from nccltool.core.text import counted
from nccltool.hosts import differences
from nccltool.launch import runner
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome, Progress
from nccltool.localize import accusations, document
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.pairs import isolated, rounds, units
from nccltool.localize.pairs.job import PairsJob, PairSpec
from nccltool.localize.pairs.state import PairsState
from nccltool.localize.pairs.units import MeetingUnit
from nccltool.probe.result import Run
from nccltool.probe.run import Probe, ProbeBegun, info


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs(Probe):
    """What to measure, and where to keep what came of it."""

    order: LaunchOrder[PairsJob]

    def launched(self, run_dir: RunDir, progress: Progress) -> LaunchOutcome:
        start = isolated.run if self.order.job.pairs.is_isolated else runner.run
        return start(self.order, run_dir, progress)

    def judged(self, outcome: LaunchOutcome, begun: ProbeBegun) -> LocalizedRun:
        return judged(outcome, begun)

    def document(self, run: Run) -> str:
        assert isinstance(run, LocalizedRun)
        return document.to_json(run)


def judged(outcome: LaunchOutcome, begun: ProbeBegun) -> LocalizedRun:
    from nccltool.localize.judge import judge  # numpy, scipy

    state, job = outcome.state, begun.job
    assert isinstance(job, PairsJob)
    assert isinstance(state.product, PairsState)
    encounters, spec = tuple(state.product.encounters), job.pairs
    who = met(state, spec)
    nodes = tuple(unit.name for unit in who) or state.product.nodes
    topology = rounds.known(spec, who).of(nodes)
    localization = judge(
        encounters,
        nodes=nodes,
        expected_busbw_bytes_per_s=spec.expected_busbw_bytes_per_s,
        topology=topology,
    )
    snapshots = [facts for _, facts in sorted(state.snapshots.snapshots.items())]
    return accusations.localized(
        info(outcome, begun, cuda_graph=False),
        encounters,
        localization,
        kind="pairs",
        expected_busbw_bytes_per_s=spec.expected_busbw_bytes_per_s,
        others=(
            *outcome.findings,
            *accusations.disturbed(encounters, topology),
            *_left_out(state, spec),
            *accusations.topology_used(topology, () if spec.is_within else nodes),
            *(differences.compare(snapshots) if len(snapshots) > 1 else ()),
        ),
        interrupted=outcome.interrupted,
        is_within=spec.is_within,
        nodes=nodes,
    )


def met(state: RunState, spec: PairSpec) -> tuple[MeetingUnit, ...]:
    """Those that were to meet, as far as their ranks were heard of."""
    return units.meeting(nodes, spec) if (nodes := _nodes(state)) else ()


def _nodes(state: RunState) -> tuple[MeetingUnit, ...]:
    facts = [rank.facts for _, rank in sorted(state.ranks.items()) if rank.facts]
    return () if len(facts) < max(state.world_size, 1) else units.of_nodes(facts)


def _left_out(state: RunState, spec: PairSpec) -> tuple[Finding, ...]:
    """Ranks that had none to send to."""
    nodes, met_there = _nodes(state), met(state, spec)
    more = [node.name for node, unit in zip(nodes, met_there, strict=False) if len(node.ranks) > len(unit.ranks)]
    if spec.is_within or not more:
        return ()
    each = counted(len(met_there[0].ranks), "rank")
    note = f"{each} of each node took part, because not all nodes have more; the others of {briefly(more)} did not"
    return (accusations.left_out(note),)
