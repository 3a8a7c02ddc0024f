"""Findings for ranks and hosts that came late."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.launch import events
from nccltool.launch.run_state import RunState
from nccltool.probe import late_findings
from nccltool.probe.late_findings import ArrivalsOf
from nccltool.probe.late_rank import of_pairs
from tests import samples

MEASURED = "measured at 15 empty all-reduces after each row, without transfer time"
CHECK = "other processes on its cores (top), CPU binding, clocks, and throttling (nvidia-smi -q -d PERFORMANCE)"


def world(emulated: bool = False, ranks: Sequence[int] = range(4)) -> RunState:
    """Four ranks, two on each of alpha and beta; of emulated nodes, all on alpha."""
    state = RunState(samples.job(emulated=emulated), 4, 0.0)
    for rank in ranks:
        facts = samples.facts(rank, **({"host": "alpha", "host_id": "boot-a net:[1]"} if emulated else {}))
        state.apply(events.Hello(facts=facts), 0.0)
    return state


def late(*pairs: tuple[int, float], rows: int = 4, of: int = 4) -> list[Any]:
    return [of_pairs(pairs)] * rows + [()] * (of - rows)


def error(subject: Subject, message: str, evidence: str, remedy: str) -> Finding:
    return Finding(
        code="late-rank",
        severity="error",
        subject=subject,
        message=message,
        evidence=(evidence, MEASURED),
        remedy=remedy,
    )


BETA = f"check on beta: {CHECK}; repeat the run without this host"
ALPHA = f"check on alpha: {CHECK}"
RARE = "late by 50 ms to 50 ms; by chance, this happens in fewer than 1 in 1,000,000 healthy runs"
RANK_3 = error(
    Subject(kind="rank", name="3"),
    "rank 3 on beta arrived late in all 4 rows, by a median of 50 ms; the others waited for it",
    RARE,
    BETA,
)


@pytest.mark.parametrize(
    ("rows", "state", "expected"),
    [
        (late(), world(), ()),
        ([None] * 4, world(), ()),
        (late((3, 0.05)), world(), (RANK_3,)),
        (
            late((3, 0.05), (2, 0.05)),
            world(),
            (
                replace(
                    RANK_3,
                    subject=Subject(kind="host", name="beta"),
                    message="ranks 2, 3 on beta arrived late in all 4 rows, by a median of 50 ms; the others "
                    "waited for them",
                ),
            ),
        ),
        (
            late((3, 0.05), (2, 0.05)),
            world(emulated=True),
            (
                replace(
                    RANK_3,
                    subject=Subject(kind="host", name="node 1"),
                    message="ranks 2, 3 on alpha (node 1) arrived late in all 4 rows, by a median of 50 ms; the "
                    "others waited for them",
                    remedy=ALPHA,
                ),
            ),
        ),
        (
            late((3, 0.05)),
            world(ranks=[0]),  # in a launcher's job, rank 0 knows the host of no other rank
            (
                replace(
                    RANK_3,
                    message="rank 3 arrived late in all 4 rows, by a median of 50 ms; the others waited for it",
                    remedy=f"check on its host: {CHECK}",
                ),
            ),
        ),
        (
            late((3, 0.005), rows=3),
            world(),
            (
                replace(
                    RANK_3,
                    severity="warning",
                    message="rank 3 on beta arrived late in 3 of 4 rows, by a median of 5 ms; the others waited "
                    "for it",
                    evidence=(
                        "late by 5 ms to 5 ms; by chance, this happens in fewer than 1 in 1,000,000 healthy runs",
                        MEASURED,
                    ),
                ),
            ),
        ),
        (
            late((3, 0.05), rows=1, of=1),
            world(),
            (
                replace(
                    RANK_3,
                    message="rank 3 on beta arrived late in the only row, by a median of 50 ms; the others "
                    "waited for it",
                    evidence=("by chance, this happens in fewer than 1 in 100 healthy runs", MEASURED),
                ),
            ),
        ),
    ],
)
def test_findings(rows: list[Any], state: RunState, expected: tuple[Finding, ...]) -> None:
    assert late_findings.of_rows(rows, state) == expected


def test_ranks_of_one_host_are_not_named_as_that_host() -> None:
    """It has no others to be compared with."""
    state = RunState(samples.job(nodes=1, nproc_per_node=4, emulated=False), 4, 0.0)
    for rank in range(4):
        facts = samples.facts(rank, host="alpha", host_id="boot-a net:[1]", node_rank=0, local_rank=rank)
        state.apply(events.Hello(facts=facts), 0.0)
    found = late_findings.of_rows(late((3, 0.05), (2, 0.04)), state)
    assert [one.subject for one in found] == [Subject(kind="rank", name="2"), Subject(kind="rank", name="3")]
    assert {one.remedy for one in found} == {ALPHA}


def test_in_a_training() -> None:
    unit = ArrivalsOf(only="ddp", several="strategies", measured="in steps")
    (finding,) = late_findings.of_rows(late((1, 0.05), rows=1, of=1), world(), unit)
    assert finding.message.startswith("rank 1 on alpha arrived late in ddp, by a median of 50 ms")
    assert finding.evidence[1] == "in steps"
    (finding,) = late_findings.of_rows(late((1, 0.05), rows=2, of=3), world(), unit)
    assert finding.message.startswith("rank 1 on alpha arrived late in 2 of 3 strategies, by a median of 50 ms")
