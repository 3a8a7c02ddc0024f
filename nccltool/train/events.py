"""What the ranks of smoke training runs say in the event stream (nccltool.launch.events)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from nccltool.launch.events import Event
from nccltool.probe.events import SAMPLES_PER_EVENT, MeasuredWorld, Samples
from nccltool.train.result import EnergyUse, ModelShape, RankStarved

RANKS_PER_EVENT = SAMPLES_PER_EVENT * 2 // 5
"""Two numbers of each, and a small one."""
MEMORY_PER_EVENT = 48
"""Four numbers of each, of up to 13 digits."""
PASSES_PER_EVENT = 48
"""Five numbers of each, of which two have up to 13 digits."""
SHARE_OFF = 0.01
"""A micro-batch that is in a gradient with a weight this far from 1 was left out, counted twice or scaled."""
_ODD_SHOWN = 32


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
    micro_batch_norm: str = ""
    """Root mean square of the norms of the gradients of all micro-batches."""
    reference_micro_batch_norm: str = ""
    overflowed: bool = False
    validation_loss: str = ""
    reference_validation_loss: str = ""
    stops: bool = False
    """All ranks have agreed that this step is the last one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    """With which weight each micro-batch is in a gradient: thousands of them, and every rank says it."""

    micro_batches: int
    least: float
    most: float
    odd: int
    """How many are off."""
    shown: tuple[tuple[int, float], ...]
    """Number and weight of the first of those, and of the last one."""

    @classmethod
    def of(cls, weights: Sequence[float], off: float = SHARE_OFF) -> "Shares":
        """`off`: how far from 1 a weight is that counts as such; where rounding moves them, more than that."""
        rounded = [round(weight, 4) for weight in weights]
        odd = [(index, weight) for index, weight in enumerate(rounded) if abs(weight - 1) > off]
        shown = odd if len(odd) <= _ODD_SHOWN else [*odd[: _ODD_SHOWN - 1], odd[-1]]
        return cls(
            micro_batches=len(rounded), least=min(rounded), most=max(rounded), odd=len(odd), shown=tuple(shown)
        )


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
    shares: Shares | None = None
    """With which weight each micro-batch is in the gradient; None when no weights explain it."""


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
    input_ns: int = 0
    """Median over the steps of what the rank waited for its input that waited longest; 0 = synthetic tokens."""
    late_ranks: tuple[tuple[int, float], ...] | None = None
    """(rank, seconds) of those that came late to the backward pass, the latest first; None = not measured."""
    energy: tuple[EnergyUse, ...] = ()
    starved: RankStarved | None = None
    """The rank that lacked a core in the steps in which arrivals were measured."""
    launch_ns: int | None = None
    """How long per step without communication a GPU waits for its host to launch the next kernel; None = no GPU,
    or not known."""
    late_calls_ns: int | None = None
    """How much longer it waits in a step with communication, which hosts launch late."""
    moving_ns: int | None = None
    """How long per step the communication thread that waited longest lacked a core, across all ranks;
    None = not known."""


class MemorySeen(Event, frozen=True, tag="memory-seen"):
    """Rank 0, before TimedSteps: memory after steps that follow each other, of the rank that has most."""

    strategy: str
    step: int
    first: int
    """The first of these steps."""
    bytes: tuple[tuple[int, int, int, int], ...]
    """Allocated, reserved, used on the device, resident; -1 = not known."""

    @classmethod
    def of(cls, strategy: str, step: int, seen: Sequence[tuple[int, int, int, int]]) -> "Iterator[MemorySeen]":
        """In as many events as they need."""
        for first in range(0, len(seen), MEMORY_PER_EVENT):
            some = tuple(seen[first : first + MEMORY_PER_EVENT])
            yield cls(strategy=strategy, step=step, first=first + 1, bytes=some)


class OfRanks(Event, frozen=True, tag="of-ranks"):
    """Rank 0, before TimedSteps: what was measured on each rank, for ranks that follow each other."""

    strategy: str
    step: int
    first: int
    """The first of these ranks."""
    ns: tuple[int, ...]
    """What each took for all steps without synchronisation; empty where it is not known."""
    peak_bytes: tuple[int | None, ...]
    utilization: tuple[int | None, ...] = ()
    """Of its GPU, in thousandths; () = it uses none."""
    slowest_in: tuple[int, ...] = ()
    """In how many steps what each took without synchronisation was the most of all ranks; () = not known."""

    @classmethod
    def of(
        cls,
        strategy: str,
        step: int,
        ns: Sequence[int],
        peak_bytes: Sequence[int | None],
        utilization: Sequence[int | None] = (),
        slowest_in: Sequence[int] = (),
    ) -> "Iterator[OfRanks]":
        """Of all ranks, in as many events as they need."""
        for first in range(0, len(peak_bytes), RANKS_PER_EVENT):
            these = slice(first, first + RANKS_PER_EVENT)
            yield cls(
                strategy=strategy,
                step=step,
                first=first,
                ns=tuple(ns[these]),
                peak_bytes=tuple(peak_bytes[these]),
                utilization=tuple(utilization[these]),
                slowest_in=tuple(slowest_in[these]),
            )


