"""Signals that are noted, and what they do again afterwards."""

import os
import signal
from collections.abc import Iterator

import pytest

from nccltool.core import signals


@pytest.fixture
def ended() -> Iterator[list[int]]:
    """Signals that would have ended this process; afterwards it is as it was."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in signals.ENDING}
    yield came
    for number, handler in before.items():
        signal.signal(number, handler)


def send(*numbers: int) -> None:
    for number in numbers:
        os.kill(os.getpid(), number)


def test_they_are_noted_and_end_us_again_afterwards(ended: list[int]) -> None:
    with signals.held() as came:
        send(*signals.ENDING)
    send(signal.SIGHUP)
    assert (came, ended) == ([*signals.ENDING], [signal.SIGHUP])


def test_those_that_are_named(ended: list[int]) -> None:
    with signals.held(signal.SIGTERM) as came:
        send(signal.SIGTERM, signal.SIGINT)
    assert (came, ended) == ([signal.SIGTERM], [signal.SIGINT])


def test_a_second_one_where_only_one_is_held(ended: list[int]) -> None:
    with signals.held(once=True) as came:
        send(signal.SIGTERM, signal.SIGINT)
    assert (came, ended) == ([signal.SIGTERM], [signal.SIGINT])


def test_what_nohup_turned_off_stays_off(ended: list[int]) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with signals.held() as came:
        send(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert (came, ended) == ([], [])


def test_one_inside_another_knows_what_came_before_it(ended: list[int]) -> None:
    with signals.held() as outer:
        send(signal.SIGINT)
        with signals.held() as inner:
            send(signal.SIGHUP)
        send(signal.SIGTERM)
    assert (outer, inner, ended) == (
        [signal.SIGINT, signal.SIGHUP, signal.SIGTERM],
        [signal.SIGINT, signal.SIGHUP],
        [],
    )


def test_only_those_that_are_named_are_known_inside(ended: list[int]) -> None:
    with signals.held() as outer:
        send(signal.SIGINT)
        with signals.held(signal.SIGTERM) as inner:
            send(signal.SIGTERM)
    assert (outer, inner) == ([signal.SIGINT, signal.SIGTERM], [signal.SIGTERM])
