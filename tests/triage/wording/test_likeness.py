"""What the words of known failures say of a log."""

import pytest
from benchmarks import failures, wording
from benchmarks.wording import Case

from nccltool.triage import causes
from nccltool.triage.wording import likeness

MEMLOCK = frozenset({"ibv_reg_mr", "memlock", "cannot", "allocate", "memory", "ulimit", "locked"})


def test_the_weights_are_those_of_the_collection() -> None:
    learned = likeness.learned()
    cases = [one for file in failures.ROUNDS.glob("*.jsonl") for one in failures.failures(file)]
    assert learned.failures == len(cases), "scripts/bench wording --write learns from new failures"
    assert learned.causes == tuple(causes.LABELS)
    assert len(learned.bias) == len(learned.causes)
    places = {place for weights in learned.words.values() for place, _ in weights}
    assert places <= set(range(len(learned.causes)))


def test_chances_are_shares_of_all_causes() -> None:
    told = likeness.chances(MEMLOCK)
    assert set(told) == set(causes.LABELS)
    assert sum(told.values()) == pytest.approx(1)
    assert max(told, key=lambda cause: told[cause]) == "ib-memlock"


def test_unknown_words_change_nothing() -> None:
    assert likeness.chances(MEMLOCK | {"qwertyuiop"}) == likeness.chances(MEMLOCK)
    assert likeness.known(frozenset({"qwertyuiop", "memlock"})) == {"memlock"}


def test_the_words_that_say_most_are_told() -> None:
    told = likeness.telling(MEMLOCK, "ib-memlock")
    assert len(told) == 3
    assert likeness.telling(MEMLOCK - {told[0]}, "ib-memlock")[:2] == told[1:]
    assert likeness.telling(frozenset(), "ib-memlock") == ()


def test_words_that_always_come_with_a_cause_are_learned() -> None:
    cold = [Case("none", frozenset({"step", "loss", f"word{number}"})) for number in range(20)]
    hot = [Case("gpu-fault", frozenset({"step", "xid", f"word{number}"})) for number in range(20)]
    model = wording.learn([*cold, *hot])
    assert wording.answer(model, frozenset({"xid"})) == "gpu-fault"
    assert wording.answer(model, frozenset({"loss"})) == "none"
    assert not model.words.keys() & {f"word{number}" for number in range(20)}  # each in two cases only