class InputTimed(Event, frozen=True, tag="input-timed"):
    """Rank 0, before TimedSteps: how long ranks that follow each other waited for the input of a step (median)."""

    strategy: str
    step: int
    first: int
    """The first of these ranks."""
    waited_ns: tuple[int, ...]
    stalled_ns: tuple[int | None, ...] = ()
    """Those of them in which storage kept the rank waiting, not a core that it lacked: mean of the steps without
    the longest wait. None = the kernel does not tell; () = an older release."""

    @classmethod
    def of(
        cls, strategy: str, step: int, waited_ns: Sequence[int], stalled_ns: Sequence[int | None]
    ) -> "Iterator[InputTimed]":
        """Of all ranks, in as many events as they need."""
        for first in range(0, len(waited_ns), RANKS_PER_EVENT):
            these = slice(first, first + RANKS_PER_EVENT)
            waited, stalled = tuple(waited_ns[these]), tuple(stalled_ns[these])
            yield cls(strategy=strategy, step=step, first=first, waited_ns=waited, stalled_ns=stalled)


class VariantTried(Event, frozen=True, tag="variant-tried"):
    """Rank 0: a setting of a strategy's overlap was tried; steps follow, then this with `without_sync_ns`."""

    strategy: str
    number: int
    """0 = what was asked for."""
    name: str
    setting: str
    is_exact: bool
    reason: str = ""
    """Why it was not timed."""
    wrong: bool = False
    """Its losses are not those of the reference."""
    without_sync_ns: int | None = None
    """Median of the same steps without communication."""
    exposed_between: tuple[float, float] | None = None
    """95 % interval of the share of a step that is more than theirs, round by round; None = too few rounds."""


class VariantTimed(Event, frozen=True, tag="variant-timed"):
    """Rank 0: nanoseconds of a setting's steps, a stretch of them; those of all settings are in the same order."""

    strategy: str
    number: int
    ns: tuple[int, ...]

    @classmethod
    def of(cls, strategy: str, number: int, ns: Sequence[int]) -> "Iterator[VariantTimed]":
        """In as many events as they need."""
        for first in range(0, len(ns), SAMPLES_PER_EVENT):
            yield cls(strategy=strategy, number=number, ns=tuple(ns[first : first + SAMPLES_PER_EVENT]))


class InputDealt(Event, frozen=True, tag="input-dealt"):
    """Rank 0: the files that are trained with, as they are dealt out."""

    strategy: str
    sequences: int
    epoch_steps: int
    left_out: int


MOST_SHOWN = 16
"""Sequences of a wrong shard that are told."""


class InputWrong(Event, frozen=True, tag="input-wrong"):
    """A rank got other sequences than it should have got, or none."""

    strategy: str
    rank: int
    number: int
    what: str
    got: tuple[int, ...] = ()
    expected: tuple[int, ...] = ()


class Flowed(Event, frozen=True, tag="flowed"):
    """Rank 0: how long all ranks together computed of the time that they were in the timed steps of a pipeline."""

    strategy: str
    ranks: int
    """Of one pipeline."""
    micro_batches: int
    stages: int
    """On each rank."""
    computing_ns: int
    running_ns: int


class Passed(Event, frozen=True, tag="passed"):
    """Rank 0: what a rank of a pipeline computed when, in one more step."""

    strategy: str
    rank: int
    passes: tuple[tuple[int, int, int, int, int], ...]
    """Number of its kind, stage, micro-batch, and nanoseconds to its beginning and its end."""

    @classmethod
    def of(cls, strategy: str, rank: int, passes: Sequence[tuple[int, int, int, int, int]]) -> "Iterator[Passed]":
        """In as many events as they need."""
        for first in range(0, len(passes), PASSES_PER_EVENT):
            yield cls(strategy=strategy, rank=rank, passes=tuple(passes[first : first + PASSES_PER_EVENT]))


class Routed(Event, frozen=True, tag="routed"):
    """Rank 0: how many tokens went to each expert in the compared steps, on all ranks and in all blocks."""

    strategy: str
    tokens: tuple[int, ...]
    choices: int
    """With those that were dropped."""


class NotCompared(Event, frozen=True, tag="not-compared"):
    """A rank had too little memory for the reference."""

    strategy: str
    rank: int
    reason: str


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
    reached: int | None = None
    """The last step before the interruption; None = not known."""
    away_s: float | None = None
    """From then until the checkpoint was loaded, as the clocks of the hosts say."""


class Built(Event, frozen=True, tag="built"):
    """Rank 0: a model was made and spread over the ranks."""

    strategy: str
    shape: ModelShape


class NotTrained(Event, frozen=True, tag="not-trained"):
    """Rank 0: a way to train that cannot be done here."""

    strategy: str
    reason: str
    applies: bool = True
    """Whether it is meant for such a world and installation at all."""


OfTraining = (
    Built
    | TrainedStep
    | Diverged
    | Compared
    | OfRanks
    | MemorySeen
    | TimedSteps
    | VariantTried
    | VariantTimed
    | InputDealt
    | InputTimed
    | InputWrong
    | Flowed
    | Passed
    | Routed
    | NotTrained
    | NotCompared
    | CheckpointSaved
    | Resumed
)
"""Of one strategy."""
OF_TRAININGS: tuple[type[Event], ...] = (MeasuredWorld, Samples, *get_args(OfTraining))
