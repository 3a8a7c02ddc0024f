"""What ranks of somebody else's group told, judged."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.probe import group_check
from nccltool.probe.group_check import GroupRank, RankResult

MIB = 1 << 20


def rank(number: int, **changes: Any) -> GroupRank:
    return replace(
        GroupRank(
            rank=number,
            global_rank=number,
            host="n1",
            pid=100 + number,
            device="cpu",
            gpu="",
            world_size=2,
            backend="gloo",
            torch="2.8.0",
            nccl="",
            python="3.12.1",
            settings={},
        ),
        **changes,
    )


def result(number: int, wait_ns: int = 100_000, **changes: Any) -> RankResult:
    plain = RankResult(rank=number, wrong=0, waits_ns=(wait_ns,) * 15, times_s=(0.001, 0.002, 0.004))
    return replace(plain, **changes)


def test_a_healthy_group() -> None:
    found = group_check.judged(2, [rank(0), rank(1)], [result(0), result(1, times_s=(0.003, 0.001, 0.002))], MIB)
    assert (found.ok, found.verdict.status, found.findings, found.wrong, found.late) == (True, "pass", (), 0, ())
    assert found.speed
    assert found.speed.busbw_bytes_per_s == MIB / 0.003


@pytest.mark.parametrize(
    ("waits_s", "late"),
    [
        ((3.0, 0.0), {1: 3.0}),
        ((0.0, 0.9), {}),
        ((3.0, 3.01, 0.0, 3.0), {2: 3.0}),
        ((5.0, 5.0, 5.0, 0.0, 2.0), {3: 5.0, 4: 3.0}),
        ((0.0, 0.0), {}),
    ],
)
def test_who_came_late_is_told_by_who_waited_least(waits_s: tuple[float, ...], late: dict[int, float]) -> None:
    ranks = [rank(number) for number in range(len(waits_s))]
    results = [result(number, arrival_wait_ns=int(1e9 * wait)) for number, wait in enumerate(waits_s)]
    found = group_check.judged(len(ranks), ranks, results[::-1], MIB)
    assert {one.rank: round(one.late_s, 3) for one in found.arrived_late} == late
    assert [(one.code, one.severity) for one in found.findings] == [("late-rank", "warning")] * len(late)
    assert found.ok
    assert found.verdict.status == ("warn" if late else "pass")
    if waits_s == (3.0, 0.0):
        assert found.findings[0].message == "rank 1 on n1 called check() 3 s after the others"


@pytest.mark.parametrize(
    ("ranks", "results", "code", "message", "exit_code"),
    [
        (
            [rank(0), rank(1, torch="2.7.1")],
            [result(0), result(1)],
            "version-mismatch",
            "ranks differ in torch: 2.8.0 on rank 0; 2.7.1 on rank 1",
            3,
        ),
        (
            [rank(0, gpu="GPU-1"), rank(1, gpu="GPU-1")],
            [result(0), result(1)],
            "duplicate-gpu",
            "ranks 0, 1 use the same GPU of n1",
            3,
        ),
        ([rank(0), rank(1)], [result(0), result(1, wrong=3)], "wrong-data", "rank 1 received 3 wrong elements", 1),
        ([rank(0), rank(1)], [result(0)], "hang", "rank 1 did not finish the checked calls in time", 3),
        (
            [rank(0), rank(1)],
            [result(0), result(1, error="RuntimeError: closed", waits_ns=(), times_s=())],
            "collective-failed",
            "rank 1: a checked call failed",
            3,
        ),
        (
            [rank(0), rank(1)],
            [result(0, 50_000_000), result(1, 1_000)],
            "late-rank",
            "the others waited 50 ms for rank 1 on n1",
            1,
        ),
        (
            [rank(0), rank(1, world_size=4)],
            [result(0), result(1)],
            "world-size",
            "ranks differ in the size of the group: 2 on rank 0; 4 on rank 1",
            3,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_is_wrong(
    ranks: list[GroupRank], results: list[RankResult], code: str, message: str, exit_code: int
) -> None:
    found = group_check.judged(2, ranks, results, MIB)
    assert [(one.code, one.message) for one in found.findings] == [(code, message)]
    assert (found.ok, found.verdict.exit_code) == (False, exit_code)


def test_nothing_is_measured_without_everybody() -> None:
    found = group_check.incomplete(2, [rank(0)], [1], 5.0)
    assert (found.wrong, found.speed, found.absent, found.verdict.exit_code) == (None, None, (1,), 3)
