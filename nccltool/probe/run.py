"""From an order to a finished run: make the run directory, run, judge, save."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from nccltool import __version__
from nccltool.core import run_directory
from nccltool.core.documents import RunInfo, now
from nccltool.core.errors import RunDirError
from nccltool.core.findings import Finding
from nccltool.core.run_directory import RunDir
from nccltool.core.text import named
from nccltool.core.verdicts import of_findings, of_own_ranks, warned
from nccltool.hosts import differences
from nccltool.launch import runner
from nccltool.launch.events import RankFacts
from nccltool.launch.finding_kinds import COMMAND_STOPPED, PLUGIN_FAILED, RUN_DIR_FULL
from nccltool.launch.job import Job
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.launch.order import LaunchOrder
from nccltool.launch.printed_events import Begun, StreamEnd, Teller, ToldRunDir
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.probe import document, late_findings, latency_model, plan
from nccltool.probe import judge as probe_judge
from nccltool.probe.events import MeasuredWorld
from nccltool.probe.job import ProbeJob
from nccltool.probe.result import Measurement, Run
from nccltool.probe.state import ProbeState
from nccltool.triage import failed_run


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeBegun(Begun):
    """What a command knows when it begins, and what its numbers are to be held against."""

    min_busbw_gb_per_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What to run, where to keep it, and what to expect of it."""

    order: LaunchOrder[Job]
    runs_folder: Path
    min_busbw_gb_per_s: float | None
    command: Sequence[str]
    tell: Callable[[str], None] | None = None
    """Prints a line of the event stream; None = it is not asked for."""

    def run(self, progress: runner.Progress) -> tuple[Run, Path]:
        """Do it: (the run, its folder). Raises RunDirError before anything is started."""
        job, begun = self.order.job, self._begun()
        teller = None if self.tell is None else Teller(self.tell, job.run_id, begun.part)
        run_dir = (
            run_dir_of(self.runs_folder, job) if teller is None else ToldRunDir(self.runs_folder, begun, teller)
        )
        if teller is not None:
            teller.begin(begun)
        begin = time.monotonic()
        outcome = self.launched(run_dir, progress)
        outcome = replace(outcome, duration_s=round(time.monotonic() - begin, 3))
        run = self.judged(outcome, begun)
        if begun.leads and (said := _in_logs(run, run_dir.path)):
            known = sum(finding in outcome.findings for finding in run.findings)  # the judge's own are behind them
            run = replace(run, findings=(*run.findings[:known], *said, *run.findings[known:]))
            outcome = replace(outcome, findings=(*outcome.findings, *said))
        try:
            run_dir.finish(self.document(run))
        except RunDirError as error:  # what was measured is shown all the same
            if not any(finding.kind is RUN_DIR_FULL for finding in run.findings):
                full = runner.run_dir_full(error, "the result could not be saved")
                outcome = replace(outcome, findings=(*outcome.findings, full))
                run = self.judged(outcome, begun)
        finally:
            run_dir.close()
        if teller is not None:
            with contextlib.suppress(RunDirError):  # then it was so before, and the run was ended for it
                teller.end(_ended(outcome))
        return run, run_dir.path

    def launched(self, run_dir: RunDir, progress: runner.Progress) -> LaunchOutcome:
        """Start the ranks, and watch them to their end."""
        return runner.run(self.order, run_dir, progress)

    def judged(self, outcome: LaunchOutcome, begun: ProbeBegun) -> Run:
        return judged(outcome, begun)

    def document(self, run: Run) -> str:
        return document.to_json(run)

    def with_findings(self, run: Run, folder: Path, more: Sequence[Finding]) -> Run:
        """With warnings that came after its end; in its document too, unless that cannot be written."""
        run = replace(run, verdict=warned(run.verdict), findings=(*run.findings, *more))
        with contextlib.suppress(RunDirError):
            run_directory.keep(folder, self.document(run))
        return run

    def _begun(self) -> ProbeBegun:
        job, leads = self.order.job, self.order.leads
        parts = 1 if len(job.node_ranks) == job.nodes else job.nodes
        if not job.node_ranks:  # inside a launcher's job, every rank is a command
            parts = self.order.ranks_seen if leads else None
        return ProbeBegun(
            job=job,
            leads=leads,
            part=job.node_ranks[0] if job.node_ranks else self.order.part,
            parts=parts,
            ranks_seen=self.order.ranks_seen,
            command=tuple(self.command),
            started=now(),
            nccltool=__version__,
            torch=_installed_torch(),
            min_busbw_gb_per_s=self.min_busbw_gb_per_s,
        )


