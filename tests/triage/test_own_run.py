"""Triage of the folder of a run says what the run said."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.core.verdicts import Verdict
from nccltool.launch import finding_kinds as kinds
from nccltool.probe import document
from nccltool.probe import finding_kinds as probe_kinds
from nccltool.train import finding_kinds as train_kinds
from nccltool.triage import failed_run
from nccltool.triage import run as triage_run
from nccltool.triage.incident import Incident, Offender
from tests.samples import failing_run

WATCHDOG = (
    "[rank {0}] [rank{0}]:[E1121 14:37:26.1 ProcessGroupNCCL.cpp:685] [Rank {0}] "
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
    " Timeout(ms)=70000) ran for 70012 milliseconds before timing out.\n"
)
LOST = (
    "[rank {0}] RuntimeError: [/gloo/transport/tcp/pair.cc:537] Connection closed by peer [192.0.2.1]:12524\n"
    "[rank {0}] NCCL error: remote process exited or there was a network error, NCCL version 2.29.7\n"
)
ILLEGAL = "[rank 3] torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
SHM = "[rank 0] RuntimeError: unable to write to file </torch_1_2>: No space left on device (28)\n"
RANK_1, NOBODY = Subject(kind="rank", name="1"), Subject(kind="run", name="all ranks")


INCOMPLETE = Verdict(status="incomplete", exit_code=3)


def run_in(folder: Path, log: str, *findings: Finding, verdict: Verdict = INCOMPLETE) -> Path:
    """A run's folder."""
    run = replace(failing_run(), findings=findings, verdict=verdict)
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "log.txt").write_text(log)
    (folder / "run.json").write_text(document.to_json(run))
    (folder / "events.jsonl").write_text(f'{{"event":"log","rank":1,"text":"{ILLEGAL.strip()}"}}\n')
    (folder / "job.json").write_text("{}")
    return folder


def judged(*folders: Path) -> Incident:
    return triage_run.triage([str(folder) for folder in folders], ("nccltool", "triage"))


@pytest.mark.parametrize(
    ("log", "kind", "subject", "cause", "offender"),
    [
        ("", kinds.RANK_DIED, RANK_1, "peer-exited", Offender("rank", "1")),
        ("", kinds.RANK_HUNG, RANK_1, "straggler-timeout", Offender("rank", "1")),
        ("", kinds.TERMINATED, NOBODY, "preempted", None),
        ("", kinds.AGENT_KILLED, Subject(kind="host", name="beta"), "peer-exited", Offender("host", "beta")),
        (WATCHDOG.format(0), kinds.RANK_HUNG, RANK_1, "straggler-timeout", Offender("rank", "1")),
        (LOST.format(2), kinds.RANK_DIED, RANK_1, "peer-exited", Offender("rank", "1")),
        # a survivor's line names nobody where the run said that nobody stands out
        (LOST.format(2) + LOST.format(0), kinds.COLLECTIVE_FAILED, NOBODY, "peer-exited", None),
        # nor was anybody late where all ranks waited in one call
        (WATCHDOG.format(0) + WATCHDOG.format(1), kinds.COLLECTIVE_FAILED, NOBODY, "other", None),
        (ILLEGAL, kinds.GPU_ERROR, Subject(kind="rank", name="3"), "gpu-fault", Offender("rank", "3")),
        ("", kinds.GPU_OUT_OF_MEMORY, RANK_1, "out-of-memory", Offender("rank", "1")),
        # logs see causes where the run sees processes
        (SHM, kinds.RANK_DIED, RANK_1, "shm-size", Offender("rank", "0")),
    ],
)
def test_as_the_run_said(
    tmp_path: Path, log: str, kind: FindingKind, subject: Subject, cause: str, offender: Offender | None
) -> None:
    found = kind.finding(subject=subject, message="rank 1 on alpha made no progress")
    incident = judged(run_in(tmp_path / "run", log, found))
    assert (incident.root_cause, incident.offender) == (cause, offender)
    assert incident.verdict.exit_code == 1


PASS, WARN = Verdict(status="pass", exit_code=0), Verdict(status="warn", exit_code=0)
UNKNOWN, INTERRUPTED = Verdict(status="unknown", exit_code=4), Verdict(status="incomplete", exit_code=130)
LATE = probe_kinds.LATE_RANK.finding(subject=RANK_1, message="rank 1 came late", severity="warning")


