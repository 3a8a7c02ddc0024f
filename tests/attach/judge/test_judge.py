"""Every row of the decision table, and the state of the job."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.attach.judge.judge import judge
from nccltool.attach.judge.table import ROWS
from nccltool.attach.ras import json_document
from nccltool.attach.ras.client import RasAnswer
from nccltool.attach.seen.job import JobLook
from nccltool.attach.seen.ranks import AgentFound, RankGone
from nccltool.attach.seen.sources import (
    CounterValue,
    GpuState,
    GroupStatus,
    KernelLine,
    RecorderSeen,
    WorkerServerSeen,
)
from nccltool.triage.flight_recorder.dumps import RecordedCall, RecorderDump
from tests.attach.judge.looks import COMPUTES, OWN_FILE, SLEEPS, R, loader, look, pid_of
from tests.attach.ras.states import Communicator, Rank, State, json_of

BUSY = R(stack=COMPUTES, state="R", cpu=1.0)
MAIN = ("<module>", OWN_FILE, 231)
LIB = "/v/site-packages/torch/"
C10D = LIB + "distributed/distributed_c10d.py"
BARRIER_AT_THE_END = R(stack=("batches", "1"))
JOINS = R(stack=("never-joins", "0"))
NCCL = ("python", "pt_nccl_watchdg")
GPU_WAIT = (("cudaStreamSynchronize", LIB + "lib/libtorch_cuda.so", 0), ("step", OWN_FILE, 9), MAIN)
NCCL_INIT = (("ncclCommInitRank", "libnccl.so.2", 0), ("all_reduce", C10D, 1), MAIN)


def _call(op: str, sizes: str = "[[4]]", finished: bool = False) -> RecordedCall:
    return RecordedCall(op=op, sizes=sizes, dtypes="f32", compared=(op, sizes), finished=finished, at="train.py:9")


def _recorder(rank: int, calls: dict[str, dict[int, RecordedCall]], members: tuple[int, ...] = ()) -> RecorderSeen:
    groups = tuple(
        GroupStatus(group=name, last_completed=min(one) - 1, members=members) for name, one in calls.items()
    )
    return RecorderSeen(
        rank=rank,
        source="file",
        written_at_s=1e9,
        groups=groups,
        dump=RecorderDump(file="f", rank=rank, groups=calls),
    )


def _ras(*ranks: Rank) -> tuple[RasAnswer, ...]:
    document = json_document.parse(json_of(State(name="x", communicators=(Communicator(ranks=ranks),)), "2.30.7"))
    return (RasAnswer(address="a", document=document), RasAnswer(address="a", document=document))


def _gpu(index: int, utilization: float, power: float, **more: Any) -> GpuState:
    return GpuState(index=index, utilization=utilization, power_w=power, pids=(pid_of(index),), **more)


def _with_samples(seen: JobLook, **parts: tuple[Any, Any]) -> JobLook:
    """Counters or GPUs of the two samples, on the first host."""
    host = seen.hosts[0]
    samples = tuple(
        replace(sample, **{key: values[place] for key, values in parts.items()})
        for place, sample in enumerate(host.samples)
    )
    return replace(seen, hosts=(replace(host, samples=samples), *seen.hosts[1:]))


def _network() -> JobLook:
    return look(R(backoff=5), R(), R(host="n2", backoff=4), R(host="n3"))


CASES: dict[str, tuple[JobLook, str, str, int | None, str]] = {
    # name: look, state, cause, rank, level
    "1 dead": (look(R(), R(gone=True), R()), "hung", "dead", 1, "high"),
    "1 zombie": (look(R(), R(state="Z"), R()), "hung", "dead", 1, "high"),
    "1 missing": (look(R(), R(), local=3, world=3), "hung", "dead", 2, "high"),
    "2 out of memory, by pid": (
        look(
            R(),
            R(
                gone=True,
                more={"kernel": (KernelLine(host="n1", kind="oom-kill", text="Killed process 1001", pid=1001),)},
            ),
        ),
        "hung",
        "out-of-memory",
        1,
        "high",
    ),
    "3 stopped": (look(R(), R(stack=SLEEPS, state="T"), R()), "hung", "stopped", 1, "high"),
    "3 frozen v2": (look(R(), R(stack=COMPUTES, frozen=True)), "hung", "frozen", 1, "high"),
    "3 frozen v1": (look(R(), R(stack=COMPUTES, state="D", frozen=True)), "hung", "frozen", 1, "high"),
    "3 traced": (look(R(), R(stack=COMPUTES, state="t", tracer=77)), "hung", "traced", 1, "high"),
    "4 loader": (
        look(R(), R(stack=("loader", "1"), **loader(1, on="/data/fifo", stack=True)), R()),
        "hung",
        "data-loader",
        1,
        "high",
    ),
    "4 loader without its stack": (look(R(), R(stack=("loader", "1")), R()), "hung", "data-loader", 1, "medium"),
    "4 in the main process": (look(R(), R(stack=("loader-main", "1"))), "hung", "data-loader", 1, "high"),
    "5 checkpoint, slow": (
        look(R(stack=("checkpoint", "0")), R(stack=("checkpoint", "1"), wrote=4_000_000)),
        "slow",
        "checkpoint-slow",
        1,
        "high",
    ),
    "5 checkpoint, stuck": (
        look(R(stack=("checkpoint", "0")), R(stack=("checkpoint", "1"))),
        "hung",
        "checkpoint-stuck",
        1,
        "high",
    ),
    "6 order, recorders": (
        look(
            *(R(),) * 3,
            recorders=tuple(
                _recorder(n, {"0": {7: _call("broadcast" if n == 2 else "all_reduce")}}) for n in range(3)
            ),
        ),
        "hung",
        "order-mismatch",
        2,
        "high",
    ),
    "6 order, stacks": (
        look(R(stack=("order", "0")), R(stack=("order", "0")), R(stack=("order", "1"))),
        "hung",
        "order-mismatch",
        2,
        "medium",
    ),
    "6 order of two": (
        look(R(stack=("order", "0")), R(stack=("order", "1"))),
        "hung",
        "order-mismatch",
        None,
        "medium",
    ),
    "6 order, RAS": (
        look(
            R(frames=GPU_WAIT, threads=NCCL),
            R(frames=GPU_WAIT, threads=NCCL),
            ras=_ras(
                Rank(rank=0, counts={"AllReduce": 9, "AllGather": 1}),
                Rank(rank=1, counts={"AllReduce": 8, "AllGather": 2}),
            ),
        ),
        "hung",
        "order-mismatch",
        None,
        "medium",
    ),
    "7 size": (
        look(
            *(R(),) * 3,
            recorders=tuple(
                _recorder(n, {"0": {7: _call("all_reduce", "[[6]]" if n == 1 else "[[4]]")}}) for n in range(3)
            ),
        ),
        "hung",
        "size-mismatch",
        1,
        "high",
    ),
    "8 asleep": (look(R(), R(stack=SLEEPS), R(), R()), "hung", "own-code", 1, "medium"),
    "8 busy": (look(R(), BUSY, R()), "hung", "own-code", 1, "medium"),
    "8 in the backward pass": (
        look(R(), R(stack=("ddp-sleep", "0"), state="R", cpu=1.0)),
        "hung",
        "own-code",
        1,
        "medium",
    ),
    "9 sockets": (_network(), "hung", "network", None, "high"),
    "9 counters": (
        _with_samples(
            look(R(threads=NCCL), R(threads=NCCL, host="n2")),
            counters=(
                (CounterValue(device="mlx5_0:1", name="local_ack_timeout_err", value=3),),
                (CounterValue(device="mlx5_0:1", name="local_ack_timeout_err", value=9),),
            ),
        ),
        "hung",
        "network",
        None,
        "high",
    ),
    "10 Xid": (
        look(
            *(R(frames=GPU_WAIT, threads=NCCL),) * 2,
            kernel=(KernelLine(host="n1", kind="xid", text="NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off"),),
        ),
        "hung",
        "gpu",
        None,
        "high",
    ),
    "10 one GPU idle": (
        _with_samples(
            look(*(R(frames=GPU_WAIT, threads=NCCL),) * 4),
            gpus=((), tuple(_gpu(n, 0.0 if n == 2 else 1.0, 60 if n == 2 else 130) for n in range(4))),
        ),
        "hung",
        "gpu",
        None,
        "low",
    ),
    "10 one GPU has lost an NVLink": (
        _with_samples(
            look(*(R(frames=GPU_WAIT, threads=NCCL),) * 4),
            gpus=((), tuple(_gpu(n, 1.0, 130, links_up=18 - (n == 2), links_down=int(n == 2)) for n in range(4))),
        ),
        "hung",
        "gpu",
        None,
        "medium",
    ),
    "10 one GPU has NVLink errors": (
        _with_samples(
            look(*(R(frames=GPU_WAIT, threads=NCCL),) * 4),
            gpus=((), tuple(_gpu(n, 1.0, 130, links_up=18, link_errors=7 * (n == 2)) for n in range(4))),
        ),
        "hung",
        "gpu",
        None,
        "low",
    ),
    "11 throttled": (
        look(R(switches=900, idle_s=0.01), R(stack=COMPUTES, cpu=0.2, switches=5, throttled=0.7, idle_s=0.01)),
        "slow",
        "cpu-starved",
        1,
        "high",
    ),
    "11 no core": (
        look(
            *(R(switches=900, cpu=0.1, idle_s=0.01),) * 3,
            R(stack=COMPUTES, cpu=0.2, switches=5, delay=0.6, idle_s=0.01),
        ),
        "slow",
        "cpu-starved",
        3,
        "medium",
    ),
    "11 always last": (
        look(*(R(switches=900, idle_s=0.01),) * 3, R(stack=COMPUTES, cpu=1, state="R", idle_s=0.01), samples=20),
        "slow",
        "straggler",
        3,
        "high",
    ),
    "6 a collective with one member": (
        look(
            R(stack=("pipeline-sleep", "0")),
            R(frames=(("all_reduce", C10D, 1), MAIN)),
            R(stack=("pipeline-sleep", "0")),
        ),
        "hung",
        "order-mismatch",
        1,
        "medium",
    ),
    "12 compiling": (look(R(), R(stack=("compile", "1"), state="R", cpu=1)), "slow", "compiling", 1, "medium"),
    "12 importing": (look(R(), R(stack=("imports", "1"), state="S")), "slow", "starting", 1, "medium"),
    "13 a rank is missing": (look(JOINS, JOINS, local=3, world=3), "hung", "missing-rank", 2, "high"),
    "13 the agent is stopped": (
        look(
            *(R(stack=("new-group", "0")),) * 2,
            agents=(AgentFound(host="n1", pid=900, job="j", command="torchrun", children=(), state="T"),),
        ),
        "hung",
        "store",
        None,
        "medium",
    ),
    "13 the agent is stopped, and a rank waits for the other": (
        look(
            R(stack=("new-group", "0")),
            R(),
            agents=(AgentFound(host="n1", pid=900, job="j", command="torchrun", children=(), state="T"),),
        ),
        "hung",
        "store",
        None,
        "medium",
    ),
    "13 the store is silent": (look(*(R(stack=("new-group", "0")),) * 2), "hung", "store", None, "medium"),
    "14 NCCL": (look(*(R(frames=NCCL_INIT, threads=NCCL),) * 2), "hung", "nccl-connect", None, "medium"),
    "15 groups": (
        look(
            R(),
            R(),
            recorders=(
                _recorder(
                    0, {"dp": {4: _call("all_reduce")}, "tp": {2: _call("all_gather", finished=True)}}, (0, 1)
                ),
                _recorder(
                    1, {"tp": {3: _call("all_gather")}, "dp": {3: _call("all_reduce", finished=True)}}, (0, 1)
                ),
            ),
        ),
        "hung",
        "group-deadlock",
        None,
        "high",
    ),
    "16 fewer batches, DDP": (
        look(R(**loader(0)), R(**loader(1)), BARRIER_AT_THE_END),
        "hung",
        "left-early",
        2,
        "high",
    ),
    "16 fewer batches, FSDP": (
        look(R(stack=("fsdp-batches", "0")), R(stack=("fsdp-batches", "1"))),
        "hung",
        "left-early",
        1,
        "high",
    ),
    "16 a stage of the pipeline": (
        look(R(stack=("pipeline-sleep", "0")), BARRIER_AT_THE_END, R(stack=("pipeline-sleep", "2"))),
        "hung",
        "left-early",
        1,
        "high",
    ),
    "17 stack": (look(R(), R(stack=("gil", "1"))), "hung", "gil", 1, "high"),
    "17 worker server": (
        look(
            R(),
            R(
                stack=SLEEPS,
                more={"servers": (WorkerServerSeen(pid=1001, address="tcp", answers=True, gil_held=True),)},
            ),
        ),
        "hung",
        "gil",
        1,
        "high",
    ),
    "18 storage": (
        look(*(R(stack=("loader", "1"), idle_s=30),) * 4),
        "slow",
        "shared-storage",
        None,
        "medium",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_row_of_the_decision_table(name: str) -> None:
    seen, state, cause, rank, level = CASES[name]
    verdict = judge(seen)
    first = verdict.culprits[0]
    assert (verdict.state, first.cause, first.rank, first.level) == (state, cause, rank, level), verdict
    assert first.row == int(name.partition(" ")[0])
    assert first.evidence
    assert first.next_steps


def test_every_row_is_tried() -> None:
    assert {row.number for row in ROWS} == {int(name.partition(" ")[0]) for name in CASES}
    assert {row.cause for row in ROWS} == {cause for _, _, cause, _, _ in CASES.values()}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[1] == "hung"])
def test_one_sample_is_never_a_hang(name: str) -> None:
    seen = CASES[name][0]
    once = replace(seen, hosts=tuple(replace(host, samples=host.samples[-1:]) for host in seen.hosts))
    verdict = judge(once)
    assert verdict.state != "hung"
    assert all(one.level != "high" for one in verdict.culprits)


def test_row_19_a_job_that_moves() -> None:
    moving = R(switches=3000, idle_s=0.01)
    verdict = judge(look(moving, R(stack=COMPUTES, state="R", cpu=0.9, switches=500, idle_s=0.01), moving))
    assert (verdict.state, verdict.culprits) == ("healthy", ())


@pytest.mark.parametrize("others", [R(switches=900, cpu=0.1, delay=0.4), R(switches=900, cpu=0.0, delay=0.0)])
def test_on_a_busy_host_a_rank_that_works_alone_is_not_accused(others: R) -> None:
    others = replace(others, idle_s=0.01)
    alone = R(stack=COMPUTES, cpu=0.2, switches=5, delay=0.7, idle_s=0.01)
    verdict = judge(look(alone, others, others))
    assert (verdict.state, verdict.culprits) == ("healthy", ())


def test_starting() -> None:
    imports = R(stack=("imports", "1"), state="R", cpu=1, connected=False)
    joins = R(stack=("never-joins", "0"), connected=False, idle_s=5)
    assert judge(look(imports, imports)).state == "starting"
    assert judge(look(joins, imports)).state == "starting"
    starved = judge(look(joins, R(stack=("imports", "1"), state="R", cpu=0.2, delay=0.9, connected=False)))
    assert (starved.state, starved.culprits, starved.message) == ("starting", (), "starting")


def test_ending() -> None:
    leaving = R(frames=(("destroy_process_group", C10D, 9), ("main", OWN_FILE, 227), MAIN))
    assert judge(look(leaving, leaving)).state == "ending"
    exits = R(frames=(("upload", OWN_FILE, 5),))
    assert judge(look(exits, R(gone=True), R(gone=True))).state == "ending"
    assert judge(look(exits, R(stack=None, cpu=0.2, switches=3))).state == "ending"
    assert judge(look(exits, R(gone=True), R())).state != "ending"


def test_nobody_was_found() -> None:
    verdict = judge(JobLook(hosts=()))
    assert (verdict.state, verdict.message) == ("unknown", "unknown: no rank was found")


def test_time_until_the_watchdog() -> None:
    verdict = judge(CASES["8 asleep"][0])
    assert (verdict.since_s, verdict.kill_in_s) == (60.0, 1740.0)
    nccl = judge(look(*(R(frames=GPU_WAIT, threads=NCCL, idle_s=100),) * 2))
    assert nccl.kill_in_s == 500.0


def test_waits() -> None:
    verdict = judge(CASES["8 asleep"][0])
    assert [(one.rank, one.for_ranks) for one in verdict.waits] == [(0, (1,)), (2, (1,)), (3, (1,))]


def test_groups_of_ranks() -> None:
    verdict = judge(CASES["8 asleep"][0])
    assert [(one.phase.kind, one.ranks) for one in verdict.groups] == [("gradients", (0, 2, 3)), ("code", (1,))]


def test_gone_with_an_error_file() -> None:
    gone = (RankGone(host="n1", rank=1, how="error file", text="ValueError: bad batch"),)
    verdict = judge(look(R(), R(gone=True), gone=gone))
    assert "ValueError: bad batch" in verdict.culprits[0].evidence


def test_what_a_stopped_rank_does_not_read_is_no_fault_of_the_network() -> None:
    verdict = judge(look(R(backoff=5), R(state="T")))
    assert [one.cause for one in verdict.culprits] == ["stopped"]


def test_packets_that_are_sent_again_are_no_data() -> None:
    """The kernel counts them as sent: only what was received tells since when nothing moves."""
    seen = look(R(backoff=5, idle_s=60), R(backoff=5, idle_s=60))
    host = seen.hosts[0]
    samples = tuple(
        replace(
            one,
            ranks=tuple(
                replace(rank, sockets=tuple(replace(end, last_sent_ms=100) for end in rank.sockets or ()))
                for rank in one.ranks
            ),
        )
        for one in host.samples
    )
    verdict = judge(replace(seen, hosts=(replace(host, samples=samples),)))
    assert (verdict.state, verdict.since_s, verdict.culprits[0].cause) == ("hung", 60, "network")