def _in_logs(run: Run, folder: Path) -> tuple[Finding, ...]:
    """What logs say of its failure; of a command that was stopped, or of a plug-in, they would blame a rank."""
    if any(finding.kind in (COMMAND_STOPPED, PLUGIN_FAILED) for finding in run.findings):
        return ()
    return failed_run.findings(run.info, run.verdict, run.findings, folder)


def _ended(outcome: LaunchOutcome) -> StreamEnd:
    return StreamEnd(
        duration_s=outcome.duration_s,
        findings=outcome.findings,
        interrupted=outcome.interrupted,
        nodes=outcome.state.job.nodes,
        ranks_seen=outcome.state.expected_ranks,
    )


def judged(outcome: LaunchOutcome, begun: ProbeBegun) -> Run:
    state = outcome.state
    job, measured = state.job, state.product
    assert isinstance(job, ProbeJob)
    assert isinstance(measured, ProbeState)
    measurements = measured.measurements()
    ops = job.ops if state.everybody_left else ()  # what a fault cut off is no open question
    world_sizes = [len(group.ranks) for group in measured.groups] or [state.world_size]
    snapshots = [facts for _, facts in sorted(state.snapshots.snapshots.items())]
    findings = (
        *outcome.findings,
        *probe_judge.below(measurements, ops, begun.min_busbw_gb_per_s),
        *_late(measurements, state),
        *latency_model.dips(measurements),
        *(differences.compare(snapshots) if len(snapshots) > 1 else ()),
        *(plan.left_out(job, state.world.backend, world_sizes) if state.world else ()),
    )
    verdict = of_own_ranks(findings, interrupted=outcome.interrupted)
    if begun.leads:
        verdict = of_findings(findings, interrupted=outcome.interrupted, can_tell=bool(measurements))
    return Run(
        info=info(outcome, begun, job.cuda_graph),
        verdict=verdict,
        measurements=measurements,
        findings=findings,
        models=latency_model.models(measurements),
        groups=measured.groups,
    )


def _late(rows: Sequence[Measurement], state: RunState) -> tuple[Finding, ...]:
    """Of each group by itself: a rank can be late in the rows of its own only."""
    of_groups: dict[str, list[Measurement]] = {}
    for row in rows:
        of_groups.setdefault(row.group.name if row.group else "", []).append(row)
    return tuple(
        finding
        for mine in of_groups.values()
        for finding in late_findings.of_rows((row.late_ranks for row in mine), state)
    )


def info(outcome: LaunchOutcome, begun: Begun, cuda_graph: bool) -> RunInfo:
    state = outcome.state
    facts = [rank.facts for _, rank in sorted(state.ranks.items()) if rank.facts]
    counts = set(Counter(each.node_rank if each.node_rank >= 0 else each.host for each in facts).values())
    world = state.world
    measured = world if isinstance(world, MeasuredWorld) else None
    nodes = {rank.node_rank if rank.node_rank >= 0 else rank.host for rank in state.ranks.values()}
    return RunInfo(
        id=state.job.run_id,
        started=begun.started,
        command=begun.command,
        nccltool=begun.nccltool,
        torch=facts[0].torch if facts else begun.torch,
        backend=world.backend if world else None,
        backend_version=world.backend_version if world else None,
        backend_reason=world.backend_reason if world else None,
        nodes=state.job.nodes or len(nodes) or None,
        emulated=world.emulated if world else state.job.emulated,
        world_size=state.world_size,
        hosts=tuple(
            dict.fromkeys([rank.host for _, rank in sorted(state.ranks.items())] or sorted(state.hosts_met))
        ),
        limit_source=measured.limit_source if measured else None,
        limit_unknown_reason=measured.limit_unknown_reason if measured else None,
        transport=measured.transport if measured else None,
        nics=measured.nics if measured else None,
        gpu="" if world and world.backend == "gloo" else _gpus(facts),
        ranks_per_node=counts.pop() if len(counts) == 1 else None,
        cuda_graph=cuda_graph,
        set_in_ranks=world.set_in_ranks if world else (),
        duration_s=outcome.duration_s,
        rows_planned=world.steps if world and isinstance(state.product, ProbeState) else None,
    )


def _gpus(ranks: Sequence[RankFacts]) -> str | None:
    """Models of the GPUs; empty = the ranks have none."""
    if not ranks or any(facts.gpu and not facts.gpu_name for facts in ranks):
        return None
    return named(sorted({facts.gpu_name for facts in ranks if facts.gpu_name}), 8)


def _installed_torch() -> str | None:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
