"""How much longer things may take on a busy host. tests/launch/test_meeting.py has what follows from it."""

import os

import pytest

from nccltool.launch.reach import arrivals


@pytest.mark.parametrize(
    ("load", "processors", "expected"),
    [(0.0, 2, 1.0), (1.9, 2, 1.0), (5.0, 2, 2.5), (21.0, 2, arrivals.SLOWEST), (3.0, 0, 3.0)],
)
def test_the_load_of_a_processor(load: float, processors: int, expected: float) -> None:
    assert arrivals.slowness_of(load, processors) == expected


def test_a_host_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> tuple[float, float, float]:
        raise OSError

    monkeypatch.setattr(os, "getloadavg", unknown)
    assert arrivals.slowness() == 1.0


def test_the_busiest_moment_counts() -> None:
    loads = iter([1.0, 3.0, 2.0])
    there = arrivals.ExpectedHosts(2, 0.0, slowness=lambda: next(loads))
    for _ in range(3):
        there.look(0, 1.0)
    assert (there.patience_s(), there.stretched(8.0)) == (3 * arrivals.COME_S, 24.0)
