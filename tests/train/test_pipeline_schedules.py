"""Schedules of a pipeline, and their bubbles."""

import pytest

from nccltool.train import pipeline_schedules


@pytest.mark.parametrize(
    ("name", "ranks", "micro_batches", "stages", "share"),
    [
        ("gpipe", 4, 8, 1, 3 / 11),
        ("1f1b", 4, 8, 1, 3 / 11),
        ("1f1b", 1, 8, 1, 0),
        ("interleaved", 4, 8, 2, 3 / 19),
        ("interleaved", 4, 8, 3, 3 / 27),
        ("zero-bubble", 4, 8, 1, 3 / 27),
        ("zero-bubble", 4, 8, 2, 3 / 51),
        ("zbv", 4, 8, 2, 3 / 51),
        ("zbv", 4, 7, 2, 3 / 45),
        ("zbv", 4, 6, 2, None),
        ("zbv", 1, 1, 2, 0),
    ],
)
def test_bubbles(name: str, ranks: int, micro_batches: int, stages: int, share: float | None) -> None:
    assert pipeline_schedules.bubble(name, ranks, micro_batches, stages) == share


def test_stages_are_those_of_the_schedule_unless_more_are_asked_for() -> None:
    assert {name: pipeline_schedules.stages_of(name, None) for name in pipeline_schedules.SCHEDULES} == {
        "gpipe": 1,
        "1f1b": 1,
        "interleaved": 2,
        "zero-bubble": 1,
        "zbv": 2,
    }
    assert pipeline_schedules.stages_of("interleaved", 3) == 3
