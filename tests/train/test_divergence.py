"""A training that is not that of the reference: whose part is named, and what explains the numbers."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.train import divergence
from nccltool.train.events import Built, Diverged, Shares
from tests.train.test_judge import BOTH, BUILT, SHAPE, diverged, judged, step

LOST: dict[str, Any] = {"shares": Shares.of((1.0, 0.0))}
LOST_IN_A_SHORT_SUM: dict[str, Any] = {"shares": Shares.of((1.03, 0.0), off=0.26)}
"""Rounding moves the weights of others too."""


@pytest.mark.parametrize(
    ("wrong", "rank", "message", "evidence"),
    [
        (
            (
                diverged(0, "gradient", shares=Shares.of((2.0, 2.0))),
                diverged(1, "gradient", shares=Shares.of((2.0, 2.0))),
            ),
            None,
            "ddp: the gradient of all ranks differs from the reference in step 2",
            "the whole gradient is 2 times as large as it should be: perhaps summed instead of averaged",
        ),
        (
            (diverged(0, "gradient", **LOST), diverged(1, "gradient", **LOST)),
            "1",
            "ddp: the gradient of all ranks (the part from rank 1 is wrong) differs from the reference in step 2",
            "the gradient is wrong because micro-batch 1 counts 0 times; the others count once",
        ),
        (
            (diverged(0, "share", **LOST_IN_A_SHORT_SUM), diverged(1, "share", **LOST_IN_A_SHORT_SUM)),
            "1",
            "ddp: the weight of a micro-batch in the gradient of all ranks (the part from rank 1 is wrong) "
            "differs from the reference in step 2",
            "the gradient is wrong because micro-batch 1 counts 0 times; the others count once",
        ),
        (
            (diverged(0, "gradient"), diverged(1, "loss", shares=Shares.of((2.0, 0.0)))),
            "1",
            "ddp: the loss of rank 1 differs from the reference in step 2",
            "the gradient is wrong because micro-batch 0 counts 2 times, micro-batch 1 counts 0 times; "
            "the others count once",
        ),
        (
            (diverged(0, "loss"), diverged(1, "parameters", got="nan", error="nan")),
            "1",
            "ddp: the parameters of rank 1 differ from the reference in step 2",
            None,
        ),
        (
            (diverged(1, "gradient"), diverged(0, "gradient", number=3)),
            "1",
            "ddp: the gradient of rank 1 differs from the reference in step 2",
            "no weighting of the micro-batches explains the gradient, so its values were corrupted",
        ),
        (
            (diverged(0, "gradient", got="0.0", error="1.0"),),
            "0",
            "ddp: the gradient of rank 0 differs from the reference in step 2",
            "the gradient is all zeros: it was lost or never arrived",
        ),
        (
            (diverged(1, "state"), diverged(0, "compression")),
            "1",
            "ddp: the state carried to the next step of rank 1 differs from the reference in step 2",
            None,
        ),
        (
            (diverged(0, "gradient"), diverged(1, "frozen", got="3.0")),
            "1",
            "ddp: the frozen parameters of rank 1 differ from the reference in step 2",
            None,
        ),
        (
            (diverged(0, "update"), diverged(1, "update")),
            None,
            "ddp: the updated parameters of all ranks differ from the reference in step 2",
            None,
        ),
    ],
)
def test_a_wrong_training(
    wrong: tuple[Diverged, ...], rank: str | None, message: str, evidence: str | None
) -> None:
    run = judged(BUILT, step(1), step(2), *wrong, *BOTH)
    assert (run.verdict.status, run.verdict.exit_code) == ("fail", 1)
    (found,) = run.findings
    assert (found.code, found.message) == ("train-wrong", message)
    assert (found.subject.kind, found.subject.name) == (("rank", rank) if rank else ("run", "ddp"))
    assert found.evidence[1:] == ((evidence,) if evidence else ())
    (done,) = run.trainings
    assert done.oracle is not None
    assert (done.status, done.oracle.ok, done.oracle.first_step) == ("fail", False, 2)


@pytest.mark.parametrize(
    ("what", "asks_for_links"), [("gradient", True), ("validation", True), ("state", False), ("frozen", False)]
)
def test_links_are_suspected_of_what_crosses_them(what: str, asks_for_links: bool) -> None:
    (found,) = judged(BUILT, step(1), step(2), diverged(1, what), *BOTH).findings
    assert ("probe -c 20" in found.remedy) == asks_for_links


@pytest.mark.parametrize("expected", ["nan", "inf"])
def test_a_training_that_one_process_cannot_do_either_is_no_fault_of_a_link(expected: str) -> None:
    both = [diverged(rank, "loss", got="nan", expected=expected, error="nan") for rank in (0, 1)]
    (found,) = judged(step(1), step(2), *both, *BOTH).findings
    assert found.evidence[1:] == ("the single-process run is not finite there either: it does not converge",)
    assert found.remedy.startswith("choose a smaller --learning-rate")


def test_a_compressed_gradient_says_nothing_of_micro_batches() -> None:
    run = judged(
        step(1),
        step(2),
        diverged(0, "gradient"),
        diverged(1, "gradient"),
        *BOTH,
        options={"comm_hook": "powersgd"},
    )
    (found,) = run.findings
    assert len(found.evidence) == 1


@pytest.mark.parametrize(
    ("replicas", "named"),
    [(2, "all ranks (the part from rank 1 is wrong)"), (1, "all ranks")],
)
def test_a_micro_batch_is_that_of_a_rank_only_where_each_rank_has_its_own(replicas: int, named: str) -> None:
    """Through a pipeline all of them flow."""
    built = Built(strategy="ddp", shape=replace(SHAPE, ranks=2 // replicas, replicas=replicas))
    both = [diverged(rank, "gradient", **LOST) for rank in (0, 1)]
    (found,) = judged(built, step(1), step(2), *both, *BOTH).findings
    assert found.message == f"ddp: the gradient of {named} differs from the reference in step 2"


def test_a_part_of_a_replica_of_several_ranks_is_that_of_no_single_one() -> None:
    both = [diverged(rank, "gradient", **LOST) for rank in range(4)]
    found = divergence.finding("tensor", both, 4, 2, 2, False)
    assert found.subject.kind == "run"
    assert found.message.startswith("tensor: the gradient of all ranks (the part from replica 1 of 2 is wrong)")
