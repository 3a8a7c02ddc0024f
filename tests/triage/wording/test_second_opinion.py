"""When the words of a log change the answer of its lines."""

import pytest

from nccltool.triage.wording import likeness
from nccltool.triage.wording.likeness import WordWeights
from nccltool.triage.wording.second_opinion import SETTLED, opinion

CAUSES = ("none", "other", "gpu-fault", "ib-config", "shm-size")
MODEL = WordWeights(
    failures=5,
    unit=1.0,
    causes=CAUSES,
    bias=(0, 0, 0, 0, 0),
    words={"fine": ((0, 80),), "xid": ((2, 80),), "gid": ((3, 80),)}
    | {f"word{number}": () for number in range(20)},
)
MANY = frozenset(f"word{number}" for number in range(20))


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "learned", lambda: MODEL)


@pytest.mark.parametrize(
    ("answer", "confidence", "rivals", "words", "expected"),
    [
        ("shm-size", 0.5, ["gpu-fault"], {"xid"}, "gpu-fault"),
        ("shm-size", 0.5, [], {"fine"}, "none"),
        ("other", 0.33, [], {"xid"}, "gpu-fault"),
        ("gpu-fault", 0.5, ["shm-size"], {"xid"}, None),
        # words name no cause for which no line speaks, unless the lines name none
        ("shm-size", 0.5, ["ib-config"], {"xid"}, None),
        # nor do they accuse where no line reports a failure, or say anything where the lines settle it
        ("none", 0.4, ["gpu-fault"], {"xid"}, None),
        ("of-a-plugin", 0.5, ["gpu-fault"], {"xid"}, None),
        ("shm-size", SETTLED, ["gpu-fault"], {"xid"}, None),
        ("shm-size", 0.5, ["gpu-fault"], {"unheard"}, None),
    ],
)
def test_words_decide_only_what_lines_leave_open(
    answer: str, confidence: float, rivals: list[str], words: set[str], expected: str | None
) -> None:
    said = opinion(answer, confidence, rivals, MANY | words)
    assert (said and said.cause) == expected
    assert said is None or 0.3 <= said.confidence <= 0.75


def test_words_say_nothing_of_a_log_that_has_few_of_them() -> None:
    assert opinion("shm-size", 0.5, ["gpu-fault"], frozenset({"xid"})) is None


def test_words_call_no_job_healthy_that_did_not_go_on() -> None:
    assert opinion("other", 0.4, [], MANY | {"fine"}, may_be_well=False) is None
    assert opinion("other", 0.4, [], MANY | {"fine"}) is not None
