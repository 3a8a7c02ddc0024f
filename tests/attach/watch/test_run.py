"""A watch from its first tick to its end, with a clock that nobody waits for."""

import pytest

from nccltool.attach.watch.loop import JobWatch, WatchTick
from nccltool.attach.watch.run import WatchRun
from tests.attach.watch.fakes import FakeLooker
from tests.attach.watch.test_loop import GOOD, HANGS


class _Clock:
    def __init__(self, most: int = 10**6) -> None:
        self.now, self.waits, self.most = 1000.0, [0.0][:0], most

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        if len(self.waits) >= self.most:
            raise SystemExit(130)


def _run(looker: FakeLooker, clock: _Clock, *, until_hung: bool) -> tuple[WatchRun, list[WatchTick]]:
    seen: list[WatchTick] = []
    watch = JobWatch(looker=looker, command=("nccltool",), every_s=30.0)
    run = WatchRun(watch=watch, until_hung=until_hung, show=seen.append, clock=clock, wall=clock, wait=clock.wait)
    return run, seen


def test_until_it_hangs() -> None:
    clock = _Clock()
    run, seen = _run(FakeLooker([GOOD, GOOD, HANGS]), clock, until_hung=True)
    report = run.run()
    assert (report.answer.state, report.verdict.exit_code) == ("hung", 1)
    assert [one.state for one in seen] == ["healthy", "healthy", "hung"]
    assert clock.waits == [30.0, 30.0]


def test_until_it_is_interrupted() -> None:
    clock = _Clock(most=5)
    run, seen = _run(FakeLooker([HANGS]), clock, until_hung=False)
    with pytest.raises(SystemExit):
        run.run()
    assert len(seen) == 5


def test_a_tick_that_takes_longer_than_the_interval_delays_the_next() -> None:
    clock = _Clock(most=3)
    looker = FakeLooker([GOOD])
    run, _ = _run(looker, clock, until_hung=False)
    pulse = looker.pulse

    def late() -> object:
        clock.now += 45
        return pulse()

    looker.pulse = late  # type: ignore[method-assign,assignment]
    with pytest.raises(SystemExit):
        run.run()
    assert clock.waits == [0.0, 0.0, 0.0]
