"""What steps lose time to: input, a rank, communication; and whose own work is slow."""

import pytest

from nccltool.probe.late_rank import RankLateness
from nccltool.train import step_losses
from nccltool.train.events import TimedSteps
from nccltool.train.result import RankStarved, StepLoss, TrainingInput

LATE = (RankLateness(rank=3, late_s=0.05),)
STARVED = RankStarved(rank=1, share=0.6, others=0.02)


def loss(cause: str, share: float, rank: int | None = None) -> tuple[str, float, int | None]:
    return (cause, share, rank)


@pytest.mark.parametrize(
    ("exposed", "stalls", "late", "starved", "expected"),
    [
        (0.62, (), (), None, [loss("communication", 0.62)]),
        (0.09, (0.01, 0.02), (), None, []),
        (None, (), (), None, []),
        (0.2, (0.7, 0.68), (), None, [loss("input", 0.68), loss("communication", 0.2)]),
        (0.2, (0.01, 0.7), (), None, [loss("input", 0.7, 1), loss("communication", 0.2)]),
        (0.2, (None, 0.7), (), None, [loss("communication", 0.2)]),
        (0.55, (0.01, 0.01), (), STARVED, [loss("late rank", 0.6, 1)]),
        (0.65, (), LATE, None, [loss("late rank", 0.5, 3), loss("communication", 0.15)]),
        (0.9, (), LATE, STARVED, [loss("late rank", 0.6, 1), loss("communication", 0.3)]),
    ],
    ids=["network", "nothing", "unknown", "input", "of a rank", "not told", "starved", "late", "late and starved"],
)
def test_losses(
    exposed: float | None,
    stalls: tuple[float | None, ...],
    late: tuple[RankLateness, ...],
    starved: RankStarved | None,
    expected: list[tuple[str, float, int | None]],
) -> None:
    given = TrainingInput(sequences=64, epoch_steps=8, left_out=0, wait_ratio=(0.0, 0.0), stall_ratio=stalls)
    found = step_losses.losses(0.1, exposed, given, late, starved)
    assert [(one.cause, round(one.share, 6), one.rank) for one in found] == expected


@pytest.mark.parametrize(
    ("moving_s", "starved", "expected"),
    [
        (0.02, None, [loss("communication", 0.7)]),
        (0.085, None, []),
        (0.02, STARVED, [loss("late rank", 0.6, 1), loss("communication", 0.3)]),
        (0.07, STARVED, [loss("late rank", 0.6, 1), loss("communication", 0.2)]),
    ],
    ids=["a little", "all of it", "less than a rank", "more than a rank"],
)
def test_data_that_wait_for_a_core_are_not_slow_on_the_network(
    moving_s: float, starved: RankStarved | None, expected: list[tuple[str, float, int | None]]
) -> None:
    found = step_losses.losses(0.1, 0.9, None, (), starved, moving_s)
    assert [(one.cause, round(one.share, 6), one.rank) for one in found] == expected


@pytest.mark.parametrize(
    ("launch_s", "exposed", "expected"),
    [
        (0.06, 0.2, [loss("launch", 0.6), loss("communication", 0.2)]),
        (0.06, None, [loss("launch", 0.6)]),
        (0.009, 0.05, []),
        (0.2, 0.0, [loss("launch", 1.0)]),
        (0.0, 0.0, []),
    ],
    ids=["most", "alone", "little", "steps that are timed are shorter", "none"],
)
def test_gpus_that_wait_for_launches(
    launch_s: float, exposed: float | None, expected: list[tuple[str, float, int | None]]
) -> None:
    found = step_losses.losses(0.1, exposed, None, (), None, launch_s=launch_s)
    assert [(one.cause, round(one.share, 6), one.rank) for one in found] == expected


@pytest.mark.parametrize(
    ("late_calls_s", "late", "expected"),
    [
        (0.0, (), [loss("communication", 0.36), loss("launch", 0.3)]),
        (0.03, (), [loss("launch", 0.6)]),
        (0.02, (), [loss("launch", 0.5), loss("communication", 0.16)]),
        (0.04, LATE, [loss("late rank", 0.5, 3), loss("launch", 0.2)]),
        (0.0, LATE, [loss("late rank", 0.5, 3)]),
    ],
    ids=["of the network", "all of it late", "some of it late", "late itself, and launch-bound", "late itself"],
)
def test_calls_that_hosts_launch_late_are_no_communication(
    late_calls_s: float, late: tuple[RankLateness, ...], expected: list[tuple[str, float, int | None]]
) -> None:
    found = step_losses.losses(0.1, 0.36, None, late, None, launch_s=0.03, late_calls_s=late_calls_s)
    assert [(one.cause, round(one.share, 6), one.rank) for one in found] == expected


@pytest.mark.parametrize(
    ("late_s", "on_gpus", "launch_ms", "is_named"),
    [
        (0.009, False, None, False),
        (0.011, False, None, True),
        (0.009, True, 50, False),
        (0.011, True, 50, True),
        (0.002, True, 5, True),
        (0.002, True, None, True),
    ],
    ids=["CPUs", "CPUs, much", "launch-bound", "launch-bound, much", "GPUs", "GPUs, launches unknown"],
)
def test_a_rank_is_late_by_more_than_hosts_vary(
    late_s: float, on_gpus: bool, launch_ms: int | None, is_named: bool
) -> None:
    timed = TimedSteps(
        step=1,
        strategy="ddp",
        sequences=8,
        tokens=256,
        without_sync_ns=None,
        alone_ns=None,
        late_ranks=((3, late_s),),
        launch_ns=None if launch_ms is None else launch_ms * 1_000_000,
    )
    expected = (RankLateness(rank=3, late_s=late_s),) if is_named else ()
    assert step_losses.came_late(timed, 0.1, on_gpus=on_gpus) == expected


def test_arrivals_that_were_not_measured_name_nobody() -> None:
    assert step_losses.came_late(None, 0.1, on_gpus=False) is None


def test_without_timed_steps_nothing_is_known() -> None:
    assert step_losses.losses(None, 0.5, None, LATE, STARVED) == ()
    alone = step_losses.losses(0.01, None, None, LATE, None)
    assert alone == (StepLoss(cause="late rank", share=1.0, rank=3),)


@pytest.mark.parametrize(
    ("ns", "slowest_in", "steps", "expected"),
    [
        ((100, 130), (), 0, 1),  # an older release does not tell in how many steps
        ((100, 130), (0, 10), 10, 1),
        ((100, 130), (0, 3), 3, None),
        ((100, 130), (2, 8), 10, None),
        ((100, 120), (0, 10), 10, None),
        ((100, 101, 130, 99), (1, 1, 8, 0), 10, 2),
        ((100, 101, 130, 99), (0, 0, 3, 0), 3, None),
        ((100,), (3,), 3, None),
    ],
    ids=["old", "all", "too few steps", "by chance", "alike", "of four", "of four, too few steps", "alone"],
)
def test_a_slow_rank_is_slowest_in_more_steps_than_chance_explains(
    ns: tuple[int, ...], slowest_in: tuple[int, ...], steps: int, expected: int | None
) -> None:
    assert step_losses.slowest(ns, slowest_in, steps) == expected
