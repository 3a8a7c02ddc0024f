"""A real mpirun over two hosts that it reaches by ssh, and torchrun started by hand on each."""

import json
import re
import shutil
import signal
from collections.abc import Callable, Sequence

import pytest

from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.sshd import Sshd
from tests.support.commands import PROBE, Command, Ended

pytestmark = pytest.mark.lab

LIMIT_S = 90.0
QUICK = ("--op", "all_reduce", "--sizes", "1KiB", "-n", "4", "--timeout", "20")
Mpirun = Callable[..., Command]


@pytest.fixture
def mpirun(lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start) -> Mpirun:
    """Starts an mpirun of Open MPI on the first host."""
    if shutil.which("mpirun") is None or shutil.which("ompi_info") is None:
        pytest.skip("needs Open MPI: apt-get install openmpi-bin")
    ssh = with_sshd(lab)
    # one core a rank would put the first ranks of both hosts on the same one
    always = ("--allow-run-as-root", "--bind-to", "none", "--mca", "plm_rsh_args", f"-F{ssh.config}")
    return lambda *words, **env: start(lab.hosts[0], ("mpirun", *always, *words), **env)


def assert_measured(ended: Ended, hosts: Sequence[str], world: int) -> None:
    assert ended.code == 0, ended.said
    document = json.loads(ended.stdout)
    told = document["run"]
    assert (told["nodes"], told["world_size"], told["hosts"]) == (len(hosts), world, list(hosts)), ended.said
    assert (document["status"], told["emulated"]) == ("pass", False), ended.said


@pytest.mark.parametrize(
    ("words", "hosts", "world"),
    [
        pytest.param("-n 2", ("n1",), 2, id="one host", marks=pytest.mark.slow),
        pytest.param("-n 4 --host n1:2,n2:2", ("n1", "n2"), 4, id="by slot", marks=pytest.mark.slow),
        pytest.param("-n 4 --host n1:2,n2:2 --map-by node", ("n1", "n2"), 4, id="dealt out"),
    ],
)
def test_open_mpi(lab: Lab, mpirun: Mpirun, words: str, hosts: Sequence[str], world: int) -> None:
    assert_measured(mpirun(*words.split(), *PROBE, *QUICK, "--format", "json", "-q").wait(LIMIT_S), hosts, world)
    assert lab.quiet()


@pytest.mark.slow
def test_dealt_out_unequally(lab: Lab, mpirun: Mpirun) -> None:
    """Ranks 0 and 2 are on n1, rank 1 is on n2: two nodes, of two ranks and one."""
    words = ("-n", "3", "--host", "n1:2,n2:1", "--map-by", "node")
    ended = mpirun(*words, *PROBE, *QUICK, "-q").wait(LIMIT_S)
    assert ended.code == 3, ended.said
    assert "\n2 nodes on n[1-2], 3 ranks, " in ended.stdout
    assert "\nERROR ranks-per-node: node 1 (n2) has 1 rank, but the others have 2\n" in ended.stdout
    assert "mpirun --map-by ppr:N:node" in ended.stdout
    assert lab.quiet()


def test_mpirun_on_a_host_without_ranks(lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], start: Start) -> None:
    """As on a login node: nobody can know where rank 0 is, and the command says what to do."""
    if shutil.which("mpirun") is None:
        pytest.skip("needs Open MPI: apt-get install openmpi-bin")
    ssh = with_sshd(lab_of_four)
    always = ("mpirun", "--allow-run-as-root", "--bind-to", "none", "--mca", "plm_rsh_args", f"-F{ssh.config}")
    argv = (*always, "-n", "2", "--host", "n2,n3", *PROBE, *QUICK, "--format", "json", "-q")
    ended = start(lab_of_four.hosts[0], argv).wait(LIMIT_S)
    assert ended.code == 2, ended.said
    assert (
        "Error: mpirun does not report the address of rank 0\n  -> set --rdzv-endpoint HOST:PORT to an"
        in ended.stderr
    )
    assert_measured(
        start(lab_of_four.hosts[0], (*argv, "--rdzv-endpoint", "n2:29500")).wait(LIMIT_S), ("n2", "n3"), 2
    )
    assert lab_of_four.quiet()


@pytest.mark.slow
def test_a_rank_is_killed(lab: Lab, mpirun: Mpirun) -> None:
    words = ("-n", "2", "--host", "n1,n2", "-x", "NCCLTOOL_FAULT")
    ended = mpirun(*words, *PROBE, *QUICK, "-q", NCCLTOOL_FAULT="kill:rank=1,op=all_reduce,size=1KiB").wait(
        LIMIT_S
    )
    assert ended.code != 0, ended.said
    assert re.search(
        r"^ERROR rank-died: rank 1 on n2 \(node 1, pid \d+\) was killed by SIGKILL in", ended.stdout, re.M
    )
    assert lab.quiet()


@pytest.mark.slow
def test_ctrl_c_at_mpirun(lab: Lab, mpirun: Mpirun) -> None:
    """Rank 0 has a second to show what there is."""
    slow = {"NCCLTOOL_FAULT": "slow:rank=1,size=64KiB,ms=500"}
    two = ("--op", "all_reduce", "--sizes", "1KiB,64KiB", "-n", "60", "--timeout", "20", "-q")
    command = mpirun("-n", "2", "--host", "n1,n2", "-x", "NCCLTOOL_FAULT", *PROBE, *two, **slow)
    command.wait_for("enter", rank=0, bytes=65536)
    command.process.send_signal(signal.SIGINT)
    ended = command.wait(LIMIT_S)
    assert "INCOMPLETE interrupted: 1 of " in ended.stdout, ended.said
    assert lab.quiet()


@pytest.mark.slow
def test_mpirun_is_killed(lab: Lab, mpirun: Mpirun) -> None:
    slow = {"NCCLTOOL_FAULT": "slow:rank=1,op=all_reduce,ms=500"}
    command = mpirun(
        "-n", "2", "--host", "n1,n2", "-x", "NCCLTOOL_FAULT", *PROBE, *QUICK, "-n", "60", "-q", **slow
    )
    command.wait_for("enter", rank=0)
    command.process.kill()
    assert lab.quiet()
