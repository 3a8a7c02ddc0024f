"""A Slurm allocation read from its variables, and the step that is started in it."""

import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.launch.launchers import slurm
from nccltool.launch.launchers.slurm import Allocation, Labels

SALLOC = {
    "SLURM_JOB_ID": "3",
    "SLURM_JOB_NODELIST": "n[1-2]",
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_TASKS_PER_NODE": "1(x2)",
    "SLURM_JOB_CPUS_PER_NODE": "2(x2)",
}
"""What `salloc -N2` sets (22.05.8)."""
ALLOCATED = Allocation(job_id="3", nodes=("n1", "n2"), tasks_per_node=None, gpus_per_node=None, end_time=None)
TASKS = {"SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "2", "SLURM_TASKS_PER_NODE": "2(x2)"}


@pytest.mark.parametrize(
    ("env", "allocated"),
    [
        pytest.param({}, None, id="nowhere"),
        pytest.param({"SLURM_JOB_ID": "3"}, None, id="a container that was given the job's number only"),
        pytest.param(SALLOC, ALLOCATED, id="salloc -N2"),
        pytest.param(
            {**SALLOC, "SLURM_TASKS_PER_NODE": "64(x2)"}, ALLOCATED, id="tasks that are processors, not a wish"
        ),
        pytest.param({**SALLOC, **TASKS}, replace(ALLOCATED, tasks_per_node=(2, 2)), id="--ntasks-per-node=2"),
        pytest.param(
            {**SALLOC, "SLURM_NTASKS": "3", "SLURM_TASKS_PER_NODE": "2,1"},
            replace(ALLOCATED, tasks_per_node=(2, 1)),
            id="-n3",
        ),
        pytest.param(
            {**SALLOC, "SLURM_NTASKS": "1", "SLURM_TASKS_PER_NODE": "1"}, ALLOCATED, id="inside a step of one task"
        ),
        pytest.param(
            {**SALLOC, "SLURM_GPUS_PER_NODE": "8"}, replace(ALLOCATED, gpus_per_node=8), id="--gpus-per-node=8"
        ),
        pytest.param(
            {**SALLOC, "SLURM_GPUS_PER_NODE": "h100:8"}, replace(ALLOCATED, gpus_per_node=8), id="GPUs of a type"
        ),
        pytest.param(
            {**SALLOC, "SLURM_GPUS_PER_NODE": "a100:4,v100:2"},
            replace(ALLOCATED, gpus_per_node=6),
            id="GPUs of two types",
        ),
        pytest.param(
            {**SALLOC, "SLURM_GPUS_ON_NODE": "2"}, replace(ALLOCATED, gpus_per_node=2), id="--gres in a script"
        ),
        pytest.param(
            {**SALLOC, **TASKS, "SLURM_GPUS_PER_TASK": "1"},
            replace(ALLOCATED, tasks_per_node=(2, 2), gpus_per_node=2),
            id="--gpus-per-task=1",
        ),
        pytest.param({**SALLOC, "SLURM_GPUS": "16"}, replace(ALLOCATED, gpus_per_node=8), id="-G 16"),
        pytest.param({**SALLOC, "SLURM_GPUS": "3"}, ALLOCATED, id="-G 3"),
        pytest.param(
            {**SALLOC, "SLURM_JOB_END_TIME": "1795249800"},
            replace(ALLOCATED, end_time=1795249800),
            id="a batch script of later releases",
        ),
    ],
)
def test_allocations(env: Mapping[str, str], allocated: Allocation | None) -> None:
    assert slurm.allocation(env) == allocated


@pytest.mark.parametrize(
    ("nodelist", "nodes"),
    [
        ("n1", ("n1",)),
        ("n[1-2,9]", ("n1", "n2", "n9")),
        ("gpu-a[003-005],login1", ("gpu-a003", "gpu-a004", "gpu-a005", "login1")),
        ("n2,n1", ("n2", "n1")),
        ("rack[1-2]n[01-02]", ("rack1n01", "rack1n02", "rack2n01", "rack2n02")),
        ("a[1,3]-ib,b", ("a1-ib", "a3-ib", "b")),
    ],
)
def test_node_lists(nodelist: str, nodes: tuple[str, ...]) -> None:
    assert slurm.expand_nodes(nodelist) == nodes


@pytest.mark.parametrize(
    "nodelist", ["@all", "n[1-", "n1,", ",n1", "n[1-2]!n1", "n 1", "n[2-1]", "n[1-99999999]", "\x1b[2Jn1"]
)
def test_what_is_not_a_node_list(nodelist: str) -> None:
    with pytest.raises(BadInput) as error:
        slurm.allocation({**SALLOC, "SLURM_JOB_NODELIST": nodelist})
    assert error.value.message.startswith(f"SLURM_JOB_NODELIST={nodelist!r} is not a node list")


def test_tasks_that_are_damaged() -> None:
    with pytest.raises(BadInput) as error:
        slurm.allocation({**SALLOC, **TASKS, "SLURM_TASKS_PER_NODE": "2(x"})
    assert error.value.message == "SLURM_TASKS_PER_NODE='2(x' is not a list of counts"


@pytest.mark.parametrize(("tasks", "ranks"), [(None, None), ((1, 1), None), ((8, 8), 8)])
def test_ranks_are_the_tasks_that_were_asked_for(tasks: tuple[int, ...] | None, ranks: int | None) -> None:
    assert slurm.ranks_per_node(replace(ALLOCATED, tasks_per_node=tasks)) == ranks


def test_ranks_of_unequal_nodes_must_be_said() -> None:
    with pytest.raises(BadInput) as error:
        slurm.ranks_per_node(replace(ALLOCATED, tasks_per_node=(2, 1)))
    assert (
        error.value.message == "job 3 has 2, 1 tasks on its nodes; every node must have the same number of ranks"
    )


@pytest.mark.parametrize(
    ("allocated", "words"),
    [
        (ALLOCATED, "job 3: 2 nodes"),
        (replace(ALLOCATED, nodes=("n1",), gpus_per_node=8), "job 3: 1 node, 8 GPUs each"),
        (replace(ALLOCATED, end_time=1000 + 3599), "job 3: 2 nodes, 59 min left"),
        (replace(ALLOCATED, end_time=999), "job 3: 2 nodes, 0 min left"),
    ],
)
def test_the_allocation_in_words(allocated: Allocation, words: str) -> None:
    assert slurm.why(allocated, 1000.0) == words


def test_the_step() -> None:
    """One task on each node, with all GPUs, whatever the user gave for the tasks of other steps."""
    launch = slurm.launch(replace(ALLOCATED, gpus_per_node=8), 2, "/opt/python")
    (command,) = launch.commands
    clean, step = command.argv[: command.argv.index("srun")], command.argv[command.argv.index("srun") :]
    assert clean[0] == "env"
    assert set(clean[1::2]) == {"-u"}
    assert {"SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_NODE", "SLURM_LABELIO"} <= set(clean[2::2])
    assert step[:4] == ("srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1")
    assert step[-6:] == ("--gpus-per-node=8", "--", "/opt/python", "-P", "-m", "nccltool.worker")
    assert (command.nodes, launch.hosts, launch.remote) == ((0, 1), ("n1", "n2"), True)
    assert (launch.launcher, launch.unwrapper) == ("slurm", Labels)


def test_the_first_nodes_of_an_allocation() -> None:
    launch = slurm.launch(ALLOCATED, 1, sys.executable)
    assert (launch.hosts, launch.commands[0].nodes) == (("n1",), (0,))
    assert "--nodes=1" in launch.commands[0].argv
    assert not any(word.startswith("--gpus") for word in launch.commands[0].argv)


# ---- lines of several tasks

EVENT = b"\x1e" + json.dumps({"event": "log", "text": "x" * 2500 + "}"}).encode()
SHORT = b'\x1e{"event":"bye","rank":0}'


def pieces(task: int, line: bytes, size: int = 1024) -> list[bytes]:
    """As srun --label writes a line (22.05.8)."""
    return [f"{task}: ".encode() + line[i : i + size] for i in range(0, len(line), size)]


@pytest.mark.parametrize(
    ("come", "whole"),
    [
        ([b"0: plain", b" 3: padded", b"no label", b""], [b"plain", b"padded", b"no label", b""]),
        (pieces(0, SHORT), [SHORT]),
        (pieces(0, EVENT), [EVENT]),
        ([piece for both in zip(pieces(0, EVENT), pieces(11, EVENT), strict=True) for piece in both], [EVENT] * 2),
        ([*pieces(0, EVENT)[:2], *pieces(1, SHORT), *pieces(0, EVENT)[2:]], [SHORT, EVENT]),
        ([*pieces(0, EVENT)[:2], *pieces(0, SHORT)], [EVENT[:2048], SHORT]),
    ],
)
def test_labels(come: Sequence[bytes], whole: Sequence[bytes]) -> None:
    unwrap = Labels()
    assert [line for piece in come for line in unwrap(piece)] == whole


def test_what_never_becomes_an_event_is_given_back() -> None:
    unwrap = Labels()
    given = [line for piece in pieces(0, b"\x1e" + b"x" * 9000) for line in unwrap(piece)]
    assert b"".join(given) == b"\x1e" + b"x" * 9000


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5000)), max_size=12), st.randoms())
def test_pieces_of_several_tasks_in_any_order(written: list[tuple[int, int]], order: random.Random) -> None:
    queues: dict[int, list[bytes]] = {}
    for number, (task, length) in enumerate(written):
        event = b"\x1e" + json.dumps({"number": number, "text": "{}" * (length // 2)}).encode()
        queues.setdefault(task, []).extend(pieces(task, event))
    unwrap, seen = Labels(), []
    while queues:
        task = order.choice(sorted(queues))
        seen += [json.loads(line[1:])["number"] for line in unwrap(queues[task].pop(0))]
        if not queues[task]:
            del queues[task]
    assert sorted(seen) == list(range(len(written)))


# ---- why a step ended: lines of Slurm 22.05.8, but for those that are said to be written by hand
