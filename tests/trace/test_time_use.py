"""What time was used for, on GPUs and on CPUs."""

import pytest

from nccltool.trace.result import TimeUse
from nccltool.trace.spans import Spans
from nccltool.trace.time_use import RankActivity, time_use


def _use(window_s: float, *parts: float | None) -> TimeUse:
    keys = ("compute_s", "communication_s", "exposed_s", "input_s", "launch_s", "other_s")
    return TimeUse(window_s=window_s, **dict(zip(keys, parts, strict=True)))


def test_a_gpu() -> None:
    of = RankActivity(
        window=(0, 100),
        has_gpu=True,
        compute=Spans([(10, 30), (60, 70), (99, 130)]),
        communication=Spans([(20, 40)]),
        input=Spans([(40, 45)]),
        cpu=Spans([(0, 10), (45, 55), (70, 80)]),
        waits=Spans([(75, 90)]),
    )
    assert time_use(of) == _use(100, 31, 20, 10, 5, 25, 29)
    assert time_use(of).hidden_s == 10


def test_a_cpu() -> None:
    of = RankActivity(
        window=(0, 100),
        has_gpu=False,
        communication=Spans([(20, 60)]),
        input=Spans([(0, 10)]),
        cpu=Spans([(5, 30), (70, 80)]),
    )
    assert time_use(of) == _use(100, 30, 40, 30, 10, None, 30)


def test_what_the_trace_does_not_have_is_unknown() -> None:
    assert time_use(RankActivity(window=(0, 10), has_gpu=False)) == _use(10, None, None, None, None, None, 10)
    empty = time_use(RankActivity(window=(float("inf"), float("-inf")), has_gpu=False))
    assert (empty, empty.hidden_s) == (_use(0, None, None, None, None, None, None), None)


def test_python_between_launches_is_launching() -> None:
    of = RankActivity(
        window=(0, 1e-3),
        has_gpu=True,
        compute=Spans([(0, 1e-4)]),
        cpu=Spans([(1e-4, 2e-4), (2.5e-4, 3e-4), (5e-4, 6e-4)]),
    )
    assert time_use(of).launch_s == pytest.approx(3e-4)
