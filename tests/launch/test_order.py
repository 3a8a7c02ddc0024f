"""Which launcher starts the nodes, in its one line, and what cannot be combined."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import order
from nccltool.launch.launchers.base import LaunchPlan
from tests.launch.test_inside import OPEN_MPI, TORCHRUN
from tests.support.options import of_probe

NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
JOIN = ("--nodes", "2", "--node-rank", "1", "--rdzv-endpoint", "n1:29500")


def chosen(*words: str, env: Mapping[str, str] = NO_GPU) -> LaunchPlan:
    return order.plan_launch(of_probe(*words).start, {**NO_GPU, **env})


@pytest.fixture
def ssh_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name, so that the tests need no ssh client."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text("#!/bin/sh\n")
    (tmp_path / "bin/ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")


pytestmark = pytest.mark.usefixtures("ssh_there")


@pytest.mark.parametrize(
    ("words", "env", "launcher", "why"),
    [
        ((), {}, "local", "no --hosts, no scheduler detected"),
        (("--launcher", "local"), {}, "local", "--launcher local"),
        (JOIN, {}, "local", "--node-rank 1 joins n1:29500"),
        (("--hosts", "n[1-3]"), {}, "ssh", "--hosts names 3 hosts"),
        (
            ("--hosts", "n[1-3]", "--nodes", "2"),
            {},
            "ssh",
            "--hosts names 3 hosts; --nodes 2 uses the first",
        ),
        (("--launcher", "ssh", "--hosts", "n1"), TORCHRUN, "ssh", "--hosts names 1 host"),
        ((), TORCHRUN, "local", "rank 3 of a job started by torchrun"),
        ((), OPEN_MPI, "local", "rank 1 of a job started by mpirun"),
        (("--launcher", "local"), TORCHRUN, "local", "--launcher local"),
    ],
)
def test_the_launcher_and_why(words: tuple[str, ...], env: dict[str, str], launcher: str, why: str) -> None:
    launch = chosen(*words, env=env).launch
    assert (launch.launcher, launch.why) == (launcher, why)


@pytest.mark.parametrize(("env", "is_hurried"), [(OPEN_MPI, True), (TORCHRUN, False), ({}, False)])
def test_who_kills_soon_after_sigterm(env: dict[str, str], is_hurried: bool) -> None:
    assert chosen(env=env).launch.is_hurried is is_hurried


def test_what_ssh_starts() -> None:
    where = chosen("--hosts", "n1,me@n2:22", "--nproc-per-node", "8", "--ssh", "ssh -F 'my config'")
    assert (where.nodes, where.nproc, where.node_ranks) == (2, 8, (0, 1))
    assert (where.leads, where.ranks_seen, where.emulated) == (True, 0, False)
    assert [command.argv[:3] for command in where.launch.commands] == [("ssh", "-F", "my config")] * 2
    assert where.launch.commands[0].argv[-1].startswith(sys.executable)
    python = chosen("--hosts", "n1", "--remote-python", "/opt/python").launch.commands[0].argv[-1]
    assert python == "/opt/python -P -m nccltool.worker"


def test_ranks_on_a_host_are_not_counted_here() -> None:
    assert chosen("--hosts", "n1", env={"CUDA_VISIBLE_DEVICES": "0,1"}).nproc is None
    assert chosen("--hosts", "n1", "--nproc-per-node", "auto").nproc is None


def test_a_hostfile(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("\ufeffn[1-2] # two\n", encoding="utf-8")
    where = chosen("--hostfile", str(file))
    assert (where.nodes, where.launch.why) == (2, "--hostfile names 2 hosts")


def test_variables_that_go_to_other_hosts() -> None:
    env = {"NCCL_DEBUG": "INFO", "GLOO_SOCKET_IFNAME": "eth0", "TORCH_X": "1", "MINE": "2", "HOME": "/x"}
    where = chosen("--hosts", "n1", "--remote-env", "MINE, HOME,", env=env)
    assert where.env == env
    without = {name: value for name, value in env.items() if name not in ("MINE", "HOME")}
    assert chosen("--hosts", "n1", env=env).env == without
    assert chosen(env=env).env == {}


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (("--launcher", "ssh"), {}, "--launcher ssh needs hosts"),
        (("--launcher", "mpi"), {}, "--launcher mpi cannot start a run from here"),
        (("--launcher", "kubernetes"), {}, "--launcher kubernetes cannot start a run from here"),
        (("--launcher", "local", "--hosts", "n1"), {}, "--hosts cannot be combined with --launcher local"),
        (("--hosts", "n1", "--hostfile", "f"), {}, "--hosts and --hostfile cannot be combined"),
        (("--keep-going",), {}, "--keep-going needs --hosts or --hostfile"),
        (("--hosts", "n1", "--nodes", "2"), {}, "--nodes 2 exceeds the number of hosts named: 1"),
        (("--hosts", "n1", "--node-rank", "0"), {}, "--node-rank cannot be combined with --hosts"),
        (("--hosts", "n1", "--rdzv-endpoint", "n1"), {}, "--rdzv-endpoint 'n1' is not HOST:PORT"),
        (("--hosts", "n1", "--ssh", "ssh 'x"), {}, '--ssh "ssh \'x": No closing quotation'),
        (("--hosts", "n1", "--ssh", " "), {}, "--ssh is empty"),
        (("--hosts", "n1", "--ssh", ""), {}, "--ssh is empty"),
        (("--hosts", "n1", "--remote-python", ""), {}, "--remote-python is empty"),
        (("--hosts", "n1", "--remote-env", "A=1"), {"A": "1"}, "--remote-env 'A=1' is not a plain name"),
        (("--hosts", "n1", "--ssh", "no-such-ssh -v"), {}, "--ssh 'no-such-ssh': command not found"),
        (("--hosts", "n1", "--remote-env", "NOT_SET"), {}, "--remote-env NOT_SET: it is not set here"),
        (
            ("--hosts", "n1", "--remote-env", "LD_PRELOAD"),
            {"LD_PRELOAD": "/x.so"},
            "--remote-env LD_PRELOAD has no effect there: the dynamic loader reads it when a program starts",
        ),
        (("--hosts", "n1", "--nproc-per-node", "0"), {}, "--nproc-per-node '0' is not a number of ranks"),
        (("--hostfile", "/no/such"), {}, "--hostfile /no/such cannot be read: No such file or directory"),
        (("--hosts", "n1"), TORCHRUN, "--hosts has no meaning in a job started by torchrun"),
        (JOIN, TORCHRUN, "--node-rank has no meaning in a job started by torchrun"),
    ],
)
def test_words_that_do_not_fit(words: tuple[str, ...], env: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        chosen(*words, env=env)
    assert refused.value.message == message
    assert refused.value.remedy


def test_a_hostfile_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not a text file"):
        chosen("--hostfile", str(file))
