"""How long a GPU waits for launches, by the clocks of a host and a device."""

import pytest

from nccltool.worker.probe.clocks import QueueClock
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.train import launches
from nccltool.worker.train.launches import LaunchWaits
from nccltool.worker.train.strategies.base import Setup

pytestmark = pytest.mark.torch


class Machine:
    """A host and a device: the host needs some time for a launch, the device for a kernel."""

    def __init__(self, launch_ns: int, kernel_ns: int) -> None:
        self.now, self.free, self.steps = 0, 0, 0
        self.disturbed: tuple[int, ...] = ()
        self._launch_ns, self._kernel_ns = launch_ns, kernel_ns

    def queued(self, ns: int) -> None:
        self.free = max(self.free, self.now) + ns

    def step(self) -> None:
        self.steps += 1
        for _ in range(10):
            self.now += self._launch_ns * (20 if self.steps in self.disturbed else 1)
            self.queued(self._kernel_ns)

    # a Stream

    def mark(self) -> "Mark":
        return Mark(self, max(self.free, self.now))

    def spin(self, ticks: int) -> None:
        self.queued(ticks)

    def meet(self) -> None:
        pass


class Mark:
    """A StreamMark."""

    def __init__(self, machine: Machine, ns: int) -> None:
        self._machine, self.ns = machine, ns

    def query(self) -> bool:
        return self.ns <= self._machine.now

    def synchronize(self) -> None:
        self._machine.now = max(self._machine.now, self.ns)

    def elapsed_time(self, later: "Mark") -> float:
        return (later.ns - self.ns) / 1e6


def alike(numbers: list[int]) -> list[int]:
    """Of ranks that are equally fast."""
    return numbers


def _nobody() -> None:
    """No other rank to meet."""


@pytest.mark.parametrize(
    ("launch_ns", "kernel_ns", "waited_ns"),
    [
        (10_000, 2_000, 82_000),
        (10_000, 10_000, 10_000),
        (5_000, 100_000, 5_000),
        (10_000, 0, 100_000),
        (20_000_000, 1_000_000, 191_000_000),
    ],
    ids=["launch-bound", "even", "bound by the GPU", "nothing to compute", "a slow host"],
)
def test_what_queuing_a_step_ahead_saves(launch_ns: int, kernel_ns: int, waited_ns: int) -> None:
    machine = Machine(launch_ns, kernel_ns)
    clock = QueueClock(machine, ProgressPage(), now=lambda: machine.now)
    assert launches.between(clock, machine.step, alike, _nobody) == waited_ns


@pytest.mark.parametrize("disturbed", [(2,), (4, 5), (1, 2, 6)])
def test_a_host_that_is_disturbed_hides_no_wait(disturbed: tuple[int, ...]) -> None:
    machine = Machine(10_000, 2_000)
    machine.disturbed = disturbed
    clock = QueueClock(machine, ProgressPage(), now=lambda: machine.now)
    assert launches.between(clock, machine.step, alike, _nobody) == 82_000


def test_a_host_that_is_disturbed_makes_no_job_launch_bound() -> None:
    machine = Machine(5_000, 100_000)
    machine.disturbed = (1, 3)
    clock = QueueClock(machine, ProgressPage(), now=lambda: machine.now)
    assert launches.between(clock, machine.step, alike, _nobody) == 5_000


@pytest.mark.parametrize(
    ("numbers", "waited_ns"),
    [([500_000, 100_000, 600_000], 400_000), ([100_000, 100_001, 1], 0), ([500_000, 100_000, 30_000], 30_000)],
    ids=["launches", "nothing", "a network that is slower now and then"],
)
def test_the_slowest_rank_counts(numbers: list[int], waited_ns: int) -> None:
    machine = Machine(10_000, 2_000)
    clock = QueueClock(machine, ProgressPage(), now=lambda: machine.now)
    assert launches.between(clock, machine.step, lambda _: numbers, _nobody) == waited_ns


def test_communication_that_is_launched_late_is_what_the_whole_step_waits_more() -> None:
    assert LaunchWaits(alone_ns=30, whole_ns=50).late_calls_ns == 20
    assert LaunchWaits(alone_ns=30, whole_ns=10).late_calls_ns == 0


def test_a_host_without_gpus_launches_nothing(setup: Setup) -> None:
    assert launches.waits(setup, lambda tokens: None, lambda tokens: None) is None
