"""The judgement over logs of our own, and how it is weighed."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from nccltool.triage.causes.base import Clue
from nccltool.triage.incident import Offender, RankedCauses
from nccltool.triage.judge import _strengths, _told, judge
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from nccltool.triage.timeline.model import Timeline
from nccltool.triage.wording import likeness, second_opinion
from nccltool.triage.wording.likeness import WordWeights
from tests.incidents import INCIDENTS, Incident


def timeline_of(*logs: str) -> Timeline:
    """The timeline of logs, a file each."""
    reader, builder = LogReader(), TimelineBuilder()
    for number, log in enumerate(logs):
        for event in reader.read(f"log{number}", [log.encode()]):
            builder.add(event)
    return builder.timeline(reader.lines_read)


def diagnosis(*logs: str) -> RankedCauses:
    return judge(timeline_of(*logs))


@pytest.mark.parametrize("incident", INCIDENTS, ids=str)
def test_the_root_cause_and_the_offender_of_a_log(incident: Incident) -> None:
    found = diagnosis(incident.log)
    assert found.root_cause == incident.root_cause
    if incident.offender:
        assert found.offender is not None
        assert found.offender.name == incident.offender


@pytest.mark.parametrize("incident", [one for one in INCIDENTS if one.root_cause != "none"], ids=str)
def test_a_cause_is_proved_by_a_line_of_the_log(incident: Incident) -> None:
    found = diagnosis(incident.log)
    assert found.first_failure is not None
    line = incident.log.split("\n")[found.first_failure.line - 1]
    assert found.first_failure.text[:40].strip() in line
    assert found.candidates[0].root_cause == found.root_cause
    assert found.candidates[0].why
    assert 0 < found.confidence <= found.candidates[0].confidence


@pytest.mark.parametrize("incident", INCIDENTS, ids=str)
def test_launchers_labels_change_nothing(incident: Incident) -> None:
    """The same log behind the label of a pod, with colours and carriage returns, shows the same cause."""
    lines = [f"\x1b[36m[pod/train-0/main] \x1b[0m{line}\r" for line in incident.log.splitlines()]
    assert diagnosis("\n".join(lines)).root_cause == incident.root_cause


def test_nothing_is_judged_without_lines() -> None:
    assert (diagnosis().root_cause, diagnosis().confidence, diagnosis("").candidates) == ("none", 0.0, ())


def test_echoes_do_not_win_over_what_caused_them() -> None:
    timeouts = next(one.log for one in INCIDENTS if one.name == "one-rank-silent")
    oom = next(one.log for one in INCIDENTS if one.name == "oom-killer")
    found = diagnosis(timeouts, oom)
    assert found.root_cause == "out-of-memory"
    assert "straggler-timeout" in [made.root_cause for made in found.candidates]


def test_the_runner_up_costs_confidence_and_is_to_be_settled() -> None:
    alone = diagnosis("x1:1:1 [0] NCCL WARN Call to posix_fallocate failed : No space left on device\n")
    both = diagnosis(
        "x1:1:1 [0] NCCL WARN Call to posix_fallocate failed : No space left on device\n"
        "x1:1:1 [0] NCCL WARN Call to connect to 10.0.0.1<5> failed : No route to host\n"
    )
    assert (alone.root_cause, both.root_cause) == ("shm-size", "shm-size")
    assert both.confidence < alone.confidence
    assert "net-unreachable" in both.decides


def test_of_two_causes_the_earlier_one_wins() -> None:
    shm = "x1:1:1 [0] NCCL WARN Call to posix_fallocate failed : No space left on device\n"
    files = "x1:1:1 [0] NCCL WARN Call to accept failed : Too many open files\n"
    assert diagnosis(shm + files).root_cause == "shm-size"
    assert diagnosis(files + shm).root_cause == "fd-limit"


def test_a_confidence_rises_with_the_score_and_is_a_share() -> None:
    told = [_told(score / 100) for score in range(101)]
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)


def _clue(line: int, strength: float) -> Clue:
    event = LogEvent(kind="k", role="failure", text="", file="f", line=line)
    return Clue(strength, "", event)


@pytest.mark.parametrize(
    ("clues", "strengths"),
    [
        ([_clue(1, 0.5), _clue(1, 0.7)], [0.7]),
        ([_clue(1, 0.5), _clue(2, 0.7)], [0.5, 0.7]),
        ([_clue(1, 0.5), Clue(-0.2, "")], [-0.2, 0.5]),
    ],
)
def test_one_line_is_one_reason(clues: Iterable[Clue], strengths: list[float]) -> None:
    assert list(_strengths(tuple(clues))) == strengths


@pytest.mark.parametrize(
    ("log", "cause", "unknown"),
    [
        (
            "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n",
            "out-of-memory",
            (0.0, 0.3),
        ),
        ("srun: error: n1: task 1: Exited with exit code 1\n", "other", (1.0, 1.0)),
        ("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 17.9\n", "none", (0.0, 0.1)),
    ],
)
def test_each_answer_tells_how_probable_none_of_its_candidates_is(
    log: str, cause: str, unknown: tuple[float, float]
) -> None:
    found = diagnosis(log)
    assert found.root_cause == cause
    assert unknown[0] <= found.unknown <= unknown[1]
    assert all(one.root_cause != "other" for one in found.candidates[1:])
    assert found.unknown + found.confidence <= 1 or cause in ("none", "other")


GAVE_UP = "slurmstepd: error: *** STEP 7.0 ON gh1 CANCELLED AT 2026-05-14T12:00:00 ***\n"
MET = "gh1:9:9 [0] NCCL INFO Bootstrap : Using ib0:10.0.0.1<0>\n"


def test_to_cancel_a_job_that_stands_still_is_weaker_than_to_cancel_one_that_works() -> None:
    hung, works = diagnosis(MET + GAVE_UP), diagnosis(MET + "step 1 loss 2.5\nstep 2 loss 2.4\n" + GAVE_UP)
    assert hung.confidence < 0.5
    assert (works.root_cause, works.confidence >= 0.8) == ("preempted", True)


def test_the_agent_that_tells_of_ctrl_c_is_no_suspect() -> None:
    steps = "step 1 loss 2.5\nstep 2 loss 2.4\n"
    log = steps + "torch.distributed.elastic.SignalException: Process 4100 got signal: {}\n"
    assert diagnosis(log.format(2)).offender is None
    assert diagnosis(log.format(15)).offender == Offender("process", "4100")


def test_words_decide_where_the_lines_leave_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    model = WordWeights(
        failures=2,
        unit=1.0,
        causes=("none", "other", "out-of-memory"),
        bias=(0, 0, 0),
        words={"healthy": ((0, 9),)},
    )
    monkeypatch.setattr(likeness, "learned", lambda: model)
    monkeypatch.setattr(second_opinion, "_LEAST_WORDS", 1)
    log = "step 1 loss 2.0\nKilled\nstep 2 loss 1.9\n"
    by_lines, by_words = diagnosis(log), judge(replace(timeline_of(log), words=frozenset({"healthy"})))
    assert (by_lines.root_cause, by_lines.settled_by) == ("out-of-memory", "lines")
    assert (by_words.root_cause, by_words.settled_by) == ("none", "words")
    assert by_words.offender is None
    assert by_words.unknown > 0.1
    assert "healthy" in by_words.candidates[0].why[-1]
