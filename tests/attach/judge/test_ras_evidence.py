"""What RAS adds to a look."""

from dataclasses import replace

from nccltool.attach.judge.ras_evidence import RasEvidence, of_answers
from nccltool.attach.ras import json_document
from nccltool.attach.ras.client import RasAnswer
from tests.attach.judge.looks import R, look
from tests.attach.ras.states import STATES, Communicator, Rank, State, json_of

BY_NAME = {state.name: state for state in STATES}


def _of(*states: State, belongs: bool | None = True, ranks: int = 8) -> RasEvidence:
    answers = tuple(
        RasAnswer(address="a", document=json_document.parse(json_of(state, "2.30.7")), belongs=belongs)
        for state in states
    )
    return of_answers(look(*(R(),) * ranks, ras=answers))


def test_a_late_rank_in_two_answers() -> None:
    late = BY_NAME["one rank late"]
    found = _of(late, late)
    assert (found.frozen, found.is_unequal, found.last) == (True, True, frozenset({3}))
    assert found.first == {0, 1, 2, 4, 5, 6, 7}


def test_one_answer_accuses_nobody() -> None:
    found = _of(BY_NAME["one rank late"])
    assert (found.answered, found.frozen, found.last) == (True, None, frozenset())


def test_counts_that_rose() -> None:
    found = _of(BY_NAME["healthy"], BY_NAME["one rank late"])
    assert (found.frozen, found.is_unequal) == (False, False)


def test_who_does_not_answer() -> None:
    assert _of(BY_NAME["one process stopped"]).silent == {6}
    assert _of(BY_NAME["one process dead"]).dead == {6, 7}
    assert _of(BY_NAME["one rank left"]) == replace(
        _of(BY_NAME["one rank left"]), silent=frozenset(), dead=frozenset()
    )


def test_crossed_operations() -> None:
    state = BY_NAME["operations crossed"]
    assert _of(state, state, ranks=2).crossed == (("AllGather", frozenset({1})), ("AllReduce", frozenset({0})))


def test_processes_are_matched_by_host_and_pid() -> None:
    """A communicator's rank 0 may be any rank of the job; a pid of another host is another process."""
    moved = State(name="x", communicators=(Communicator(ranks=(Rank(rank=90), Rank(rank=3, gone="silent"))),))
    assert _of(moved).silent == {3}
    elsewhere = State(name="x", communicators=(Communicator(ranks=(Rank(rank=11, gone="silent"),)),))
    assert _of(elsewhere, ranks=12).silent == frozenset()  # it says 10.0.0.2


def test_another_job_s_answer() -> None:
    assert _of(BY_NAME["one process dead"], belongs=False) == RasEvidence()
