"""From the answer to findings and the exit code."""

from dataclasses import replace

import pytest

from nccltool.attach import report
from nccltool.attach.judge.result import AttachVerdict, Culprit, JobState, Level, RankNow
from nccltool.attach.phases.result import Phase
from nccltool.attach.seen.job import JobLook, Unread

_RANKS = (RankNow(host="n1", pid=7, rank=0, phase=Phase(kind="collective", text="waits in all_reduce")),)


def _culprit(level: Level) -> Culprit:
    return Culprit(
        cause="stopped",
        level=level,
        row=3,
        message="rank 3 is stopped",
        rank=3,
        evidence=("state T",),
        rivals=("a debugger",),
        next_steps=("kill -CONT 9",),
    )


@pytest.mark.parametrize(
    ("state", "level", "expected", "exit_code"),
    [
        ("hung", "high", [("job-hung", "error", "rank", "3")], 1),
        ("hung", "medium", [("job-hung", "error", "run", "job")], 1),
        ("hung", "low", [("job-hung", "error", "run", "job"), ("job-hung", "info", "rank", "3")], 1),
        ("slow", "high", [("job-slow", "warning", "rank", "3")], 0),
        ("unknown", "low", [("job-unclear", "warning", "run", "job")], 4),
        ("healthy", "low", [], 0),
        ("starting", "low", [], 0),
    ],
)
def test_findings(
    monkeypatch: pytest.MonkeyPatch,
    state: JobState,
    level: Level,
    expected: list[tuple[str, str, str, str]],
    exit_code: int,
) -> None:
    answer = AttachVerdict(state=state, message="m", ranks=_RANKS, culprits=(_culprit(level),))
    monkeypatch.setattr(report, "judge", lambda look: answer)
    found = report.report(JobLook(hosts=()), ("nccltool",))
    assert [(one.code, one.severity, one.subject.kind, one.subject.name) for one in found.findings] == expected
    assert found.verdict.exit_code == exit_code
    for one in found.findings:
        if one.subject.kind == "rank":
            assert one.evidence == ("state T", "other possible cause: a debugger")
            assert one.remedy == "kill -CONT 9"


def test_a_host_that_was_not_reached_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = AttachVerdict(state="healthy", message="m", ranks=_RANKS)
    monkeypatch.setattr(report, "judge", lambda look: answer)
    look = JobLook(hosts=(), unreached=(Unread(what="n3", reason="timed out", missing="ssh n3 true", host="n3"),))
    (one,) = report.report(look, ()).findings
    assert (one.code, one.message, one.remedy) == (
        "not-looked-at",
        "n3 was not looked at: timed out",
        "ssh n3 true",
    )
    monkeypatch.setattr(report, "judge", lambda look: replace(answer, ranks=()))
    assert report.report(JobLook(hosts=()), ()).verdict.exit_code == 4
