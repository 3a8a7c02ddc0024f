"""The state of a job and its sentence."""

from dataclasses import replace

import pytest

from nccltool.attach.judge.judge import judge
from nccltool.attach.judge.state import HUNG_AFTER_S
from nccltool.attach.seen.job import JobLook
from tests.attach.judge.looks import COMPUTES, SLEEPS, R, look

NCCL = ("python", "pt_nccl_watchdg")
ON_GPU = R(
    frames=(("cudaStreamSynchronize", "libtorch_cuda.so", 0), ("step", "/home/me/train.py", 9)),
    threads=NCCL,
    idle_s=12,
)
JOINS = R(stack=("never-joins", "0"), connected=False, own_store=True, switches=200)
"""torch asks its store every 10 ms whether all ranks have joined."""
IMPORTS = R(stack=("imports", "1"), connected=False)
MOVES = R(switches=3000, idle_s=0.01)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (look(MOVES, MOVES), "healthy: the ranks move"),
        (look(R(), R(stack=SLEEPS)), "hung for at least 60 s: rank 1 is busy elsewhere"),
        (look(R(), R()), "hung for at least 60 s: no rank stands out"),
        (look(R(), R(), samples=1), "unknown: one sample shows no progress; look again"),
        (
            look(R(stack=None, cpu=1.0, threads=NCCL), R(stack=None, cpu=1.0, threads=NCCL)),
            "unknown: no stack could be read, and /proc does not show whether the ranks move",
        ),
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


def test_a_long_step_on_the_gpu_is_no_hang() -> None:
    verdict = judge(look(ON_GPU, ON_GPU))
    assert verdict.state == "unknown"
    assert verdict.message.endswith("a long step looks the same; look again with --interval 60")


def _at_age(one: R, age_s: float, **more: object) -> R:
    return replace(one, age_s=age_s, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "state", "message", "culprit"),
    [
        (look(_at_age(JOINS, 20), world=2, local=1), "starting", "starting for 20 s: rank 1 has not come", None),
        (look(_at_age(JOINS, 40), world=2, local=1), "hung", "does not start for 40 s: rank 1 has not come", 1),
        (
            look(_at_age(JOINS, 300), world=4, local=1),
            "hung",
            "does not start for 5 min: some of ranks 1, 2, 3 have not come",
            None,
        ),
        (look(_at_age(JOINS, 40), world=2, local=2), "hung", "does not start for 40 s: rank 1 is missing", 1),
        (look(_at_age(IMPORTS, 60), _at_age(IMPORTS, 60)), "starting", "starting for 60 s", None),
        (look(_at_age(IMPORTS, 130), _at_age(IMPORTS, 130)), "hung", "does not start for 2 min", None),
        (
            look(_at_age(IMPORTS, 5000, cpu=0.9), _at_age(JOINS, 5000)),
            "starting",
            "starting for 83 min",
            None,
        ),
        (
            look(_at_age(JOINS, 130), _at_age(R(stack=COMPUTES, cpu=0.9, connected=False), 130)),
            "starting",
            "starting for 2 min",
            None,
        ),
        (
            look(_at_age(JOINS, 700), _at_age(R(stack=COMPUTES, cpu=0.9, connected=False), 700)),
            "hung",
            "does not start for 12 min: rank 1 is busy elsewhere: it computes",
            1,
        ),
        (
            look(
                *[_at_age(R(stack=None, connected=False, threads=("python",)), 130)] * 2,
            ),
            "hung",
            "does not start for 2 min",
            None,
        ),
    ],
)
def test_starting_has_a_limit(seen: JobLook, state: str, message: str, culprit: int | None) -> None:
    verdict = judge(seen)
    assert (verdict.state, verdict.message) == (state, message)
    assert (verdict.culprits[0].rank if verdict.culprits else None) == (1 if "rank 1" in message else culprit)


UNSEEN = R(stack=None)


@pytest.mark.parametrize(
    ("seen", "state", "culprit"),
    [
        (look(UNSEEN, UNSEEN), "hung", None),
        (look(R(stack=None, idle_s=2), R(stack=None, idle_s=2)), "unknown", None),
        (look(*[R(stack=None, switches=3000, idle_s=0.1)] * 2), "healthy", None),
        (look(UNSEEN, R(stack=None, cpu=0.9)), "hung", ("own-code", "low", 1)),
        (look(UNSEEN, R(stack=None, state="T")), "hung", ("stopped", "high", 1)),
        (look(UNSEEN, R(stack=None, gone=True)), "hung", ("dead", "high", 1)),
        (
            look(UNSEEN, R(stack=None, waits_on="/data/x", syscall="0", state="D")),
            "hung",
            ("data-loader", "medium", 1),
        ),
        (
            look(UNSEEN, R(stack=None, waits_on="/ckpt/x", syscall="1", state="D")),
            "hung",
            ("checkpoint-stuck", "medium", 1),
        ),
    ],
)
def test_without_any_stack(seen: JobLook, state: str, culprit: tuple[str, str, int] | None) -> None:
    verdict = judge(seen)
    first = verdict.culprits[0] if verdict.culprits else None
    assert (verdict.state, first and (first.cause, first.level, first.rank)) == (state, culprit)


@pytest.mark.parametrize(
    ("seen", "by", "left_s"),
    [
        (look(R(), R(stack=SLEEPS)), "timeout", 1740),
        (look(*[replace(ON_GPU, idle_s=90)] * 2), "watchdog", 510),
        (look(_at_age(JOINS, 300), world=2, local=2), None, None),
        (look(MOVES, MOVES), None, None),
    ],
)
def test_what_ends_the_waits(seen: JobLook, by: str | None, left_s: float | None) -> None:
    verdict = judge(seen)
    assert (verdict.kill_by, verdict.kill_in_s) == (by, left_s)


@pytest.mark.parametrize("rank", [0, 1])
def test_extra_work_of_rank_0_is_no_cause_for_others(rank: int) -> None:
    ranks = [R(), R()]
    ranks[rank] = R(stack=SLEEPS)
    (culprit,) = judge(look(*ranks)).culprits
    assert culprit.rank == rank
    assert any("rank 0" in one for one in culprit.rivals) == (rank == 0)


COMPILES = R(stack=("compile", "1"), state="R", cpu=1.0, switches=50, idle_s=0.1)


@pytest.mark.parametrize(("age_s", "state"), [(60, "starting"), (3600, "healthy")])
def test_a_young_job_that_compiles_on_all_ranks_starts(age_s: float, state: str) -> None:
    seen = look(COMPILES, COMPILES)
    (host,) = seen.hosts
    ranks = tuple(replace(one, started_at_s=host.samples[-1].wall_s - age_s) for one in host.ranks)
    assert judge(replace(seen, hosts=(replace(host, ranks=ranks),))).state == state


def test_beside_a_dead_rank_nobody_else_is_likely() -> None:
    """The others may be handling the error."""
    verdict = judge(look(R(), R(gone=True), R(stack=SLEEPS, switches=40)))
    assert [(one.cause, one.rank, one.level) for one in verdict.culprits] == [
        ("dead", 1, "high"),
        ("own-code", 2, "low"),
    ]
