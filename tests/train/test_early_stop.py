"""When it is time to stop."""

import math

import pytest

from nccltool.train.early_stop import EarlyStop


@pytest.mark.parametrize(
    ("patience", "losses", "stop"),
    [
        (0, [3.0, 4.0, 5.0, 6.0], None),
        (1, [3.0, 2.0, 2.0], 3),
        (2, [3.0, 2.0, 2.5, 1.9, 2.0, 1.9], 6),
        (3, [3.0, 4.0, 4.0, 2.0, 4.0, 4.0], None),
        (2, [math.nan, math.nan], 2),
        (2, [1.0, math.inf, math.nan], 3),
    ],
)
def test_it_is_time_after_as_many_steps_without_a_better_one(
    patience: int, losses: list[float], stop: int | None
) -> None:
    early = EarlyStop(patience)
    said = [early.take(loss) for loss in losses]
    assert next((number for number, time in enumerate(said, start=1) if time), None) == stop
    assert not early.is_close or len(set(losses)) < len(losses)


@pytest.mark.parametrize(("losses", "close"), [([2.0, 2.1], False), ([2.0, 2.0001], True), ([2.0, 1.9999], True)])
def test_what_rounding_may_have_decided(losses: list[float], close: bool) -> None:
    early = EarlyStop(1)
    for loss in losses:
        early.take(loss, 1e-4)
    assert early.is_close is close
