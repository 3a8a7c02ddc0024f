"""From an order to a finished run: make the run directory, run, judge, save."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from nccltool import __version__, fit, judge, plan, runner
from nccltool.errors import RunDirError
from nccltool.jobs import Order
from nccltool.launchers import local
from nccltool.model import Finding, Run, RunInfo, Subject
from nccltool.runs import RunDir
from nccltool.units import format_bytes
from nccltool.watch import RunState


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What to run, where to keep it, and what to expect of it."""

    order: Order
    runs_folder: Path
    min_busbw_gb_per_s: float | None
    command: Sequence[str]

    def run(self, progress: runner.Progress) -> tuple[Run, Path]:
        """Do it: (the run, its folder). Raises RunDirError before anything is started."""
        started = datetime.now(UTC)
        job = self.order.job
        run_dir = RunDir(self.runs_folder, job)
        outcome = runner.run(self.order, local.commands(job), run_dir, progress)
        began = f"{started:%Y-%m-%dT%H:%M:%SZ}"
        run = self._judged(outcome, began)
        try:
            run_dir.finish(run)
        except RunDirError as error:  # what was measured is shown all the same
            if not any(finding.code == "run-dir-full" for finding in run.findings):
                full = runner.run_dir_full(error, "the result could not be saved")
                run = self._judged(replace(outcome, findings=(*outcome.findings, full)), began)
        finally:
            run_dir.close()
        return run, run_dir.path

    def _judged(self, outcome: runner.Outcome, started: str) -> Run:
        state = outcome.state
        measurements = state.measurements()
        ops = state.job.ops if state.everybody_left else ()  # what a fault cut off is no open question
        findings = (
            *outcome.findings,
            *judge.below(measurements, ops, self.min_busbw_gb_per_s),
            *fit.dips(measurements),
            *_left_out(state),
        )
        if not self.order.leads:
            verdict = judge.followed(findings, outcome.interrupted)
        else:
            verdict = judge.verdict(measurements, findings, outcome.interrupted)
        return Run(
            info=_info(state, self.command, started),
            verdict=verdict,
            measurements=measurements,
            findings=findings,
            models=fit.models(measurements),
        )


def _left_out(state: RunState) -> tuple[Finding, ...]:
    world = state.world
    if world is None:
        return ()
    return tuple(
        Finding(
            code="left-out",
            severity="info",
            subject=Subject(kind="operation", name=out.op),
            message=f"{out.op}{_at(out.nominal_bytes)} was left out: {out.reason}",
        )
        for out in plan.left_out(state.job, world.backend, world.world_size)
    )


def _at(size: int | None) -> str:
    return "" if size is None else f" at {format_bytes(size)}"


def _info(state: RunState, command: Sequence[str], started: str) -> RunInfo:
    facts = [rank.facts for rank in state.ranks.values() if rank.facts]
    world = state.world
    nodes = {rank.node_rank for rank in state.ranks.values()}
    return RunInfo(
        id=state.job.run_id,
        started=started,
        command=tuple(command),
        nccltool=__version__,
        torch=facts[0].torch if facts else _installed_torch(),
        backend=world.backend if world else None,
        backend_version=world.backend_version if world else None,
        backend_reason=world.backend_reason if world else None,
        nodes=state.job.nodes or len(nodes) or None,
        emulated=world.emulated if world else state.job.emulated,
        world_size=world.world_size if world else state.expected_ranks,
        hosts=tuple(dict.fromkeys(rank.host for _, rank in sorted(state.ranks.items()))),
        limit_source=world.limit_source if world else None,
        limit_unknown_reason=world.limit_unknown_reason if world else None,
    )


def _installed_torch() -> str | None:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def this_command() -> tuple[str, ...]:
    """The command line as the user typed it, without the interpreter's path."""
    words = (word.encode(errors="replace").decode() for word in sys.argv[1:])  # a word may not be UTF-8
    return ("nccltool", *words)
