"""Inside a job that a launcher started: every command is one rank, and rank 0 alone shows the result."""

import json
import os
import re
import signal
import socket
from collections.abc import Callable, Mapping

import pytest

from tests.support.commands import NCCLTOOL, TORCHRUN, Command, Ended
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

HOST = socket.gethostname()
LIMIT_S = 90.0
SMALL = ("--op", "all_reduce,broadcast", "--sizes", "1KiB,64KiB", "-n", "4", "--timeout", "6")
INSIDE = ("-m", *NCCLTOOL[2:], "probe", *SMALL)
TWO_RANKS = ("--standalone", "--nproc-per-node", "2", *INSIDE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ended(command: Command) -> Ended:
    result = command.wait(LIMIT_S)
    assert command.everything_gone(), command.living()
    return result


def assert_measured(stdout: str, world: int) -> None:
    """Standard output is one document, and it is complete."""
    document = json.loads(stdout)
    run = document["run"]
    assert (document["status"], run["world_size"], run["emulated"], run["hosts"]) == ("pass", world, False, [HOST])
    rows = [(row["op"], row["bytes"], row["wrong"]) for row in document["measurements"]]
    assert rows == [(op, size, 0) for op in ("all_reduce", "broadcast") for size in (1024, 65536)]


# ---- torchrun


@pytest.mark.quick
def test_torchrun(start: Start) -> None:
    result = ended(start(*TWO_RANKS, "--format", "json", argv=TORCHRUN))
    assert result.code == 0, result.said
    assert_measured(result.stdout, 2)


def test_torchrun_shows_one_table(start: Start) -> None:
    result = ended(start(*TWO_RANKS, argv=TORCHRUN))
    assert result.code == 0, result.said
    assert result.stdout.startswith("PASS all_reduce, broadcast, ")
    assert len(re.findall(r"^op +size", result.stdout, re.MULTILINE)) == 1


def test_torchrun_with_one_rank_is_a_world_of_one(start: Start) -> None:
    result = ended(start("--standalone", "--nproc-per-node", "1", *INSIDE, argv=TORCHRUN))
    assert result.code != 0
    assert result.stdout.startswith("INCOMPLETE 0 rows: nothing was measured; "), result.said
    assert "ERROR world-of-one: world size 1" in result.stdout


@pytest.mark.slow
def test_torchrun_with_fewer_nodes_than_expected(start: Start) -> None:
    result = ended(start(*TWO_RANKS, "--nodes", "2", argv=TORCHRUN))
    assert result.code != 0
    assert result.stdout.startswith("INCOMPLETE 0 rows: nothing was measured; "), result.said
    assert f"ERROR world-size: expected 2 nodes, got 1: {HOST}\n" in result.stdout


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "kill",
            "ERROR rank-died: rank 1 on {host} (node 0, pid {pid}) was killed by SIGKILL in broadcast at 64 KiB",
        ),
        pytest.param(
            "raise",
            "ERROR rank-error: rank 1 on {host} (node 0, pid {pid}) raised InjectedFault: ",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "stop",
            "ERROR rank-hung: rank 1 on {host} (node 0, pid {pid}) made no progress for ",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_fault_inside_torchrun(start: Start, fault: str, message: str) -> None:
    command = start(*TWO_RANKS, argv=TORCHRUN, NCCLTOOL_FAULT=f"{fault}:rank=1,op=broadcast,size=64KiB")
    result = ended(command)
    assert result.code != 0
    (pid,) = {event["pid"] for event in command.events() if event["event"] == "spawned" and event["rank"] == 1}
    assert message.format(host=HOST, pid=pid) in result.stdout, result.said
    assert result.stdout.startswith("INCOMPLETE 3 of 4 rows: all_reduce, broadcast, ")


# ---- other launchers, by the variables that they set


def plain(rank: int, size: int) -> dict[str, str]:
    return {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size)}


def open_mpi(rank: int, size: int) -> dict[str, str]:
    names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
    values = (rank, size, rank, size)
    return {f"OMPI_COMM_WORLD_{name}": str(value) for name, value in zip(names, values, strict=True)}


