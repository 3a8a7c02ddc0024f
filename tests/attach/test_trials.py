"""A few of the trials of `scripts/bench attach`: real jobs over Gloo, put into a state, looked at once."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from nccltool.attach.judge.judge import judge
from nccltool.attach.look.here import look
from nccltool.attach.look.order import LookOrder
from nccltool.attach.seen.job import JobLook

pytest.importorskip("torch")

from benchmarks.attach_jobs import Job
from benchmarks.attach_states import BY_NAME

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(bool(os.geteuid()), reason="needs root: py-spy reads other processes"),
    pytest.mark.skipif(not shutil.which("py-spy", path=Path(sys.executable).parent), reason="needs py-spy"),
]


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("healthy", "ddp"),
        ("stopped", "fsdp"),
        ("asleep in its own code", "pipeline"),
        ("data loader on a FIFO", "ddp"),
        ("different number of batches", "fsdp"),
        ("GIL held by native code", "ddp"),
    ],
)
def test_a_job_in_a_state(name: str, strategy: str, tmp_path: Path) -> None:
    scenario = BY_NAME[name]
    with Job(scenario, strategy, 3, 1, tmp_path / "job") as job:
        job.spoil()
        time.sleep(scenario.settle_s)
        answer = look(LookOrder(pid=job.commands[0].pid))
    assert answer.look is not None, answer.reason
    verdict = judge(JobLook(hosts=(answer.look,)))
    assert verdict.state in scenario.states, verdict
    named = [(one.cause, one.rank) for one in verdict.culprits if one.level != "low"]
    assert named == [(cause, 1) for cause in scenario.causes]
