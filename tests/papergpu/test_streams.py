"""Queue semantics of CUDA: work returns at once, is done in order, and only a synchronise waits for it."""

import threading
import time

import pytest

from tests.papergpu.streams import Executor, Point, Stream, Task, joined, slept


class Gate:
    """Work that waits until it is opened."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def __call__(self, begin: int) -> None:
        assert self.event.wait(10)


def noting(notes: list[str], name: str) -> Task:
    return lambda begin: notes.append(name)


def test_work_returns_at_once_and_is_done_in_order() -> None:
    stream, gate, notes = Stream(), Gate(), list[str]()
    stream.put(gate)
    for name in "abc":
        stream.put(noting(notes, name))
    assert notes == []
    gate.event.set()
    stream.drain()
    assert notes == ["a", "b", "c"]


def test_a_mark_is_done_when_what_is_before_it_is() -> None:
    stream, gate = Stream(), Gate()
    before = stream.mark()
    assert before.ns
    stream.put(gate)
    behind = stream.mark()
    assert not behind.ns
    gate.event.set()
    behind.wait()
    assert behind.ns > before.ns


def test_marks_tell_how_long_work_took() -> None:
    stream = Stream()
    begin = stream.mark()
    stream.put(slept(0.02))
    end = stream.mark()
    end.wait()
    assert 0.02e9 <= end.ns - begin.ns < 2e9


def test_launched_work_ends_by_the_clock_of_the_device() -> None:
    stream = Stream()
    begin = stream.mark()
    for _ in range(3):
        stream.launch(10.0)
    end = stream.mark()
    assert end.ns - begin.ns >= 30e9
    assert (begin.is_past, end.is_past) == (True, False)
    other = Stream()
    other.join(end)
    assert other.mark().ns == end.ns


def test_what_is_past_by_that_clock_has_been_waited_for() -> None:
    stream = Stream()
    stream.launch(0.02)
    assert not stream.tail.is_past
    stream.tail.pass_by()
    assert stream.tail.is_past


def test_streams_do_not_wait_for_each_other_until_they_are_told() -> None:
    here, there, gate, notes = Stream(), Stream(), Gate(), list[str]()
    waiting = there.put(gate)
    here.put(noting(notes, "free"))
    here.drain()
    assert notes == ["free"]
    here.join(waiting)
    here.put(noting(notes, "joined"))
    time.sleep(0.01)
    assert notes == ["free"]
    gate.event.set()
    here.drain()
    assert notes == ["free", "joined"]


def test_an_executor_of_several_streams_keeps_the_order_of_the_calls() -> None:
    executor, one, other, notes = Executor("comm"), Stream(), Stream(), list[str]()
    gate = Gate()
    one.put(gate, executor)
    other.put(noting(notes, "behind the gate of another stream"), executor)
    time.sleep(0.01)
    assert notes == []
    gate.event.set()
    other.drain()
    assert len(notes) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_points_are_joined_when_the_last_is_done(order: tuple[int, int]) -> None:
    points = Point(), Point()
    both = joined(points)
    points[order[0]].finish()
    assert not both.ns
    points[order[1]].finish()
    assert both.ns


def test_the_clock_of_the_device_is_not_that_of_the_host() -> None:
    stream, gate = Stream(), Gate()
    stream.put(gate)
    begin = stream.mark()
    for _ in range(2):
        stream.put(lambda begin: begin + 1_000)
    end = stream.mark()
    gate.event.set()
    end.wait()
    assert end.ns - begin.ns == 2_000