def hydra(rank: int, size: int) -> dict[str, str]:
    return {
        "PMI_RANK": str(rank),
        "PMI_SIZE": str(size),
        "MPI_LOCALRANKID": str(rank),
        "MPI_LOCALNRANKS": str(size),
    }


def slurm(rank: int, size: int) -> dict[str, str]:
    return {
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": str(rank),
        "SLURM_STEP_NUM_TASKS": str(size),
        "SLURM_LOCALID": str(rank),
        "SLURM_STEP_TASKS_PER_NODE": str(size),
        "SLURM_NODEID": "0",
    }


Dialect = Callable[[int, int], dict[str, str]]


def begin_ranks(
    start: Start, dialect: Dialect, store: Mapping[str, str], words: tuple[str, ...] = (), **env: str
) -> list[Command]:
    return [start(*SMALL, *words, **dialect(rank, 2), **store, **env) for rank in range(2)]


def master() -> dict[str, str]:
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}


@pytest.mark.parametrize(
    "dialect",
    [pytest.param(plain, marks=pytest.mark.slow), open_mpi, pytest.param(hydra, marks=pytest.mark.slow), slurm],
)
def test_ranks_without_torchrun(start: Start, dialect: Dialect) -> None:
    first, second = map(ended, begin_ranks(start, dialect, master(), ("--format", "json")))
    assert (first.code, second.code) == (0, 0), first.said + second.said
    assert_measured(first.stdout, 2)
    assert (second.stdout, second.stderr) == ("", "")


@pytest.mark.slow
def test_srun_on_one_node_needs_no_address(start: Start) -> None:
    first, second = map(ended, begin_ranks(start, slurm, {}, ("--format", "json")))
    assert (first.code, second.code) == (0, 0), first.said + second.said
    assert_measured(first.stdout, 2)


@pytest.mark.slow
def test_the_endpoint_option_says_where_rank_0_is(start: Start) -> None:
    words = ("--format", "json", "--rdzv-endpoint", f"localhost:{free_port()}")
    first, second = map(ended, begin_ranks(start, open_mpi, {}, words))
    assert (first.code, second.code) == (0, 0), first.said + second.said
    assert_measured(first.stdout, 2)


def test_a_rank_killed_without_torchrun(start: Start) -> None:
    first, second = map(
        ended, begin_ranks(start, plain, master(), NCCLTOOL_FAULT="kill:rank=1,op=broadcast,size=64KiB")
    )
    assert (first.code, second.code) == (3, 3), first.said + second.said
    died = first.findings["rank-died"]
    where = r"in broadcast at 64 KiB \(timing\)"
    assert re.fullmatch(rf"rank 1 on {HOST} \(node 0, pid \d+\) was killed by SIGKILL {where}", died["message"])
    assert len(first.document["measurements"]) == 3
    assert "rank-died: rank 1" in second.stderr


def test_a_rank_that_never_comes(start: Start) -> None:
    words = ("--join-timeout", "4", "--timeout", "4")
    command = start(*SMALL, *words, **plain(0, 2), **master())
    result = ended(command)
    assert result.code == 3, result.said
    missing = result.findings["rank-missing"]
    assert missing["subject"] == {"kind": "rank", "name": "1"}
    assert re.fullmatch(r"rank 1 of 2 did not join within \d+ s", missing["message"])


@pytest.mark.slow
def test_rank_0_never_comes(start: Start) -> None:
    result = ended(start(*SMALL, "--join-timeout", "4", "--timeout", "4", **plain(1, 2), **master()))
    assert (result.code, result.stdout) == (3, ""), result.said


def test_interrupted_inside_a_job(start: Start) -> None:
    first, second = begin_ranks(
        start, plain, master(), ("-n", "40"), NCCLTOOL_FAULT="slow:rank=1,op=broadcast,ms=500"
    )
    first.wait_for("enter", rank=0, op="broadcast")
    first.send(signal.SIGINT)
    shown, silent = ended(first), ended(second)
    assert (shown.code, shown.document["status"]) == (130, "incomplete"), shown.said
    assert [row["op"] for row in shown.document["measurements"]] == ["all_reduce", "all_reduce"]
    assert silent.code == 3, silent.said
    assert "leader-gone" in silent.stderr
