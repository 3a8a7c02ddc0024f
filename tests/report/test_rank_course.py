"""From events to what each rank did: phases, waiting, ends; what is no event is passed over."""

from nccltool.launch import events
from nccltool.report import rank_course


def _beat(rank: int, phase: str, calls: int, step: int = 0) -> events.Beat:
    return events.Beat(rank=rank, phase=phase, step=step, calls=calls, state="R")


COURSE = (
    _beat(0, "connecting", 1, step=-1),
    events.Enter(rank=0, step=0, op="all_reduce", bytes=2**20),
    _beat(0, "timing", 9),
    _beat(0, "timing", 9),
    _beat(1, "timing", 8),
    events.Beat(rank=1, phase="timing", step=0, calls=8, state="T"),
    events.Exited(rank=1, code=-9),
    events.Failed(rank=0, in_collective=True, text="RuntimeError: closed\nmore"),
    events.Exited(rank=0, code=1),
)


def test_phases_and_ends() -> None:
    lines = [events.encode(one) for one in COURSE]
    made = rank_course.of([b"damaged\n", *lines[:3], b'{"event":"world"}\n', *lines[3:]])
    assert [(one.rank, one.begin, one.end, one.what, one.is_waiting, one.is_end) for one in made] == [
        (0, 1, 2, "connecting", True, False),
        (0, 2, 3, "all_reduce at 1 MiB", False, False),
        (0, 3, 8, "timing in all_reduce at 1 MiB", True, False),
        (0, 8, 10, "raised: RuntimeError: closed", False, True),
        (1, 5, 6, "timing", False, False),
        (1, 6, 7, "timing", False, False),
        (1, 7, 10, "killed by signal 9", False, True),
    ]
    assert [(one.begin, one.end) for one in made if one.is_stopped] == [(6, 7)]


def test_no_events_are_no_course() -> None:
    assert rank_course.of([]) == ()
    assert rank_course.of([b"\xff\xfe", b"{}"]) == ()
