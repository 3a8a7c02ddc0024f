"""Wrong shards, and the rank whose storage is slow."""

from dataclasses import replace

import pytest

from nccltool.core.findings import Subject
from nccltool.train import input_findings
from nccltool.train.events import InputWrong
from nccltool.train.result import TrainingInput
from tests.report import materials
from tests.train.test_judge import state_of


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ((), None),
        ((0.01, 0.09), None),
        ((0.5, 0.4, 0.5, 0.5), "ddp: all ranks wait for their input for 50 % of a step"),  # nobody stands out
        ((0.5,), "ddp: rank 0 waits for its input for 50 % of a step"),
        ((0.01, 0.96), "ddp: rank 1 waits for its input for 96 % of a step"),
        ((0.02, 0.02, 0.6, 0.03), "ddp: rank 2 waits for its input for 60 % of a step"),
        (
            (0.02, 0.3, 0.6, 0.03, 0.02, 0.02),
            "ddp: rank 2 waits for its input for 60 % of a step; 1 other rank also waited more",
        ),
    ],
    ids=["synthetic", "little", "all", "alone", "one of two", "one", "two"],
)
def test_the_rank_that_waits_for_its_input_is_named(waits: tuple[float, ...], said: str | None) -> None:
    given = TrainingInput(sequences=64, epoch_steps=8, left_out=0, wait_ratio=waits)
    training = replace(materials.trained().trainings[0], strategy="ddp", input=given)
    found = input_findings.slow(training, state_of())
    assert (found is None) == (said is None)
    if found is not None and said is not None:
        assert found.message.startswith(said)
        assert found.severity == "warning"
        rank = None if "all ranks" in said else Subject(kind="rank", name=said.split()[2])
        assert found.suspect == rank


def test_a_rank_that_lacked_a_core_has_no_slow_storage() -> None:
    waits, stalls = (0.3, 0.02), (0.01, 0.01)
    given = TrainingInput(sequences=64, epoch_steps=8, left_out=0, wait_ratio=waits, stall_ratio=stalls)
    training = replace(materials.trained().trainings[0], strategy="ddp", input=given)
    assert input_findings.slow(training, state_of()) is None
    not_told = replace(given, stall_ratio=(None, 0.01))
    found = input_findings.slow(replace(training, input=not_told), state_of())
    assert found is not None
    assert found.message == "ddp: rank 0 waits for its input for 30 % of a step"


def test_wrong_shards_are_named_with_the_first_of_them() -> None:
    shards = [
        InputWrong(strategy="ddp", rank=rank, number=number, what="of another rank", got=(3, 4), expected=(5, 6))
        for rank, number in ((1, 2), (0, 3))
    ]
    found = input_findings.wrong("ddp", shards)
    assert found.message == "ddp: ranks 0, 1 got wrong sequences; rank 1 in step 2: of another rank"
    assert found.evidence == ("got [3, 4], expected [5, 6]",)
