"""A run of any command as the metrics are taken from it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from nccltool.compare.result import Against
from nccltool.core.documents import RunInfo
from nccltool.core.verdicts import Status
from nccltool.preflight.result import CheckOutcome, HostVerdict, Preflight
from nccltool.probe.result import Measurement, Run
from nccltool.train.result import TrainingResult, TrainRun


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedRun:
    """What metrics are taken from: a run, or what is known of one that did not end in order."""

    command: str
    """That made it, as the label has it."""
    started: float
    """Unix time."""
    status: Status
    info: RunInfo | None = None
    duration_s: float | None = None
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[TrainingResult, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    hosts: tuple[HostVerdict, ...] | None = None
    """None = it was no preflight."""
    baseline: tuple[Against, ...] = ()
    """Its rows, held against a baseline."""

    @property
    def world(self) -> tuple[str, str]:
        """Nodes and ranks, as labels; empty where they are not known."""
        nodes, size = (self.info.nodes, self.info.world_size) if self.info else (None, None)
        return "" if nodes is None else str(nodes), "" if size is None else str(size)

    def brief(self) -> "ExportedRun":
        """That it was, and what came of it: its numbers are too old."""
        return replace(self, measurements=(), trainings=(), checks=(), hosts=None, baseline=())


def exported(run: Run | Preflight, baseline: Iterable[Against] = ()) -> ExportedRun:
    """What metrics are taken from, of a run of any command."""
    started, rows = unix_time(run.info.started), tuple(baseline)
    if isinstance(run, Preflight):
        return ExportedRun(
            command="preflight",
            started=started,
            status=run.verdict.status,
            info=run.info,
            duration_s=run.duration_s,
            measurements=run.measurements,
            trainings=run.trainings,
            checks=run.outcomes,
            hosts=run.hosts,
            baseline=rows,
        )
    return ExportedRun(
        command=run.kind,
        started=started,
        status=run.verdict.status,
        info=run.info,
        duration_s=run.info.duration_s,
        measurements=run.measurements,
        trainings=run.trainings if isinstance(run, TrainRun) else (),
        baseline=rows,
    )


def command_of(run: Run | Preflight) -> str:
    """The command that made a run, as the label has it."""
    return run.kind if isinstance(run, Run) else "preflight"


def unix_time(started: str) -> float:
    """Seconds since 1970 of a time in RFC 3339."""
    return datetime.fromisoformat(started).timestamp()
