"""What the comparison with one process says of a rank, and what it makes of memory that is too little for it."""

import math
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nccltool.launch.events import Event, Reported
from nccltool.train.events import Compared, Diverged, NotCompared, TrainedStep
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import CALLS, ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import strategies
from nccltool.worker.train.comparison import ReferenceComparison, as_integers, from_integers
from nccltool.worker.train.reference import Reference, TensorDifference
from nccltool.worker.train.strategies.base import Setup, Strategy
from tests.worker.train.conftest import CPU, SPEC

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

FLOAT32 = replace(SPEC, dtype="float32", steps=2)


class Said:
    """What a rank says, as the runner reads it."""

    def __init__(self, spec: TrainSpec) -> None:
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        self.tools = RankTools(CPU, ProgressPage(), Channel(self._write_fd, None), FaultInjector(None, 0))
        self._reader = TrainJob(run_id="", train=spec).new_state().reader

    def events(self) -> list[Event]:
        lines = os.read(self._read_fd, 1 << 16).splitlines()
        return [event for line in lines if (event := self._reader.decode(line)) is not None]

    def close(self) -> None:
        os.close(self._read_fd)
        os.close(self._write_fd)


@pytest.fixture
def said(setup: Setup) -> Iterator[Said]:
    heard = Said(FLOAT32)
    yield heard
    heard.close()


def trained(said: Said, spec: TrainSpec = FLOAT32) -> Strategy:
    return strategies.build(Setup("ddp", spec, said.tools))


def test_a_checkpoint_of_a_later_step_belongs_to_the_last_step_of_its_strategy(said: Said) -> None:
    strategy = trained(said)
    with torch.no_grad():
        next(iter(strategy.model.parameters())).add_(1.0)
    comparison = ReferenceComparison(strategy, base=3)
    assert comparison.begin(0)
    assert comparison.only_parameters(9) == "wrong"
    (event,) = said.events()
    assert isinstance(event, Diverged)
    assert (event.step, event.number) == (4, 9)


def test_the_reference_ticks_at_each_micro_batch(said: Said) -> None:
    spec = replace(FLOAT32, options={"accumulate": 4})
    strategy = trained(said, spec)
    reference = ReferenceComparison(strategy, base=0)
    assert reference.begin(0)
    said.tools.slot.phase("comparing")
    reference._reference.forward_backward(strategy.setup.tokens(1))
    assert said.tools.slot.words[CALLS] == 2 * 4


def test_a_step_is_held_against_the_reference(said: Said) -> None:
    comparison = ReferenceComparison(trained(said), base=0)
    assert comparison.begin(1)  # of which one step was in a checkpoint
    comparison = ReferenceComparison(trained(said), base=0)
    assert comparison.begin(0)
    assert [comparison.step(number) for number in (1, 2)] == ["right", "right"]
    comparison.report_end()
    assert [type(event) for event in said.events()] == [TrainedStep, TrainedStep, Compared]


class NoMemory(Reference):
    """Runs out of memory where it was told to."""

    error: BaseException = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")

    def gradients(self, strategy: Strategy, number: int) -> TensorDifference:
        raise self.error


class NoMemoryForShares(Reference):
    """Finds something, and has no memory left to explain it."""

    def shares(self, strategy: Strategy, tokens: Tensor, number: int) -> list[float] | None:
        raise NoMemory.error


class OldCpu(NoMemory):
    """As torch says it on CPUs."""

    error = RuntimeError(
        "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory"
    )


class Broken(NoMemory):
    """Another failure."""

    error = RuntimeError("CUDA error: an illegal memory access was encountered")


def with_reference(kind: type[Reference], strategy: Strategy) -> ReferenceComparison:
    comparison = ReferenceComparison(strategy, base=0)
    assert comparison.begin(0)
    comparison._made = kind(strategy.setup, strategy.micro_batches, comparison._allowed)
    return comparison


@pytest.mark.parametrize("kind", [NoMemory, OldCpu])
def test_memory_that_ends_in_the_reference_is_no_fault_of_the_strategy(said: Said, kind: type[NoMemory]) -> None:
    assert with_reference(kind, trained(said)).step(1) == "not compared"
    finding, event = said.events()
    assert isinstance(event, NotCompared)
    assert event.reason == f"rank 0 ran out of memory in the reference: {kind.error}"
    assert isinstance(finding, Reported)
    assert finding.finding.code == "not-compared"
    assert finding.finding.message == f"ddp was not compared with the reference: {event.reason}"


def test_another_failure_is_not_taken_for_it(said: Said) -> None:
    with pytest.raises(RuntimeError, match="illegal memory access"):
        with_reference(Broken, trained(said)).step(1)


def test_what_was_found_is_said_although_memory_ends_then(said: Said) -> None:
    strategy = trained(said)
    comparison = with_reference(NoMemoryForShares, strategy)
    with torch.no_grad():
        list(strategy.model.parameters())[-1].mul_(1.01)
    assert comparison.step(1) == "wrong"
    assert [type(event) for event in said.events()] == [Reported, NotCompared, Diverged]


def test_a_reference_that_has_no_room_is_not_begun(said: Said) -> None:
    strategy = trained(said, replace(FLOAT32, batch=10**9))
    assert not ReferenceComparison(strategy, base=0).begin(0)
    finding, event = said.events()
    assert isinstance(event, NotCompared)
    assert event.reason.startswith("ddp and its reference need 43008.0 GB of memory, but rank 0 has ")
    assert isinstance(finding, Reported)
    assert finding.finding.evidence[0].startswith("the strategy's own gradients, optimizer, and activations ")


def test_losses_of_all_ranks_come_together_as_the_largest_integers() -> None:
    """Each rank saw some of the micro-batches; the third one had no number, and nobody saw the last one."""
    ranks = [as_integers(seen, 5) for seen in ({0: 5.5, 1: -0.0}, {1: 0.0, 2: -math.nan}, {2: 7.0, 3: math.inf})]
    losses = from_integers([max(column) for column in zip(*ranks, strict=True)])
    assert losses[:2] == [5.5, 0.0]
    assert [math.isnan(loss) for loss in losses] == [False, False, True, False, True]
    assert losses[3] == math.inf
