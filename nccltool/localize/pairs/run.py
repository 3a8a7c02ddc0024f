"""From an order of pairs to a finished run: measure, judge, save."""

from dataclasses import dataclass

from nccltool.core.run_directory import RunDir
from nccltool.hosts import differences
from nccltool.launch import runner
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome, Progress
from nccltool.localize import accusations, document
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.pairs import isolated, units
from nccltool.localize.pairs.job import PairsJob
from nccltool.localize.pairs.state import PairsState
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
    nodes = names(state, spec.is_within)
    localization = judge(
        encounters,
        nodes=nodes,
        expected_busbw_bytes_per_s=spec.expected_busbw_bytes_per_s,
        topology=spec.topology,
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
            *accusations.disturbed(encounters, spec.topology),
            *accusations.topology_unused(spec.topology, () if spec.is_within else nodes),
            *(differences.compare(snapshots) if len(snapshots) > 1 else ()),
        ),
        interrupted=outcome.interrupted,
    )


def names(state: RunState, is_within: bool) -> tuple[str, ...]:
    """Those that were to meet, as far as their ranks were heard of."""
    if isinstance(state.product, PairsState) and state.product.nodes:
        return state.product.nodes
    facts = [rank.facts for _, rank in sorted(state.ranks.items()) if rank.facts]
    if len(facts) < state.world_size:
        return ()
    nodes = units.of_nodes(facts)
    return tuple(unit.name for unit in (units.within(nodes) if is_within else nodes))