@pytest.mark.parametrize(
    ("verdict", "findings", "why", "exit_code"),
    [
        (PASS, (), "nccltool probe passed", 0),
        (WARN, (LATE,), "nccltool probe passed with warnings (late-rank)", 0),
        (UNKNOWN, (), "the run could not tell whether anything failed", 4),
        (INTERRUPTED, (), "the run was interrupted before it completed", 4),
    ],
)
@pytest.mark.parametrize("log", ["", "all is well\n", LOST.format(2)])
def test_a_run_in_which_nothing_failed_has_no_root_cause(
    tmp_path: Path, verdict: Verdict, findings: tuple[Finding, ...], why: str, exit_code: int, log: str
) -> None:
    """What only looks like a failure in its log does not contradict a run that passed."""
    if exit_code and log == LOST.format(2):
        pytest.skip("a run that could not tell leaves the word to its log")
    incident = judged(run_in(tmp_path / "run", log, *findings, verdict=verdict))
    assert (incident.root_cause, incident.verdict.exit_code) == ("none", exit_code)
    assert why in incident.candidates[0].why


FAIL = Verdict(status="fail", exit_code=1)


@pytest.mark.parametrize(
    ("kind", "subject", "cause", "offender"),
    [
        (probe_kinds.WRONG_DATA, RANK_1, "data-corruption", Offender("rank", "1")),
        (probe_kinds.LATE_RANK, RANK_1, "straggler-timeout", Offender("rank", "1")),
        (train_kinds.TRAIN_WRONG, RANK_1, "data-corruption", Offender("rank", "1")),
    ],
)
def test_a_check_that_failed_is_the_root_cause(
    tmp_path: Path, kind: FindingKind, subject: Subject, cause: str, offender: Offender | None
) -> None:
    found = kind.finding(subject=subject, message="it is wrong", remedy="look there")
    incident = judged(run_in(tmp_path / "run", "", found, verdict=FAIL))
    assert (incident.root_cause, incident.offender, incident.verdict.exit_code) == (cause, offender, 1)
    assert incident.candidates[0].why[0] == f"the run found {kind.code}: it is wrong"
    assert incident.findings[0].remedy == "look there"


def test_a_number_below_a_threshold_only_fits_a_cause(tmp_path: Path) -> None:
    low = probe_kinds.BUSBW_LOW.finding(subject=Subject(kind="operation", name="all_reduce"), message="too low")
    incident = judged(run_in(tmp_path / "run", "", low, verdict=FAIL))
    assert incident.verdict.exit_code == 1
    assert incident.confidence < failed_run.CONFIDENCE
    assert "the run found busbw-low: too low" in incident.candidates[0].why


def test_whom_the_run_named_is_told_beside_another_cause_in_the_log(tmp_path: Path) -> None:
    found = kinds.RANK_DIED.finding(subject=RANK_1, message="rank 1 was killed")
    incident = judged(run_in(tmp_path / "run", SHM, found))
    assert incident.root_cause == "shm-size"
    assert "the run found rank-died: rank 1 was killed" in incident.candidates[0].why[:2]


def test_the_log_and_the_document_of_a_run_stand_for_the_run(tmp_path: Path) -> None:
    folder = run_in(
        tmp_path / "run", "", kinds.RANK_HUNG.finding(subject=RANK_1, message="rank 1 made no progress")
    )
    for name in ("log.txt", "run.json"):
        assert judged(folder / name).root_cause == "straggler-timeout"


def test_of_several_runs_the_one_that_failed_counts(tmp_path: Path) -> None:
    found = kinds.RANK_HUNG.finding(subject=RANK_1, message="rank 1 made no progress")
    for name, findings, verdict in (("1", (), PASS), ("2", (found,), INCOMPLETE), ("3", (), PASS)):
        run_in(tmp_path / name, "", *findings, verdict=verdict)
    incident = judged(tmp_path)
    assert (incident.root_cause, incident.verdict.exit_code) == ("straggler-timeout", 1)


def test_a_preflight_speaks_for_the_runs_inside_it(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "pre", "", verdict=PASS)
    (folder / "events.jsonl").unlink()
    run_in(folder / "runs/across/1", "", verdict=WARN)
    incident = judged(folder)
    assert incident.candidates[0].why[0] == "nccltool probe passed"
    assert "with warnings" not in " ".join(incident.candidates[0].why)


def test_the_proof_is_a_line_of_the_document(tmp_path: Path) -> None:
    found = kinds.RANK_HUNG.finding(subject=RANK_1, message="rank 1 made no progress")
    folder = run_in(tmp_path / "run", "", found)
    (line,) = judged(folder).evidence
    assert '"code": "rank-hung"' in (folder / "run.json").read_text().splitlines()[line.line - 1]
    assert (line.file, line.text) == (str(folder / "run.json"), "ERROR rank-hung: rank 1 made no progress")


def test_what_only_looks_like_a_run_is_read_as_logs(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(ILLEGAL)
    (tmp_path / "run.json").write_text("{}")
    assert judged(tmp_path).root_cause == "gpu-fault"


def test_a_damaged_document_leaves_the_logs(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "run", ILLEGAL)
    (folder / "run.json").write_text("{")
    assert judged(folder).root_cause == "gpu-fault"


def test_a_record_that_is_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "run", ILLEGAL)
    (folder / "run.json").unlink()
    os.mkfifo(folder / "run.json")
    assert judged(folder).root_cause == "gpu-fault"
