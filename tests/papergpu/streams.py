"""Queues of a device: work is taken at once and done in order, events note when, and only `synchronize` waits.

A stream is the point behind its last work. Work runs in a thread of its executor as soon as what it waits for is
done; so a collective that nobody joins holds nobody up. Nothing here knows of torch.
"""

import threading
import time
from collections.abc import Callable, Iterable
from queue import SimpleQueue

Task = Callable[[int], int | None]
"""Gets when it begins on the device's clock; says when it is done there, None = now."""
_change = threading.Condition(threading.RLock())
"""Of any point; those who wait for one are few."""


class Point:
    """A place in a queue: done at some time of the device's clock, or not yet."""

    __slots__ = ("_after", "ns")

    def __init__(self, ns: int = 0) -> None:
        self.ns = ns
        """When it was done, as time.perf_counter_ns counts; 0 = it is not. On the device's own clock, it may yet
        come."""
        self._after: list[Callable[[], None]] = []

    def finish(self, ns: int | None = None) -> None:
        """Now it is; the device's clock may say another time."""
        with _change:
            self.ns = ns or time.perf_counter_ns()
            after, self._after = self._after, []
            _change.notify_all()
        for each in after:
            each()

    def then(self, call: Callable[[], None]) -> None:
        """Call when it is done, in the thread that finishes it."""
        with _change:
            if not self.ns:
                self._after.append(call)
                return
        call()

    def wait(self) -> None:
        """Return when it is done. A signal is answered meanwhile."""
        with _change:
            while not self.ns:
                _change.wait(1.0)

    @property
    def is_past(self) -> bool:
        """Whether it is done by the device's own clock, too."""
        return bool(self.ns) and self.ns <= time.perf_counter_ns()

    def pass_by(self) -> None:
        """Return when it is."""
        self.wait()
        time.sleep(max(0, self.ns - time.perf_counter_ns()) / 1e9)


def joined(points: Iterable[Point]) -> Point:
    """Done when all are."""
    points = tuple(points)
    left = [point for point in points if not point.ns]
    both = Point()
    if not left:
        both.ns = max((point.ns for point in points), default=time.perf_counter_ns())
        return both
    count = len(left)

    def one_done() -> None:
        nonlocal count
        with _change:
            count -= 1
            last = not count
        if last:
            both.finish(max(point.ns for point in points))

    for point in left:
        point.then(one_done)
    return both


class Executor:
    """A thread that does one work after the other; started when there is some."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[tuple[Point, int, Task, Point]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, after: Point, work: Task, done: Point, at: int | None = None) -> None:
        """Do it when `after` is done; then `done` is. `at`: when it was launched, where that is not now."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._queue.put((after, time.perf_counter_ns() if at is None else at, work, done))

    def _run(self) -> None:
        while True:
            after, queued, work, done = self._queue.get()
            after.wait()
            done.finish(work(max(after.ns, queued)))


class Stream:
    """What a program puts one behind the other."""

    def __init__(self, name: str = "stream") -> None:
        self.tail = Point(time.perf_counter_ns())
        self._executor = Executor(name)

    def put(self, work: Task, executor: Executor | None = None) -> Point:
        """Behind all that is there."""
        done = Point()
        (executor or self._executor).put(self.tail, work, done)
        self.tail = done
        return done

    def mark(self) -> Point:
        """Behind all that is there; done now when there is nothing left."""
        if self.tail.ns:
            self.tail = Point(max(time.perf_counter_ns(), self.tail.ns))
        return self.tail

    def join(self, *points: Point) -> None:
        """What comes now waits for these as well."""
        if any(not point.ns for point in points):
            self.tail = joined((self.tail, *points))
        elif (latest := max((point.ns for point in points), default=0)) > max(
            self.tail.ns, time.perf_counter_ns()
        ):
            self.tail = joined((self.tail, Point(latest)))

    def drain(self) -> None:
        """Wait for all that is there."""
        if not self.tail.ns:
            self.tail.wait()

    def launch(self, seconds: float) -> int:
        """Work without a result, on the device's own clock, behind what is there; returns when it is done."""
        self.drain()
        self.tail = Point(max(self.tail.ns, time.perf_counter_ns()) + round(seconds * 1e9))
        return self.tail.ns


def slept(seconds: float) -> Task:
    """Work that only takes its time."""

    def sleep(begin: int) -> int:
        time.sleep(seconds)
        return begin + round(seconds * 1e9)

    return sleep
