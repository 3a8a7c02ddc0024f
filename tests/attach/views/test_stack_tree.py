"""Main threads as one tree."""

from nccltool.attach.seen.job import HostLook, HostSample, JobLook, RankSample
from nccltool.attach.seen.process import StackFrame, ThreadStack
from nccltool.attach.seen.ranks import RankFound
from nccltool.attach.views import stack_tree


def _look(*places: str) -> JobLook:
    """One rank for each: its frames, outermost first."""
    ranks = tuple(RankFound(host="n1", pid=number, rank=number) for number in range(len(places)))
    stacks = [
        ThreadStack(
            pid=number,
            name="MainThread",
            trains=True,
            frames=tuple(StackFrame(name=name, file="/x/a.py", line=1) for name in reversed(frames.split())),
        )
        for number, frames in enumerate(places)
    ]
    sampled = tuple(
        RankSample(pid=number, process=None, stacks=(stack,) if stack.frames else ())
        for number, stack in enumerate(stacks)
    )
    sample = HostSample(at_s=0, wall_s=0, ranks=sampled)
    return JobLook(hosts=(HostLook(host="n1", ranks=ranks, samples=(sample,)),))


def test_a_tree() -> None:
    assert stack_tree.lines(_look("main step loss", "main step wait", "main step wait", "")) == [
        "3 ranks (0, 1, 2): main (a.py:1) > step (a.py:1)",
        "  2 ranks (1, 2): wait (a.py:1)",
        "  rank 0: loss (a.py:1)",
    ]


def test_a_long_way_is_shortened() -> None:
    (line,) = stack_tree.lines(_look(" ".join("abcdefgh")))
    assert line == ("rank 0: a (a.py:1) > b (a.py:1) > c (a.py:1) > ... 3 more ... > g (a.py:1) > h (a.py:1)")


def test_nothing_was_seen() -> None:
    assert stack_tree.lines(JobLook(hosts=())) == []
