"""What the ranks of smoke trainings say in the event stream (nccltool.launch.events)."""

from typing import get_args

from nccltool.launch.events import Event
from nccltool.probe.events import MeasuredWorld, Samples


class TrainedStep(Event, frozen=True, tag="trained-step"):
    """Rank 0: a step of a smoke training has been held against the reference. Numbers are texts: some are nan."""

    step: int
    strategy: str
    number: int
    loss: str
    reference_loss: str
    gradient_norm: str
    reference_gradient_norm: str
    ns: int
    overflowed: bool = False


class Diverged(Event, frozen=True, tag="diverged"):
    """A rank's part of a training is not that of the reference."""

    rank: int
    step: int
    strategy: str
    number: int
    what: str
    got: str
    expected: str
    error: str
    tolerance: float
    shares: tuple[float, ...] = ()
    """With which weight each micro-batch is in the gradient; empty when no weights explain it."""


class Compared(Event, frozen=True, tag="compared"):
    """A rank has done the steps that are held against the reference."""

    rank: int
    strategy: str
    micro_batches: int
    errors: tuple[tuple[str, str, float], ...]
    """What, the largest relative error of it, its tolerance."""
    rule: str


class TimedSteps(Event, frozen=True, tag="timed-steps"):
    """Rank 0: the timed steps of a training are done; their samples have been sent."""

    step: int
    strategy: str
    sequences: int
    tokens: int
    without_sync_ns: int | None
    alone_ns: int | None
    rank_ns: tuple[int, ...]
    """What each rank took for all steps without synchronisation."""
    peak_bytes: tuple[int | None, ...]


class Flowed(Event, frozen=True, tag="flowed"):
    """Rank 0: how long each rank computed of the time that it was in the timed steps of a pipeline."""

    strategy: str
    ranks: int
    """Of one pipeline."""
    micro_batches: int
    stages: int
    """On each rank."""
    computing_ns: tuple[int, ...]
    running_ns: tuple[int, ...]


class CheckpointSaved(Event, frozen=True, tag="checkpoint-saved"):
    """Rank 0: a checkpoint of a training is whole."""

    strategy: str
    number: int
    bytes: int
    ns: int


class Resumed(Event, frozen=True, tag="resumed"):
    """Rank 0: a training goes on from a checkpoint."""

    strategy: str
    number: int
    """The step that is in it."""
    folder: str
    ranks_then: int
    sequences: int
    ns: int


class NotTrained(Event, frozen=True, tag="not-trained"):
    """Rank 0: a way to train that cannot be done here."""

    strategy: str
    reason: str


OfTraining = TrainedStep | Diverged | Compared | TimedSteps | Flowed | NotTrained | CheckpointSaved | Resumed
"""Of one strategy."""
OF_TRAININGS: tuple[type[Event], ...] = (MeasuredWorld, Samples, *get_args(OfTraining))
