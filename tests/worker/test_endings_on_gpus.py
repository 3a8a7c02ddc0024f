"""How runs on GPUs end, on a paper machine: the rank is named whose fault it was, and triage says the same."""

from pathlib import Path

import pytest

from nccltool.launch import finding_kinds  # noqa: F401  what the findings of a run stand for
from nccltool.triage import run as triage_run
from tests.papergpu.machine import PaperFault, PaperMachine
from tests.worker.conftest import Start

pytestmark = [pytest.mark.torch]

ASKED = ("--nodes", "1", "--nproc-per-node", "3", "--op", "all_reduce", "--sizes", "1KiB,64KiB", "-n", "3")
SHORT_S, LONG_S = 3.0, 60.0
LIMIT_S = 200.0
CALL = 12
"""Of rank 1: the process group has been set up."""


@pytest.mark.parametrize(
    ("on_the_gpu", "drill", "watchdog_s", "timeout_s", "found", "cause"),
    [
        ("illegal-access", "", None, 30, ("gpu-error", "rank", "1"), "gpu-fault"),
        pytest.param("", "stop", SHORT_S, 60, ("rank-hung", "rank", "1"), "straggler-timeout"),
        pytest.param("ecc", "", None, 30, ("gpu-error", "rank", "1"), "gpu-fault", marks=pytest.mark.slow),
        pytest.param(
            *("nccl-out-of-memory", "", None, 30, ("gpu-out-of-memory", "rank", "1"), "out-of-memory"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("async-error", "", None, 30, ("collective-failed", "run", "all ranks"), "peer-exited"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("", "hang", SHORT_S, 60, ("rank-hung", "rank", "1"), "straggler-timeout"), marks=pytest.mark.slow
        ),
        pytest.param(
            *("", "stop", LONG_S, 6, ("rank-hung", "rank", "1"), "straggler-timeout"), marks=pytest.mark.slow
        ),
        pytest.param(
            *("", "kill", SHORT_S, 60, ("rank-died", "rank", "1"), "peer-exited"), marks=pytest.mark.slow
        ),
    ],
)
def test_the_rank_whose_fault_it_was(
    start: Start,
    tmp_path: Path,
    on_the_gpu: str,
    drill: str,
    watchdog_s: float | None,
    timeout_s: int,
    found: tuple[str, str, str],
    cause: str,
) -> None:
    faults = (PaperFault(rank=1, call=CALL, kind=on_the_gpu),) if on_the_gpu else ()
    env = PaperMachine(name="three", gpus=3, faults=faults, watchdog_s=watchdog_s).write(tmp_path / "machine")
    if drill:
        env["NCCLTOOL_FAULT"] = f"{drill}:rank=1,size=64KiB"
    command = start(*ASKED, "--timeout", str(timeout_s), **env)
    ended = command.wait(LIMIT_S)
    assert command.everything_gone()
    (problem,) = ended.problems
    subject = problem["subject"]
    assert (ended.code, problem["code"], subject["kind"], subject["name"]) == (3, *found), ended.said
    if watchdog_s == SHORT_S and drill != "kill":
        assert any("Watchdog caught collective operation timeout" in line for line in problem["evidence"])
    incident = triage_run.triage([str(ended.run)], ("nccltool", "triage"))
    named = (incident.offender.kind, incident.offender.name) if incident.offender else ("run", "all ranks")
    assert (incident.root_cause, *named) == (cause, *found[1:])


def test_what_was_set_in_the_ranks_is_said(start: Start, tmp_path: Path) -> None:
    env = PaperMachine(name="two", gpus=2).write(tmp_path / "machine")
    words = ("--nodes", "1", "--nproc-per-node", "2", "--op", "all_reduce", "--sizes", "1KiB", "-n", "2")
    ended = start(*words, **env).wait(LIMIT_S)
    assert ended.code == 0, ended.said
    assert ended.document["run"]["set_in_ranks"] == ["NCCL_DEBUG=WARN"]
