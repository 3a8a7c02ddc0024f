"""What the logs of a failed run say beyond what the runner found."""

from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.core.verdicts import Verdict
from nccltool.probe.result import Run
from nccltool.triage import failed_run
from tests.incidents import LOGS
from tests.samples import failing_run

RAISED = "[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: no such file\n"
REFUSED = "ssh: connect to host n4 port 22: Connection refused\n"
LOST = "[rank0]: RuntimeError: [/gloo/transport/tcp/pair.cc:537] Connection closed by peer [10.0.0.2]:12524\n"
KILLED = "E0101 03:04:05.000000 7 torch/x.py:1] failed (exitcode: -9) local_rank: 0 (pid: 47) of binary: a\n"
OOM = "[Fri Nov 21 11:02:19 2026] Memory cgroup out of memory: Killed process 4711 (python) total-vm:1000kB\n"


def found(code: str, rank: str = "1") -> Finding:
    return Finding(code=code, severity="error", subject=Subject(kind="rank", name=rank), message=code)


def failed(*errors: Finding) -> Run:
    return replace(failing_run(), findings=errors, verdict=Verdict(status="incomplete", exit_code=3))


def added_to(run: Run, folder: Path) -> tuple[Finding, ...]:
    return failed_run.findings(run.info, run.verdict, run.findings, folder)


@pytest.fixture(autouse=True)
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dmesg that says what is in a file."""
    said = tmp_path / "kernel"
    said.write_text("")
    script = tmp_path / "bin/dmesg"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/words\nwhile read -r line; do echo "$line"; done < {said}\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    return said


@pytest.mark.parametrize(
    ("log", "errors", "words"),
    [
        (LOGS["shm-64m-pod"], [found("rank-died")], "the logs show shm-size, file /dev/shm (confidence 0.98): "),
        (RAISED, [found("rank-error")], ""),
        (RAISED, [found("rank-error", "0")], ""),
        (RAISED, [found("rank-died", "0")], ""),
        (RAISED, [found("rank-died", "1")], "app-error, rank 1 (confidence 0.64): "),
        (RAISED, [replace(found("process-stopped"), subject=Subject(kind="link", name="n1 - n2"))], ""),
        (KILLED, [found("rank-died", "1")], ""),
        (KILLED, [found("collective-failed", "")], ""),
        (LOST, [found("rank-died")], ""),
        (REFUSED, [found("rank-died")], ""),  # it names another host
        (REFUSED, [found("host-refused")], ""),
        (LOGS["retried-and-finished"], [found("rank-died")], ""),
        ("all is well\n", [found("rank-died")], ""),
        ("", [found("rank-died")], ""),
    ],
)
def test_only_what_is_not_known_yet_is_said(tmp_path: Path, log: str, errors: list[Finding], words: str) -> None:
    (tmp_path / "log.txt").write_text(log)
    said = added_to(failed(*errors), tmp_path)
    assert [(finding.code, finding.severity) for finding in said] == ([("triage", "info")] if words else [])
    for finding in said:
        assert words in finding.message
        assert finding.evidence[0].startswith("log.txt:")
        assert finding.page.startswith("docs/runbooks/causes/")
        assert finding.remedy


def test_the_kernel_is_asked_since_the_run_began(tmp_path: Path, kernel: Path) -> None:
    (tmp_path / "log.txt").write_text(LOST)
    (tmp_path / "events.jsonl").write_text('{"event":"spawned","rank":1,"pid":4711}\n')
    kernel.write_text(OOM)
    (finding,) = added_to(failed(found("rank-died")), tmp_path)
    assert finding.message.startswith("the logs show out-of-memory")
    assert OOM.strip() in finding.evidence[0]
    assert (tmp_path / "words").read_text().startswith("--ctime --since 20")


def test_a_process_of_somebody_else_that_the_kernel_killed_is_no_cause(tmp_path: Path, kernel: Path) -> None:
    (tmp_path / "log.txt").write_text(LOST)
    (tmp_path / "events.jsonl").write_text('{"event":"spawned","rank":1,"pid":47}\n')
    kernel.write_text(OOM)
    assert added_to(failed(found("rank-died")), tmp_path) == ()


def test_a_rank_that_the_kernel_killed_is_not_named_where_the_run_names_another(
    tmp_path: Path, kernel: Path
) -> None:
    (tmp_path / "log.txt").write_text(LOST)
    (tmp_path / "events.jsonl").write_text('{"event":"spawned","rank":1,"pid":4711}\n')
    kernel.write_text("[Fri Nov 21 11:02:19 2026] oom-kill:constraint=CONSTRAINT_MEMCG,task=a,pid=4711,uid=0\n")
    assert added_to(failed(found("rank-died", "2")), tmp_path) == ()
    (finding,) = added_to(failed(found("rank-died", "1")), tmp_path)
    assert "out-of-memory, rank 1 (" in finding.message


@pytest.mark.parametrize("code", [0, 4, 130])
def test_a_run_that_did_not_fail_is_not_looked_at(tmp_path: Path, code: int) -> None:
    (tmp_path / "log.txt").write_text(LOGS["shm-64m-pod"])
    run = replace(failed(found("rank-died")), verdict=Verdict(status="unknown", exit_code=code))
    assert added_to(run, tmp_path) == ()


def test_a_failure_of_its_own_is_said_and_nothing_more(tmp_path: Path) -> None:
    (tmp_path / "log.txt").mkdir()
    (finding,) = added_to(failed(found("rank-died")), tmp_path)
    assert finding.severity == "info"
    assert finding.message.startswith("triage of the run's logs failed: IsADirectoryError: ")


@pytest.mark.parametrize("log", [LOST, KILLED])
def test_a_killed_process_is_named_by_its_rank(tmp_path: Path, kernel: Path, log: str) -> None:
    """torchrun's line names the agent of the rank, which is no rank."""
    (tmp_path / "log.txt").write_text(log)
    (tmp_path / "events.jsonl").write_text('{"event":"spawned","rank":1,"node_rank":1,"pid":4711}\n')
    kernel.write_text("[Fri Nov 21 11:02:19 2026] oom-kill:constraint=CONSTRAINT_MEMCG,task=a,pid=4711,uid=0\n")
    (finding,) = added_to(failed(found("rank-died")), tmp_path)
    assert "out-of-memory, rank 1 (" in finding.message
