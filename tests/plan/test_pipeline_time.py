import pytest

from nccltool.plan import pipeline_time
from nccltool.train import pipeline_schedules


@pytest.mark.parametrize("schedule", pipeline_time.PLAYED)
@pytest.mark.parametrize(("ranks", "micro_batches"), [(2, 2), (2, 8), (4, 4), (4, 6), (8, 32)])
def test_without_messages_it_is_the_formula(schedule: str, ranks: int, micro_batches: int) -> None:
    bubble = pipeline_schedules.bubble(schedule, ranks, micro_batches, 1)
    assert bubble is not None
    played = pipeline_time.seconds(schedule, [0.5] * ranks, 0.0, micro_batches)
    assert played == pytest.approx(1.5 * micro_batches / (1 - bubble))


def test_the_slowest_stage_sets_the_pace() -> None:
    even = pipeline_time.seconds("1f1b", [1.0, 1.0], 0.0, 64)
    assert pipeline_time.seconds("1f1b", [1.0, 2.0], 0.0, 64) == pytest.approx(2 * even, rel=0.02)


def test_a_message_delays_each_way_to_the_last_stage_and_back() -> None:
    """One micro-batch: nothing else is under way."""
    assert pipeline_time.seconds("gpipe", [1.0] * 4, 0.1, 1) == pytest.approx(4 * 3 + 6 * 0.1)
    assert pipeline_time.seconds("1f1b", [1.0] * 4, 0.1, 1) == pytest.approx(4 * 3 + 6 * 0.1)


def test_messages_that_are_slower_than_stages_limit_it() -> None:
    """The wire is busy with one message after the other, each way at the same time or not."""
    assert pipeline_time.seconds("gpipe", [0.01, 0.01], 1.0, 16) == pytest.approx(32, rel=0.02)
    assert 16 < pipeline_time.seconds("1f1b", [0.01, 0.01], 1.0, 16) < 34
