"""How many calls a timer makes, on a clock whose iterations all take the same."""

from typing import Any

import pytest

from nccltool.probe.collectives.base import Call
from nccltool.probe.job import ProbeJob
from nccltool.worker.agreement import Agreement
from nccltool.worker.probe.clocks import LONGEST_HOLD_NS, Batch, Clock, QueueClock
from nccltool.worker.probe.timing import TimedCalls, Timer
from nccltool.worker.progress_page import ProgressPage
from tests.worker.probe.simulated import SimulatedDevice

pytestmark = [pytest.mark.torch, pytest.mark.quick]

ITERATION_NS = 15_000_000


class Alone(Agreement):
    """A group of one rank that needs no process group."""

    def __init__(self, settle: Call = lambda: None) -> None:
        self.rank, self.size, self._settle = 0, 1, settle

    def maximum(self, numbers: list[int]) -> list[int]:
        return numbers

    def settle(self) -> None:
        self._settle()


class Steady(Clock):
    """A clock."""

    def offsets(self, call: Call, iterations: int, hold_ns: int = 0) -> Batch:
        for _ in range(iterations):
            call()
        return Batch(ns=[ITERATION_NS * (index + 1) for index in range(iterations)])

    def durations(self, call: Call, iterations: int, meet: Call, hold_ns: int = 0) -> Batch:
        meet()
        return Batch(ns=[ITERATION_NS for _ in self.offsets(call, iterations).ns])


@pytest.mark.parametrize("cadence", ["stream", "isolated"])
@pytest.mark.parametrize(
    ("warmup", "iterations", "warm", "timed"),
    [
        (2, 7, 2, 7),
        (0, 7, 0, 7),
        (1, None, 1, 13),  # as many as the budget of 0.2 s is for, as the warm-up tells
        (3, None, 3, 13),
        (None, None, 11, 13),  # the first call alone, then two batches that agree
        (0, None, 0, 5 + 5),  # nobody knows how long one takes; five more until 0.15 s are measured
    ],
)
def test_how_many_calls_are_made(
    warmup: int | None, iterations: int | None, warm: int, timed: int, cadence: str
) -> None:
    calls: list[str] = []
    job = ProbeJob(run_id="r", ops=("all_reduce",), warmup=warmup, iterations=iterations, cadence=cadence)  # type: ignore[arg-type]
    timer = Timer(job, Alone(), Steady(), ProgressPage())
    samples = timer.measure(lambda: calls.append("warm"), lambda: calls.append("timed"))
    edges = 2 if cadence == "stream" and timed == 13 else 0  # of one batch; batches of five have none
    assert samples == TimedCalls(ns=[ITERATION_NS] * timed, launch_limited=False)
    assert (calls.count("warm"), calls.count("timed")) == (warm, timed + edges)


# a GPU, on which calls are queued


def timed(device: SimulatedDevice, call_ns: int, **asked: Any) -> tuple[TimedCalls, Timer]:
    """What a timer makes of calls that take so long on a device."""
    job = ProbeJob(run_id="r", ops=("all_reduce",), **asked)
    page = ProgressPage()
    timer = Timer(job, Alone(device.settle), QueueClock(device, page, lambda: device.host_ns), page)
    return timer.measure(device.call(call_ns), device.call(call_ns)), timer


US = 1000


@pytest.mark.parametrize("cadence", ["stream", "isolated"])
@pytest.mark.parametrize(
    ("launch_us", "call_us", "asked"),
    [
        (20, 5, {}),  # a small size over NVLink: Python needs longer to launch a call than the device for it
        (20, 5, {"warmup": 5, "iterations": 20}),  # as nccl-tests counts
        (20, 5, {"warmup": 1, "iterations": 1}),
        (20, 25, {}),
        (20, 5_000, {}),
        (400, 10, {"warmup": 5, "iterations": 1000}),  # point to point, in more batches than one
        (20, 3_000_000, {"warmup": 2, "iterations": 4}),
    ],
)
def test_a_device_is_timed_at_its_own_rate(
    launch_us: int, call_us: int, asked: dict[str, int], cadence: str
) -> None:
    device = SimulatedDevice(launch_ns=launch_us * US)
    calls, _ = timed(device, call_us * US, cadence=cadence, **asked)
    assert calls == TimedCalls(ns=[call_us * US] * len(calls.ns), launch_limited=False)
    assert len(calls.ns) == asked.get("iterations", len(calls.ns))
    assert device.longest_queue_ns <= max(2e9 + 0.2e9, 2 * call_us * US)


@pytest.mark.parametrize(
    ("launch_us", "call_us", "asked", "took_us"),
    [
        (20, 5, {"warmup": 0, "iterations": 5}, 20),  # nobody knew how long to hold the device
        (400_000, 5, {"warmup": 5, "iterations": 3}, 5),  # longer than a device is held
    ],
)
def test_a_device_that_waited_for_its_host_is_told(
    launch_us: int, call_us: int, asked: dict[str, int], took_us: int
) -> None:
    calls, _ = timed(SimulatedDevice(launch_ns=launch_us * US), call_us * US, **asked)
    assert calls.launch_limited
    assert calls.ns[-1] >= took_us * US


def test_a_launch_that_does_not_tell_is_not_told() -> None:
    """A second for a call, and its launch is a thousandth of it: nobody knew how long to hold the device."""
    calls, _ = timed(SimulatedDevice(launch_ns=20 * US), 1_000_000 * US, warmup=0, iterations=2)
    assert not calls.launch_limited


def test_a_device_that_was_held_for_too_short_is_held_for_longer() -> None:
    """Its clock runs away faster than the margin: at the second batch the time is twice that of a launch."""
    device = SimulatedDevice(launch_ns=20 * US, quickens=1.6)
    calls, _ = timed(device, 5 * US, warmup=5, iterations=1000)
    assert calls.ns[-500:] == [5 * US] * 500
    assert len(calls.ns) == 1000


class Synchronous(SimulatedDevice):
    """Every launch returns when its work is done, as with CUDA_LAUNCH_BLOCKING=1."""

    def _launch(self, ns: int) -> None:
        super()._launch(ns)
        self.settle()


@pytest.mark.parametrize("cadence", ["stream", "isolated"])
def test_a_device_that_cannot_be_held_is_not_held_forever(cadence: str) -> None:
    device = Synchronous(launch_ns=20 * US)
    calls, _ = timed(device, 5 * US, cadence=cadence, warmup=5, iterations=2000)
    assert calls.launch_limited
    assert device.host_ns < 2000 * 25 * US + 5 * LONGEST_HOLD_NS


def test_slow_calls_are_queued_a_few_at_a_time() -> None:
    device = SimulatedDevice(launch_ns=20 * US)
    calls, timer = timed(device, 18_000_000 * US, warmup=3, iterations=6)  # 1 GiB over 1 GbE
    assert len(calls.ns) == 6
    assert device.longest_queue_ns < 19e9
    assert timer.slot.read()[2] > 0
