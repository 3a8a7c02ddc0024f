"""Who comes late to the collectives of a step: when ranks meet, and when they must not."""

import threading
from collections.abc import Callable

import pytest

from nccltool.core import processes
from nccltool.worker.agreement import Agreement
from nccltool.worker.train import arrivals
from nccltool.worker.train.arrivals import BETWEEN_PASSES, COMPUTING, Arrivals, Lateness

pytestmark = pytest.mark.torch


class TwoRanks(Agreement):
    """This rank, and one that comes to the same phases and waits 5 ms for it in each meeting."""

    def __init__(self, size: int = 2, other_fits: bool = True) -> None:
        self.rank, self.size = 0, size
        self.meetings = 0
        self._other_fits = other_fits

    def meet(self) -> None:
        self.meetings += 1

    def maximum(self, numbers: list[int]) -> list[int]:
        return [max(number, not self._other_fits) for number in numbers]

    def everybodys(self, numbers: list[int]) -> list[list[int]]:
        return [numbers, [number + 5_000_000 for number in numbers]]


class Disturbed(TwoRanks):
    """The other rank waits longer, or shorter, in each stretch of steps."""

    def __init__(self, *late_ms: int) -> None:
        super().__init__()
        self._late_ms = iter(late_ms)

    def everybodys(self, numbers: list[int]) -> list[list[int]]:
        late_ns = next(self._late_ms, 0) * 10**6
        return [numbers, [number + late_ns for number in numbers]]


class Stepper:
    """A strategy that comes to some phases in each step."""

    def __init__(self, *phases: str) -> None:
        self._phases, self._arrivals = phases, list[Arrivals | None]()
        self.steps = 0

    def put(self, arrivals: Arrivals | None) -> None:
        self._arrivals.append(arrivals)

    def step(self) -> None:
        self.steps += 1
        for phase in self._phases:
            if self._arrivals[-1] is not None:
                self._arrivals[-1].at(phase)

    @property
    def is_left_alone(self) -> bool:
        """Whether no arrivals are there any more."""
        return not self._arrivals or self._arrivals[-1] is None


def came_late(group: Agreement, step_ms: int, stepper: Stepper) -> Lateness | None:
    """After a step in which arrivals were counted."""
    counted = Arrivals(group)
    stepper.put(counted)
    stepper.step()
    return arrivals.came_late(counted, step_ms * 10**6, stepper.step, stepper.put)


@pytest.mark.parametrize(
    ("phases", "group", "step_ms", "rounds"),
    [
        ((BETWEEN_PASSES,), TwoRanks, 1, 45),
        ((BETWEEN_PASSES,), TwoRanks, 111, 45),
        ((BETWEEN_PASSES,), TwoRanks, 112, 15),  # long steps
        ((BETWEEN_PASSES,), lambda: TwoRanks(size=1), 1, None),
        ((BETWEEN_PASSES,), lambda: TwoRanks(other_fits=False), 1, None),  # the other is a stage of a pipeline
        ((BETWEEN_PASSES, COMPUTING), TwoRanks, 1, None),
        ((BETWEEN_PASSES, BETWEEN_PASSES), TwoRanks, 1, None),
        ((), TwoRanks, 1, None),
    ],
)
def test_when_ranks_meet(
    phases: tuple[str, ...], group: Callable[[], TwoRanks], step_ms: int, rounds: int | None
) -> None:
    ranks, stepper = group(), Stepper(*phases)
    late = came_late(ranks, step_ms, stepper)
    assert stepper.is_left_alone
    assert ranks.meetings == 2 * (rounds or 0)  # they also begin each step together
    if rounds is None:
        assert late is None
        assert stepper.steps == 1
        return
    assert late is not None
    ((rank, late_s),) = [(one.rank, one.late_s) for one in late.ranks]
    assert (rank, stepper.steps) == (0, rounds + 1)
    assert late_s == pytest.approx(0.005)


def test_a_rank_that_is_late_for_a_stretch_of_steps_is_not_named() -> None:
    stepper = Stepper(BETWEEN_PASSES)
    found = came_late(Disturbed(5, 5, 5, -5), 1, stepper)
    assert found is not None
    assert found.ranks == ()
    assert stepper.steps == 1 + 45


def test_who_gets_gradients_last_does_not_come_late_to_the_next_step() -> None:
    """Ranks begin each step together, before they are asked who comes late."""
    said = list[str]()

    class Ranks(TwoRanks):
        def meet(self) -> None:
            said.append("meets")

    class Steps(Stepper):
        def step(self) -> None:
            said.append("steps")
            super().step()

    assert came_late(Ranks(), 1, Steps(BETWEEN_PASSES)) is not None
    assert said == ["steps", *["meets", "steps", "meets"] * 45]


@pytest.mark.parametrize(
    ("late_ms", "rounds"),
    [((0, 5, 5, 5), 5), ((5, 0, 5, 5), 15), ((5, -5, 5, 5), 15), ((5, 5, 0, 5), 30), ((5, 5, -5, 5), 30)],
)
def test_steps_end_when_nobody_can_be_named(late_ms: tuple[int, ...], rounds: int) -> None:
    """Looks after 5, 15, 30, and 45 steps."""
    stepper = Stepper(BETWEEN_PASSES)
    found = came_late(Disturbed(*late_ms), 1, stepper)
    assert found is not None
    assert found.ranks == ()
    assert (stepper.steps, stepper.is_left_alone) == (1 + rounds, True)


Reading = dict[int, tuple[int, int] | None]


class Kernel:
    """What it tells of the threads of this process, one reading after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *readings: Reading) -> None:
        self._readings, self._now = iter(readings), Reading()
        monkeypatch.setattr(processes, "threads", self._threads)
        monkeypatch.setattr(processes, "scheduled_ns", lambda pid, thread: self._now[thread])

    def _threads(self, pid: int) -> tuple[int, ...]:
        self._now = next(self._readings)
        return tuple(self._now)


MINE = threading.get_native_id()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({MINE: (5, 7)}, {MINE: (45, 17)}, (40, 10, 0)),
        ({MINE: (5, 7), 1: (1, 10), 2: (0, 0)}, {MINE: (5, 7), 1: (2, 40), 2: (0, 20)}, (0, 0, 30)),
        ({MINE: (5, 7)}, {MINE: (5, 7), 1: (2, 40)}, (0, 0, 40)),
        ({MINE: (5, 7), 1: (2, 40)}, {MINE: (5, 8)}, (0, 1, 0)),
        ({MINE: (5, 7), 1: (2, 40)}, {MINE: (5, 8), 1: None}, (0, 1, 0)),
        ({MINE: None}, {MINE: None}, (-1, -1, -1)),
        ({}, {}, (-1, -1, -1)),
    ],
    ids=["alone", "of several the longest", "a new one", "an ended one", "ends", "not told", "no /proc"],
)
def test_what_the_kernel_makes_of_the_threads_of_a_rank(
    monkeypatch: pytest.MonkeyPatch,
    before: Reading,
    after: Reading,
    expected: tuple[int, int, int],
) -> None:
    Kernel(monkeypatch, before, after)
    assert arrivals.CoreClock().read()[1:] == expected


def test_threads_of_python_move_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    leave = threading.Event()
    other = threading.Thread(target=leave.wait)
    other.start()
    assert other.native_id is not None
    Kernel(monkeypatch, {MINE: (0, 0)}, {MINE: (0, 0), other.native_id: (1, 90)})
    try:
        assert arrivals.CoreClock().read()[1:] == (0, 0, 0)
    finally:
        leave.set()
        other.join()
