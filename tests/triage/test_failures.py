"""The failures that `scripts/bench failures` judges: their form."""

import datetime
from collections import Counter

import pytest
from benchmarks import failures
from benchmarks.failures import Answer, Failure, Suspect

from nccltool.triage import causes

EVERY = [one for file in sorted(failures.ROUNDS.glob("*.jsonl")) for one in failures.failures(file)]


def test_no_failure_is_there_twice() -> None:
    for values in ([one.id for one in EVERY], [one.log for one in EVERY]):
        assert not [value for value, count in Counter(values).items() if count > 1]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.id)
def test_a_failure_tells_its_thread_and_what_was_proved_there(one: Failure) -> None:
    assert one.url.startswith("https://") if one.url else one.root_cause == "none"
    assert datetime.date.fromisoformat(one.read)
    assert one.root_cause in causes.LABELS
    assert one.second_label is None or one.second_label in causes.LABELS
    assert one.proof.strip()
    assert one.log.strip()


def test_an_answer_is_judged_by_label_and_offender() -> None:
    gone = "node7:812:812 [3] NCCL INFO comm 0x1 rank 3 - Init START\nNVRM: Xid (PCI:0000:4e:00): 79, pid=812\n"
    one = failures.answer(
        Failure("a", "https://example.com/1", "2026-01-01", "gpu-fault", (), None, "", gone),
    )
    assert one.is_right
    assert not one.names_offender


@pytest.mark.parametrize(
    ("kind", "name", "label", "is_same"),
    [
        ("rank", "3", "Rank 3", True),
        ("rank", "3", "[rank3]", True),
        ("process", "412", "pid=412", True),
        ("gpu", "0", "GPU 0", True),
        ("rank", "0", "GPU 0", False),
        ("rank", "3", "rank 31", False),
        ("host", "3", "rank 3", False),
    ],
)
def test_a_suspect_may_be_spelled_as_logs_spell_it(kind: str, name: str, label: str, is_same: bool) -> None:
    failure = Failure("a", None, "2026-01-01", "none", (Suspect("equivalent", label),), None, "", "")
    assert Answer(failure, ("none",), 0.5, Suspect(kind, name)).names_offender == is_same


def test_agreement_of_two_readers_is_counted_beyond_chance() -> None:
    pairs = [("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15
    assert failures.kappa(pairs) == pytest.approx(0.4)
    assert failures.kappa([("a", "b"), ("b", "a")]) == pytest.approx(-1)
    assert failures.kappa([("a", "a")]) == 1
