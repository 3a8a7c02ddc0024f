"""The launcher inside an allocation of Slurm."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch.launchers.base import LaunchPlan
from tests.launch.launchers.test_slurm import SALLOC, TASKS
from tests.launch.test_inside import SRUN
from tests.launch.test_order import JOIN, chosen

BATCH = {"SLURM_STEP_ID": "4294967291", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}


@pytest.fixture
def srun_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name, so that the tests need no Slurm."""
    (tmp_path / "srun").write_text("#!/bin/sh\n")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.usefixtures("srun_there")
@pytest.mark.parametrize(
    ("words", "env", "nodes", "nproc"),
    [
        pytest.param((), {}, 2, None, id="all nodes"),
        pytest.param(("--nodes", "2"), {}, 2, None, id="as many as there are"),
        pytest.param(("--nodes", "1"), {}, 1, None, id="some"),
        pytest.param((), BATCH, 2, None, id="in a batch script"),
        pytest.param((), {**SRUN, **SALLOC, "SLURM_STEP_NUM_TASKS": "1"}, 2, None, id="in a step of one task"),
        pytest.param(("--launcher", "slurm"), {**SRUN, **SALLOC}, 2, None, id="asked for, in a task"),
        pytest.param((), TASKS, 2, 2, id="as many ranks as tasks"),
        pytest.param(("--nproc-per-node", "4"), TASKS, 2, 4, id="as many ranks as asked for"),
        pytest.param(("--nproc-per-node", "auto"), TASKS, 2, None, id="one for each GPU"),
    ],
)
def test_an_allocation(words: tuple[str, ...], env: Mapping[str, str], nodes: int, nproc: int | None) -> None:
    where = chosen(*words, env={**SALLOC, **env})
    assert where.launch.launcher == "slurm"
    assert (where.nodes, where.nproc, where.node_ranks) == (nodes, nproc, tuple(range(nodes)))
    assert (where.emulated, where.leads, where.node_variable) == (False, True, "SLURM_NODEID")
    assert len(where.launch.hosts) == nodes


@pytest.mark.usefixtures("srun_there")
@pytest.mark.parametrize(
    ("words", "hosts", "argv"),
    [
        (("--hosts", "n2"), ("n2",), ("--nodes=1", "--ntasks=1", "--nodelist=n2")),
        (("--hosts", "n2,n1"), ("n1", "n2"), ("--nodes=2", "--ntasks=2", "--nodelist=n1,n2")),
        (("--hosts", "n2,n1", "--nodes", "1"), ("n1",), ("--nodes=1", "--ntasks=1", "--nodelist=n1")),
    ],
)
def test_chosen_nodes_of_an_allocation(
    words: tuple[str, ...], hosts: tuple[str, ...], argv: tuple[str, ...]
) -> None:
    where = chosen("--launcher", "slurm", *words, env=SALLOC)
    assert (where.launch.launcher, where.launch.hosts, where.targets) == ("slurm", hosts, hosts)
    assert set(argv) <= set(where.launch.commands[0].argv)


@pytest.mark.usefixtures("srun_there")
@pytest.mark.parametrize(
    ("words", "env", "launcher"),
    [
        (("--launcher", "local"), SALLOC, "local"),
        (JOIN, SALLOC, "local"),
        (("--hosts", "n1"), SALLOC, "ssh"),
        ((), SRUN, "local"),
        ((), {"SLURM_JOB_ID": "3"}, "local"),
    ],
)
def test_other_launchers_in_an_allocation(words: tuple[str, ...], env: Mapping[str, str], launcher: str) -> None:
    assert chosen(*words, env=env).launch.launcher == launcher


def test_no_srun_in_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    launch = chosen(env={**SALLOC, "SLURM_JOB_NODELIST": "n1"}).launch
    assert (launch.launcher, launch.why) == ("local", "srun not found; Slurm job 3 has this node alone")
    for words in ((), ("--nodes", "2")):
        with pytest.raises(BadInput) as error:
            chosen(*words, env=SALLOC)
        assert error.value.message == "Slurm job 3 has 2 nodes, but srun was not found in PATH"
        assert error.value.remedy.endswith("; to measure this host alone, use --launcher local")
    assert chosen("--launcher", "local", env=SALLOC).launch.launcher == "local"


@pytest.mark.parametrize("nodes", ["n[1-", "n1;reboot", "n[1-99999999]"])
def test_a_damaged_list_of_nodes(nodes: str) -> None:
    env = {**SALLOC, "SLURM_JOB_NODELIST": nodes}
    with pytest.raises(BadInput, match="is not a node list") as error:
        chosen(env=env)
    assert error.value.remedy.endswith("; to measure this host alone, use --launcher local")
    assert chosen("--launcher", "local", env=env).launch.launcher == "local"


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (("--launcher", "slurm"), {}, "--launcher slurm needs an allocation"),
        (("--launcher", "slurm", "--nodes", "3"), SALLOC, "--nodes 3, but Slurm job 3 has 2"),
        (("--launcher", "slurm", "--hosts", "n3"), SALLOC, "--hosts: n3 is not a node of Slurm job 3"),
        (("--launcher", "slurm", "--hosts", "n1", "--nodes", "2"), SALLOC, "--nodes 2, but --hosts names 1"),
        (
            ("--launcher", "slurm"),
            {**SALLOC, **TASKS, "SLURM_TASKS_PER_NODE": "2,1"},
            "job 3 has 2, 1 tasks on its nodes; every node must have the same number of ranks",
        ),
        (("--launcher", "slurm", "--rdzv-endpoint", "n1"), SALLOC, "--rdzv-endpoint 'n1' is not HOST:PORT"),
    ],
)
def test_what_does_not_fit(words: tuple[str, ...], env: Mapping[str, str], message: str) -> None:
    with pytest.raises(BadInput) as error:
        chosen(*words, env=env)
    assert error.value.message == message


@pytest.mark.parametrize(("rank", "asks"), [("0", True), ("1", False)])
def test_rank_0_of_a_step_asks_what_a_signal_means(rank: str, asks: bool) -> None:
    """And nobody else: a controller is not asked by thousands at once."""
    where: LaunchPlan = chosen(env={**SRUN, "SLURM_PROCID": rank, "SLURM_NODEID": "0"})
    assert (where.launch.scheduler_query is not None) is asks
    assert replace(where.launch, scheduler_query=None) == replace(
        chosen(env=SRUN).launch, why=where.launch.why, scheduler_query=None
    )
