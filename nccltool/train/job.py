"""Smoke trainings, as they cross to the workers."""

from dataclasses import dataclass

from nccltool.launch.job import Job
from nccltool.train.spec import TrainSpec
from nccltool.train.state import TrainState


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainJob(Job):
    """What to train, and where."""

    kind: str = "train"
    train: TrainSpec

    def new_state(self) -> TrainState:
        """Nothing was trained yet."""
        return TrainState()
