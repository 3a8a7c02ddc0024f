"""From an order of smoke trainings to a finished run."""

from dataclasses import dataclass

from nccltool.core.run_directory import RunDir
from nccltool.launch import runner
from nccltool.launch.order import LaunchOrder
from nccltool.launch.runner import LaunchOutcome, Progress
from nccltool.probe.result import Run
from nccltool.probe.run import Probe, ProbeBegun
from nccltool.train import document, judge, restarts
from nccltool.train.job import TrainJob
from nccltool.train.result import TrainRun


@dataclass(frozen=True, kw_only=True, slots=True)
class SmokeTrainings(Probe):
    """What to train, and where to keep what came of it."""

    order: LaunchOrder[TrainJob]

    def launched(self, run_dir: RunDir, progress: Progress) -> LaunchOutcome:
        """Start the ranks, anew where one fails if that was asked for, and watch them to their end."""
        start = restarts.run if self.order.max_restarts else runner.run
        return start(self.order, run_dir, progress)

    def judged(self, outcome: LaunchOutcome, begun: ProbeBegun) -> TrainRun:
        """JUDGE what came of it."""
        return judge.judged(outcome, begun)

    def document(self, run: Run) -> str:
        """What is kept of it."""
        assert isinstance(run, TrainRun)
        return document.to_json(run)
