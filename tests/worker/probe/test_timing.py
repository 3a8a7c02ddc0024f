"""How many calls a timer makes, on a clock whose iterations all take the same."""

from collections.abc import Callable

import pytest

from nccltool.probe.job import ProbeJob
from nccltool.worker.agreement import Agreement
from nccltool.worker.probe.timing import Clock, Timer
from nccltool.worker.progress_page import ProgressPage

pytestmark = [pytest.mark.torch, pytest.mark.quick]

ITERATION_NS = 15_000_000


class Alone(Agreement):
    """A group of one rank that needs no process group."""

    def __init__(self) -> None:
        self.rank, self.size = 0, 1

    def maximum(self, numbers: list[int]) -> list[int]:
        return numbers


class Steady(Clock):
    """A clock."""

    def offsets(self, call: Callable[[], None], iterations: int) -> list[int]:
        for _ in range(iterations):
            call()
        return [ITERATION_NS * (index + 1) for index in range(iterations)]

    def durations(self, call: Callable[[], None], iterations: int, meet: Callable[[], None]) -> list[int]:
        meet()
        return [ITERATION_NS for _ in self.offsets(call, iterations)]


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
    assert samples == [ITERATION_NS] * timed
    assert (calls.count("warm"), calls.count("timed")) == (warm, timed + edges)
