"""Lines of a watch, and its summary."""

from nccltool.attach.judge.progress import JobProgress
from nccltool.attach.views import watch as views
from nccltool.attach.watch.loop import JobWatch, WatchTick
from tests.attach.watch.fakes import FakeLooker
from tests.attach.watch.test_loop import GOOD, HANGS


def test_a_line() -> None:
    tick = WatchTick(
        number=3,
        at_s=0.0,
        state="slow",
        message="slow: \x1b[31mrank 1",
        event="opened",
        progress=JobProgress(step=120, step_s=0.8712),
    )
    line = views.line(tick)
    assert line.partition(" ")[2] == "alert: slow: \\x1b[31mrank 1, step 120, 0.871 s a step"


def test_the_summary() -> None:
    watch = JobWatch(looker=FakeLooker([GOOD, GOOD, HANGS, HANGS]), command=(), every_s=30.0)
    assert views.summary(watch, 0.0) == "watched for 0 s, 0 ticks\n    no incident\n"
    for number in range(4):
        watch.tick(30.0 * number)
    first, incident, cost = views.summary(watch, 95.0).splitlines()
    assert first == "watched for 95 s, 4 ticks: healthy 50%, hung 50%"
    assert " to now: hung for at least 60 s: rank 1 is busy elsewhere" in incident
    assert cost.startswith("    watching took 0.")
