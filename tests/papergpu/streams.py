"""Queues of a device: work is taken at once and done in order, events note when, and only `synchronize` waits.

A stream is the point behind its last work. Work runs in a thread of its executor as soon as what it waits for is
done; so a collective that nobody joins holds nobody up. Nothing here knows of torch.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue

_change = threading.Condition(threading.RLock())
"""Of any point; those who wait for one are few."""


class Point:
    """A place in a queue: done at some time, or not yet."""

    __slots__ = ("_after", "ns")

    def __init__(self, ns: int = 0) -> None:
        self.ns = ns
        """When it was done, of time.perf_counter_ns; 0 = it is not."""
        self._after: list[Callable[[], None]] = []

    def finish(self) -> None:
        """Now it is."""
        with _change:
            self.ns = time.perf_counter_ns()
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


def joined(points: Iterable[Point]) -> Point:
    """Done when all are."""
    left = [point for point in points if not point.ns]
    if len(left) == 1:
        return left[0]
    both = Point()
    if not left:
        both.ns = time.perf_counter_ns()
        return both
    count = len(left)

    def one_done() -> None:
        nonlocal count
        with _change:
            count -= 1
            last = not count
        if last:
            both.finish()

    for point in left:
        point.then(one_done)
    return both


class Executor:
    """A thread that does one work after the other; started when there is some."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[tuple[Point, Callable[[], None], Point]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, after: Point, work: Callable[[], None], done: Point) -> None:
        """Do it when `after` is done; then `done` is."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._queue.put((after, work, done))

    def _run(self) -> None:
        while True:
            after, work, done = self._queue.get()
            after.wait()
            work()
            done.finish()


class Stream:
    """What a program puts one behind the other."""

    def __init__(self, name: str = "stream") -> None:
        self.tail = Point(time.perf_counter_ns())
        self._executor = Executor(name)

    def put(self, work: Callable[[], None], executor: Executor | None = None) -> Point:
        """Behind all that is there."""
        done = Point()
        (executor or self._executor).put(self.tail, work, done)
        self.tail = done
        return done

    def mark(self) -> Point:
        """Behind all that is there; done now when there is nothing left."""
        return Point(time.perf_counter_ns()) if self.tail.ns else self.tail

    def join(self, *points: Point) -> None:
        """What comes now waits for these as well."""
        if any(not point.ns for point in points):
            self.tail = joined((self.tail, *points))

    def drain(self) -> None:
        """Wait for all that is there."""
        if not self.tail.ns:
            self.tail.wait()


def slept(seconds: float) -> Callable[[], None]:
    """Work that only takes its time."""
    return lambda: time.sleep(seconds)


def in_turn(works: Sequence[Callable[[], None]]) -> Callable[[], None]:
    """One work of several."""

    def run() -> None:
        for work in works:
            work()

    return run
