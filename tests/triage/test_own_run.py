"""Triage of the folder of a run says what the run said."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.core.verdicts import Verdict
from nccltool.launch import finding_kinds as kinds
from nccltool.probe import document
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


def run_in(folder: Path, log: str, *findings: Finding) -> Path:
    """A run's folder."""
    run = replace(failing_run(), findings=findings, verdict=Verdict(status="incomplete", exit_code=3))
    folder.mkdir(exist_ok=True)
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
        (WATCHDOG.format(0) + WATCHDOG.format(1), kinds.COLLECTIVE_FAILED, NOBODY, "straggler-timeout", None),
        (ILLEGAL, kinds.GPU_ERROR, Subject(kind="rank", name="3"), "gpu-fault", Offender("rank", "3")),
        ("", kinds.GPU_OUT_OF_MEMORY, RANK_1, "out-of-memory", Offender("rank", "1")),
        # logs see causes where the run sees processes
        (SHM, kinds.RANK_DIED, RANK_1, "shm-size", Offender("rank", "0")),
    ],
)
def test_as_the_run_said(
    tmp_path: Path, log: str, kind: FindingKind, subject: Subject, cause: str, offender: Offender | None
) -> None:
    found = kind.finding(subject=subject, message="rank 1 on alpha did not come")
    incident = judged(run_in(tmp_path / "run", log, found))
    assert (incident.root_cause, incident.offender) == (cause, offender)
    assert incident.verdict.exit_code == 1


def test_a_run_that_went_well_has_no_root_cause(tmp_path: Path) -> None:
    incident = judged(run_in(tmp_path / "run", "all is well\n"))
    assert incident.root_cause == "none"


def test_the_proof_is_a_line_of_the_document(tmp_path: Path) -> None:
    found = kinds.RANK_HUNG.finding(subject=RANK_1, message="rank 1 did not come")
    folder = run_in(tmp_path / "run", "", found)
    (line,) = judged(folder).evidence
    assert '"code": "rank-hung"' in (folder / "run.json").read_text().splitlines()[line.line - 1]
    assert (line.file, line.text) == (str(folder / "run.json"), "ERROR rank-hung: rank 1 did not come")


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
