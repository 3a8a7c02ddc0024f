"""SIGTERM and what all ranks save after it, over two hosts: by ssh, and in an allocation of Slurm."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab import slurm
from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.slurm import Slurm
from tests.lab.sshd import Sshd
from tests.lab.test_checkpoints import LIMIT_S, document, errors
from tests.support.commands import NCCLTOOL, Command, Ended, parent_of, until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SMALL = ("--layers", "1", "--width", "16", "--momentum", "0.9", "--time-steps", "0")
TRAIN = (*NCCLTOOL, "train", "ddp", *SMALL, "--format", "json", "-q", "--checkpoint-every", "9999")
LONG = ("--steps", "9999", "--grace", "20")


def of_rank_1(command: Command) -> dict[str, int]:
    """The process of rank 1 on n2, and those above it."""
    (rank,) = {event["pid"] for event in command.events() if event["event"] == "spawned" and event["rank"] == 1}
    agent = parent_of(parent_of(rank))
    return {
        "rank": rank,
        "agent": agent,
        "node process": parent_of(agent),
        "watchdog": parent_of(parent_of(agent)),
    }


def has_trained(command: Command) -> None:
    command.wait_for("trained-step", 90.0, number=2)


def assert_all_saved(ended: Ended, folder: Path, code: int) -> int:
    told = document(ended)
    (problem,) = errors(told)
    assert (ended.code, problem["code"]) == (code, "emergency-checkpoint"), ended.said
    (saved,) = (folder / "ddp").glob("step-*")
    step = int(saved.name[5:])
    assert f"all ranks saved step {step}, " in problem["message"]
    assert (len(told["steps"]), told["run"]["hosts"]) == (step, ["n1", "n2"]), ended.said
    return step


def assert_it_goes_on(ended: Ended, step: int) -> None:
    told = document(ended)
    assert (ended.code, told["oracle"]["ok"]) == (0, True), ended.said
    assert [one["step"] for one in told["steps"]] == [step + 1, step + 2]


@pytest.mark.parametrize("whom", ["command", "rank", "agent", "node process", "watchdog", "every process of n2"])
def test_by_ssh(lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start, tmp_path: Path, whom: str) -> None:
    folder = tmp_path / "c"
    words = ("--hosts", "n[1-2]", "--ssh", " ".join(with_sshd(lab).ssh), "--checkpoint", str(folder))
    command = start(lab.hosts[0], (*TRAIN, *words, *LONG))
    has_trained(command)
    if whom == "command":
        command.send(signal.SIGTERM)
    elif whom.startswith("every"):  # as its service manager does when it shuts down; logins end later
        top = of_rank_1(command)["watchdog"]
        for pid in [top, *below(top)]:
            os.kill(pid, signal.SIGTERM)
    else:
        os.kill(of_rank_1(command)[whom], signal.SIGTERM)
    step = assert_all_saved(command.wait(LIMIT_S), folder, 130 if whom == "command" else 3)
    assert command.everything_gone()
    assert_it_goes_on(start(lab.hosts[0], (*TRAIN, *words, "--steps", str(step + 2))).wait(LIMIT_S), step)
    assert lab.quiet()


def below(pid: int) -> list[int]:
    """All descendants of a process."""
    children = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*children, *(one for child in children for one in below(child))]


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Slurm]:
    if reason := slurm.missing():
        pytest.skip(reason)
    with Slurm(lab, kill_wait_s=30) as started:
        yield started


@pytest.mark.parametrize("how", ["command", "scancel --signal=TERM", "scancel"])
def test_in_an_allocation_of_slurm(cluster: Slurm, start: Start, tmp_path: Path, how: str) -> None:
    folder = tmp_path / "c"
    words = ("--nodes", "2", "--checkpoint", str(folder))
    command = start(cluster.first, ("salloc", "-N2", *TRAIN, *words, *LONG), **cluster.env)
    has_trained(command)
    if how == "command":
        os.kill(the_command(command), signal.SIGTERM)
    else:
        ((job, *_),) = cluster.jobs("JobID")
        cluster.run(*how.split(), job)
    step = assert_all_saved(command.wait(LIMIT_S), folder, 130 if how == "command" else 3)
    assert cluster.lab.quiet()
    cluster.wait_until_idle()
    more = ("salloc", "-N2", *TRAIN, *words, "--steps", str(step + 2))
    assert_it_goes_on(start(cluster.first, more, **cluster.env).wait(LIMIT_S), step)


def the_command(command: Command) -> int:
    """nccltool itself, which salloc has started."""
    (pid,) = (pid for pid in command.living() if parent_of(pid) == command.process.pid)
    return pid


@pytest.mark.parametrize("how", ["scancel --signal=TERM", "scancel"])
def test_in_a_batch_job(cluster: Slurm, start: Start, tmp_path: Path, how: str) -> None:
    folder, output = tmp_path / "c", tmp_path / "out"
    words = " ".join((*TRAIN, "--nodes", "2", "--checkpoint", str(folder), *LONG))
    command = start(
        cluster.first, ("sbatch", "-N2", "--wait", f"--output={output}", f"--wrap=exec {words}"), **cluster.env
    )
    assert until(lambda: any(e["event"] == "trained-step" and e["number"] == 2 for e in command.events()), 90.0)
    ((job, *_),) = cluster.jobs("JobID")
    cluster.run(*how.split(), job)
    command.wait(LIMIT_S)
    assert until(lambda: output.read_text().rstrip().endswith("}"), 30.0), output.read_text()
    print(output.read_text())
    (saved,) = (folder / "ddp").glob("step-*")
    assert f"all ranks saved step {int(saved.name[5:])}, " in output.read_text()
    assert cluster.lab.quiet()
