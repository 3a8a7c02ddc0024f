"""The state of a job and its sentence."""

import pytest

from nccltool.attach.judge.judge import judge
from nccltool.attach.judge.state import HUNG_AFTER_S
from nccltool.attach.seen.job import JobLook
from tests.attach.judge.looks import COMPUTES, SLEEPS, R, look

MOVES = R(switches=3000, idle_s=0.01)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (look(MOVES, MOVES), "healthy: the ranks move"),
        (look(R(), R(stack=SLEEPS)), "hung for at least 60 s: rank 1 is busy elsewhere"),
        (look(R(), R()), "hung for at least 60 s: no rank stands out"),
        (look(R(), R(), samples=1), "unknown: one sample shows no progress; look again"),
        (look(R(stack=None), R(stack=None)), "unknown: no stack could be read"),
        (
            look(R(idle_s=3), R(stack=SLEEPS)),
            "unknown: ranks have waited for 3 s so far, which is too short to tell; look again",
        ),
        (look(R(gone=True), R(gone=True)), "ending: the ranks leave"),
        (JobLook(hosts=()), "unknown: no rank was found"),
    ],
)
def test_messages(seen: JobLook, message: str) -> None:
    assert judge(seen).message == message


@pytest.mark.parametrize(("idle_s", "state"), [(HUNG_AFTER_S - 1, "healthy"), (HUNG_AFTER_S, "hung")])
def test_a_busy_rank_has_some_time(idle_s: float, state: str) -> None:
    verdict = judge(look(R(idle_s=idle_s), R(stack=COMPUTES, state="R", cpu=1.0)))
    assert verdict.state == state
