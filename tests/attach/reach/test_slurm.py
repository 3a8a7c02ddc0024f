"""The nodes of a Slurm job."""

import sys
from pathlib import Path

import msgspec
import pytest

from nccltool.attach.look.order import LookOrder
from nccltool.attach.reach import slurm
from nccltool.core.errors import BadInput, NotJudged
from tests.attach.reach.fakes import on_the_path


def test_one_srun_for_all_nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_the_path(monkeypatch, tmp_path, squeue="echo 4713 4 4711_2", srun="")
    (command,) = slurm.commands("4711_2", None)
    assert command.argv[:3] == ("srun", "--jobid=4713", "--nodes=4")
    assert "--overlap" in command.argv
    assert command.argv[-4:] == (sys.executable, "-P", "-m", "nccltool.attach.reach.far_end")
    assert command.hosts == 4
    assert msgspec.json.decode(command.encoded(LookOrder()), type=LookOrder) == LookOrder(slurm_job="4713")


def test_a_job_array_is_several_jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_the_path(monkeypatch, tmp_path, squeue="echo 4712 1 4711_1; echo 4711 1 4711_0", srun="")
    with pytest.raises(BadInput) as caught:
        slurm.commands("4711", None)
    assert caught.value.message == "--job 4711 has 2 parts that run: 4711_1, 4711_0"
    assert caught.value.remedy == "choose one: --job 4711_1"


@pytest.mark.parametrize(
    ("squeue", "message"),
    [
        ("echo Invalid job id >&2; exit 1", "--job 4711 does not run: Invalid job id"),
        ("exit 0", "--job 4711 does not run"),
        (
            "echo squeue: fatal: no controller >&2; exit 1",
            "--job 4711: squeue failed: squeue: fatal: no controller",
        ),
        ("exit 3", "--job 4711: squeue failed: exit code 3"),
    ],
)
def test_a_job_that_does_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, squeue: str, message: str
) -> None:
    on_the_path(monkeypatch, tmp_path, squeue=squeue, srun="")
    with pytest.raises(NotJudged) as caught:
        slurm.commands("4711", None)
    assert caught.value.message == message


def test_what_is_no_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not the number"):
        slurm.commands("-rf", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="srun or squeue not found"):
        slurm.commands("1", None)
