"""The culprit, from streams of events as real faults leave them.

Four ranks, two a node; ranks 0 and 1 on alpha, 2 and 3 on beta. All are inside the step all_reduce at 1 MiB
unless the stream says otherwise.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.launch import blame, events
from nccltool.launch.events import Event
from nccltool.launch.run_state import WAITING_FOR_GROUPS, RunState
from nccltool.probe.events import Result
from tests.samples import facts, job

RANKS = range(4)
HOSTS = ("alpha", "alpha", "beta", "beta")


def spawned(ranks: Iterable[int] = RANKS) -> list[Event]:
    return [events.Spawned(rank=rank, node_rank=rank // 2, host=HOSTS[rank], pid=1000 + rank) for rank in ranks]


def hello(ranks: Iterable[int] = RANKS) -> list[Event]:
    return [events.Hello(facts=facts(rank)) for rank in ranks]


def enter(ranks: Iterable[int] = RANKS, step: int = 0, op: str = "all_reduce", size: int = 2**20) -> list[Event]:
    return [events.Enter(rank=rank, step=step, op=op, bytes=size) for rank in ranks]


def beats(
    ranks: Iterable[int] = RANKS, phase: str = "timing", step: int = 0, calls: int = 7, state: str = "S"
) -> list[Event]:
    return [events.Beat(rank=rank, phase=phase, step=step, calls=calls, state=state) for rank in ranks]


def result(step: int = 0) -> list[Event]:
    return [
        Result(
            step=step,
            op="all_reduce",
            count=2**18,
            bytes=2**20,
            bytes_per_rank=2**20,
            dtype="float32",
            reduce_op="sum",
            placement="in-place",
            cadence="stream",
            noisy=False,
            wrong=0,
        )
    ]


def log(rank: int, *lines: str) -> list[Event]:
    return [events.Log(rank=rank, text=line) for line in lines]


def died(rank: int, code: int) -> list[Event]:
    return [events.Exited(rank=rank, code=code)]


def told_to_end(*ranks: int) -> list[Event]:
    return [events.Exited(rank=rank, code=-15, told=True) for rank in ranks]


def agent_killed(node_rank: int, code: int = -9) -> list[Event]:
    return [events.AgentKilled(node_rank=node_rank, host=HOSTS[2 * node_rank], code=code)]


def raised(rank: int, text: str, in_collective: bool = False) -> list[Event]:
    return [events.Failed(rank=rank, in_collective=in_collective, text=text), events.Exited(rank=rank, code=1)]


def echo(rank: int) -> list[Event]:
    return raised(rank, f"RuntimeError: [{rank}] Connection closed by peer\nmore about it", in_collective=True)


def after(*happened: Sequence[Event], ranks: int = 4) -> RunState:
    run = RunState(job(), ranks, now=0.5)
    for number, event in enumerate((event for part in happened for event in part), start=1):
        run.apply(event, number / 10)
    return run


STARTED = [*spawned(), *hello()]
TIMING = [*STARTED, *enter(), *beats()]
WHO = (
    "rank 0 on alpha (node 0, pid 1000)",
    "rank 1 on alpha (node 0, pid 1001)",
    "rank 2 on beta (node 1, pid 1002)",
    "rank 3 on beta (node 1, pid 1003)",
)
OOM_REMEDY = "run on {}: dmesg | grep -i -E 'out of memory|killed process' (the OOM killer sends SIGKILL)"
HOST_REMEDY = "run on {}: dmesg, nvidia-smi"
AGAIN_REMEDY = (
    HOST_REMEDY + "; to see its stack, repeat the run with a longer --timeout and use py-spy dump while it hangs"
)
STOPPED = "its process is stopped (state T): something sent it SIGSTOP"
NOBODY = Subject(kind="run", name="all ranks")
NO_DEATH_REMEDY = "no rank died: check the network between the hosts, the chosen interface, and firewalls"
NO_MEMORY = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
MEMORY_REMEDY = (
    "use smaller sizes (probe: -e; train: --size, --batch); nvidia-smi on {} shows what else uses the GPU"
)
NETWORK_REMEDY = (
    "check the firewalls between the hosts, the path MTU, and the chosen interface; NCCL_DEBUG=INFO shows more"
)


def found(code: str, subject: int | Subject, message: str, evidence: Sequence[str], remedy: str) -> Finding:
    if isinstance(subject, int):
        subject = Subject(kind="rank", name=str(subject))
    return Finding(
        code=code, severity="error", subject=subject, message=message, evidence=tuple(evidence), remedy=remedy
    )


def waiting(*ranks: int, where: str = "in all_reduce at 1 MiB (timing)") -> list[str]:
    return [f"rank {rank} waited {where}" for rank in ranks]


AFTER_FAULTS: list[tuple[str, RunState, Finding | None]] = [
    ("nothing happened", after(TIMING), None),
    (
        "killed before hello",
        after(spawned(), hello((0, 2, 3)), died(1, -9)),
        found(
            "rank-died",
            1,
            f"{WHO[1]} was killed by SIGKILL during startup",
            waiting(0, 2, 3, where="before the first operation (joining)"),
            OOM_REMEDY.format("alpha"),
        ),
    ),
    (
        "a host that lacks something says so from inside a call",
        after(STARTED, raised(2, "RuntimeError: socket: Too many open files", in_collective=True)),
        found(
            "rank-error",
            2,
            f"{WHO[2]} raised RuntimeError: socket: Too many open files before the first operation (joining)",
            waiting(0, 1, 3, where="before the first operation (joining)"),
            "read the traceback in the rank's log",
        ),
    ),
    (
        "killed before the group was made",
        after(STARTED, beats(phase="connecting", step=-1, calls=1), died(3, -9)),
        found(
            "rank-died",
            3,
            f"{WHO[3]} was killed by SIGKILL before the first operation (connecting)",
            waiting(0, 1, 2, where="before the first operation (connecting)"),
            OOM_REMEDY.format("beta"),
        ),
    ),
    (
        "killed in a collective, the others echo",
        after(TIMING, died(1, -9), echo(0), echo(2), echo(3)),
        found(
            "rank-died",
            1,
            f"{WHO[1]} was killed by SIGKILL in all_reduce at 1 MiB (timing)",
            waiting(0, 2, 3),
            OOM_REMEDY.format("alpha"),
        ),
    ),
    (
        "killed in a collective, an echo is heard before the death",
        after(TIMING, echo(0), echo(3), died(1, -9)),
        found(
            "rank-died",
            1,
            f"{WHO[1]} was killed by SIGKILL in all_reduce at 1 MiB (timing)",
            waiting(0, 2, 3),
            OOM_REMEDY.format("alpha"),
        ),
    ),
    (
        "killed between two operations",
        after(TIMING, result(), enter((0, 2, 3), 1, "gather", 8), died(1, -9)),
        found(
            "rank-died",
            1,
            f"{WHO[1]} was killed by SIGKILL after all_reduce at 1 MiB, before its next step",
            waiting(0, 2, 3, where="in gather at 8 B"),
            OOM_REMEDY.format("alpha"),
        ),
    ),
    (
        "a fault of the memory",
        after(TIMING, log(2, "Fatal Python error: Segmentation fault", ""), died(2, -11)),
        found(
            "rank-died",
            2,
            f"{WHO[2]} was killed by SIGSEGV in all_reduce at 1 MiB (timing)",
            [*waiting(0, 1, 3), "log of rank 2: Fatal Python error: Segmentation fault"],
            "read the rank's log and run dmesg on beta",
        ),
    ),
    (
        "a signal without a name",
        after(TIMING, died(2, -250)),
        found(
            "rank-died",
            2,
            f"{WHO[2]} was killed by signal 250 in all_reduce at 1 MiB (timing)",
            waiting(0, 1, 3),
            "read the rank's log and run dmesg on beta",
        ),
    ),
    (
        "exited without an error message",
        after(TIMING, died(3, 3), echo(2)),
        found(
            "rank-died",
            3,
            f"{WHO[3]} exited with code 3 without an error message in all_reduce at 1 MiB (timing)",
            waiting(0, 1, 2),
            "read the rank's log and run dmesg on beta",
        ),
    ),
    (
        "one terminated, and the others of its node with it",
        after(TIMING, echo(0), told_to_end(3), died(2, -15)),
        found(
            "rank-died",
            2,
            f"{WHO[2]} was killed by SIGTERM in all_reduce at 1 MiB (timing)",
            waiting(0, 1),
            "read the rank's log and run dmesg on beta",
        ),
    ),
    (
        "all told to end: somebody from outside",
        after(TIMING, told_to_end(2, 0)),
        found(
            "terminated",
            NOBODY,
            "ranks 2, 0 on beta, alpha were ended by SIGTERM in all_reduce at 1 MiB (timing); none had failed"
            " before that",
            ["hosts: beta, alpha", WHO[2], WHO[0]],
            "find out who ended the job: the scheduler (preemption, time limit) or an administrator",
        ),
    ),
    (
        "somebody ended the supervisor of one",
        after(
            TIMING,
            [events.Exited(rank=2, code=-15, ended_by="SIGTERM from process 7 (bash)")],
            told_to_end(3),
            echo(0),
        ),
        found(
            "rank-died",
            2,
            f"{WHO[2]} was killed by SIGTERM in all_reduce at 1 MiB (timing)",
            ["its supervisor received SIGTERM from process 7 (bash)", *waiting(0, 1)],
            "read the rank's log and run dmesg on beta",
        ),
    ),
    (
        "a supervisor was killed before it said anything",
        after(spawned((0, 1, 2)), [events.Exited(rank=3, code=-9, node_rank=1, host="beta")]),
        found(
            "rank-died",
            3,
            "rank 3 on beta (node 1) was killed by SIGKILL during startup",
            [],
            OOM_REMEDY.format("beta"),
        ),
    ),
    (
        "somebody ended one agent, who ended its ranks",
        after(TIMING, told_to_end(2, 3), echo(0), echo(1), agent_killed(1, -15)),
        found(
            "agent-killed",
            Subject(kind="host", name="beta"),
            "the agent of node 1 on beta was killed by SIGTERM in all_reduce at 1 MiB (timing), "
            "along with ranks 2, 3 on beta",
            waiting(0, 1),
            "read the rank's log and run dmesg on beta",
        ),
    ),
    (
        "somebody ended all agents",
        after(TIMING, told_to_end(2, 3), echo(0), echo(1), agent_killed(1, -15), agent_killed(0, -15)),
        found(
            "terminated",
            NOBODY,
            "ranks 0, 1, 2, 3 on alpha, beta were ended by SIGTERM in all_reduce at 1 MiB (timing); none had"
            " failed before that",
            ["hosts: alpha, beta", *WHO],
            "find out who ended the job: the scheduler (preemption, time limit) or an administrator",
        ),
    ),
    (
        "a launcher ends an agent because a rank of another node has failed",
        after(TIMING, raised(1, "ValueError: bad shape"), told_to_end(2, 3), agent_killed(1, -15)),
        found(
            "rank-error",
            1,
            f"{WHO[1]} raised ValueError: bad shape in all_reduce at 1 MiB (timing)",
            waiting(0),
            "read the traceback in the rank's log",
        ),
    ),
    (
        "the agent terminates the others after a death",
        after(TIMING, died(0, -15), died(1, -15), died(3, -9), died(2, -15)),
        found(
            "rank-died",
            3,
            f"{WHO[3]} was killed by SIGKILL in all_reduce at 1 MiB (timing)",
            [],
            OOM_REMEDY.format("beta"),
        ),
    ),
    (
        "raised in its own code, after echoes",
        after(
            TIMING,
            echo(0),
            log(1, "Traceback (most recent call last):", "ValueError: bad shape"),
            raised(1, "ValueError: bad shape\nwith a second line"),
        ),
        found(
            "rank-error",
            1,
            f"{WHO[1]} raised ValueError: bad shape in all_reduce at 1 MiB (timing)",
            [
                *waiting(0, 2, 3),
                "log of rank 1: Traceback (most recent call last):",
                "log of rank 1: ValueError: bad shape",
            ],
            "read the traceback in the rank's log",
        ),
    ),
    (
        "raised without a text",
        after(spawned(), raised(0, "")),
        found(
            "rank-error",
            0,
            f"{WHO[0]} raised an error during startup",
            [],
            "read the traceback in the rank's log",
        ),
    ),
    (
        "two raised: the first one counts",
        after(TIMING, raised(2, "OSError: full"), raised(1, "KeyError: 'x'")),
        found(
            "rank-error",
            2,
            f"{WHO[2]} raised OSError: full in all_reduce at 1 MiB (timing)",
            waiting(0, 1, 3),
            "read the traceback in the rank's log",
        ),
    ),
    (
        "all echo: nobody died",
        after(TIMING, echo(2), echo(0), echo(1), echo(3)),
        found(
            "collective-failed",
            NOBODY,
            f"communication failed in all_reduce at 1 MiB (timing); no rank stands out. "
            f"{WHO[2]} reported it first: "
            "RuntimeError: [2] Connection closed by peer",
            [],
            NO_DEATH_REMEDY,
        ),
    ),
    (
        "all echo but one, which is stopped",
        after(TIMING, beats((1,), state="T"), echo(2), echo(0), echo(3)),
        found(
            "rank-hung",
            1,
            f"{WHO[1]} made no progress in all_reduce at 1 MiB (timing)",
            [STOPPED, *waiting(0, 2, 3)],
            HOST_REMEDY.format("alpha"),
        ),
    ),
    (
        "one echoes, and one of the silent ones is stopped",
        after(TIMING, beats((1,), state="T"), echo(2)),
        found(
            "rank-hung",
            1,
            f"{WHO[1]} made no progress in all_reduce at 1 MiB (timing)",
            [STOPPED, *waiting(0, 2, 3)],
            HOST_REMEDY.format("alpha"),
        ),
    ),
    (
        "one echo and three silent ranks",
        after(TIMING, echo(2)),
        found(
            "collective-failed",
            NOBODY,
            f"communication failed in all_reduce at 1 MiB (timing); no rank stands out. "
            f"{WHO[2]} reported it first: "
            "RuntimeError: [2] Connection closed by peer",
            [],
            NO_DEATH_REMEDY,
        ),
    ),
    (
        "two of four are out of memory: the first to say so is named, and the other did not wait for it",
        after(TIMING, raised(3, NO_MEMORY), raised(1, NO_MEMORY)),
        found(
            "gpu-out-of-memory",
            3,
            f"{WHO[3]} raised {NO_MEMORY} in all_reduce at 1 MiB (timing)",
            ["rank 1 on alpha reported the same error", *waiting(0, 2)],
            MEMORY_REMEDY.format("beta"),
        ),
    ),
    (
        "an agent killed, and the echoes of its own and of other ranks before the news",
        after(TIMING, echo(2), echo(0), agent_killed(1)),
        found(
            "agent-killed",
            Subject(kind="host", name="beta"),
            "the agent of node 1 on beta was killed by SIGKILL in all_reduce at 1 MiB (timing), "
            "along with ranks 2, 3 on beta",
            waiting(0, 1),
            OOM_REMEDY.format("beta"),
        ),
    ),
    (
        "an agent killed before its ranks were there",
        after(agent_killed(0)),
        found(
            "agent-killed",
            Subject(kind="host", name="alpha"),
            "the agent of node 0 on alpha was killed by SIGKILL",
            [],
            OOM_REMEDY.format("alpha"),
        ),
    ),
]


@pytest.mark.parametrize(
    ("run", "culprit"), [case[1:] for case in AFTER_FAULTS], ids=[case[0] for case in AFTER_FAULTS]
)
def test_after_a_fault(run: RunState, culprit: Finding | None) -> None:
    assert blame.after_fault(run) == culprit


OUTSIDE = "it is not in a communication call, but the others are waiting in one"
STACK = "\n".join(f"frame {number}" for number in range(30))

LOOKING = "checking its GPU"
DRIVER_REMEDY = (
    "on {}, check whether nvidia-smi hangs too and run dmesg | grep -i -E 'NVRM|Xid|amdgpu'; "
    "to wait longer, raise --join-timeout; to run without GPUs, use --backend gloo"
)
ASLEEP = "state D: its process is blocked in the kernel, waiting for the driver"

AFTER_TIMEOUTS: list[tuple[str, RunState, Finding]] = [
    (
        "the driver does not answer one rank",
        after(
            *(spawned(), hello((0, 1, 3)), beats((0, 1, 3), phase="joining", step=-1, calls=1)),
            *(beats((2,), phase=LOOKING, step=-1, calls=0, state="D"), [events.Stack(rank=2, text=STACK)]),
        ),
        found(
            "gpu-unusable",
            2,
            f"CUDA has not responded to {WHO[2]} for 30 s",
            [
                ASLEEP,
                *waiting(0, 1, 3, where="before the first operation (joining)"),
                "stack: " + "\n".join(STACK.splitlines()[:9]),
            ],
            DRIVER_REMEDY.format("beta"),
        ),
    ),
    (
        "the driver does not answer the ranks of one host",
        after(
            *(spawned(), hello((0, 1)), beats((0, 1), phase="joining", step=-1, calls=1)),
            beats((2, 3), phase=LOOKING, step=-1, calls=0, state="R"),
        ),
        found(
            "gpu-unusable",
            Subject(kind="host", name="beta"),
            "CUDA has not responded to ranks 2, 3 on beta for 30 s",
            waiting(0, 1, where="before the first operation (joining)"),
            DRIVER_REMEDY.format("beta"),
        ),
    ),
    (
        "a rank never came",
        after(spawned((0, 2, 3))),
        found(
            "rank-missing",
            1,
            "rank 1 of 4 did not join within 30 s",
            ["joined: alpha, beta"],
            "check the host that should have started it; to wait longer, raise --join-timeout",
        ),
    ),
    (
        "a node never came",
        after(spawned((0, 1)), hello((0, 1))),
        found(
            "rank-missing",
            2,
            "ranks 2, 3 of 4 did not join within 30 s",
            ["joined: alpha"],
            "check the host that should have started it; to wait longer, raise --join-timeout",
        ),
    ),
    (
        "many never came",
        after(spawned((0,)), ranks=64),
        found(
            "rank-missing",
            1,
            "ranks 1, 2, 3, 4, 5, 6, 7, 8, ... of 64 did not join within 30 s",
            ["joined: alpha"],
            "check the host that should have started it; to wait longer, raise --join-timeout",
        ),
    ),
    (
        "stopped",
        after(TIMING, beats((2,), state="T")),
        found(
            "rank-hung",
            2,
            f"{WHO[2]} made no progress for 30 s in all_reduce at 1 MiB (timing)",
            [STOPPED, *waiting(0, 1, 3)],
            HOST_REMEDY.format("beta"),
        ),
    ),
    (
        "stopped under a tracer, before hello",
        after(spawned(), hello((0, 1, 2)), beats((3,), phase="starting", step=-1, calls=0, state="t")),
        found(
            "rank-hung",
            3,
            f"{WHO[3]} made no progress for 30 s during startup",
            [STOPPED, *waiting(0, 1, 2, where="before the first operation (joining)")],
            HOST_REMEDY.format("beta"),
        ),
    ),
    (
        "its GPU failed, and it hangs in the call",
        after(TIMING, log(3, "n1:3:4 [1] x.cc:9 NCCL WARN Cuda failure 'uncorrectable ECC error encountered'")),
        found(
            "gpu-error",
            3,
            f"{WHO[3]} made no progress for 30 s in all_reduce at 1 MiB (timing); its log says: "
            "n1:3:4 [1] x.cc:9 NCCL WARN Cuda failure 'uncorrectable ECC error encountered'",
            [
                *waiting(0, 1, 2),
                "log of rank 3: n1:3:4 [1] x.cc:9 NCCL WARN Cuda failure 'uncorrectable ECC error encountered'",
            ],
            "drain beta so that no other job gets this GPU; run there: dmesg | grep -i -E 'xid|nvrm|amdgpu', "
            "nvidia-smi -q -d ECC,ROW_REMAPPER; reset or replace the GPU",
        ),
    ),
    (
        "hung outside of a call",
        after(TIMING, beats((1,), calls=6, state="S"), [events.Stack(rank=1, text=STACK)], log(1, "a last line")),
        found(
            "rank-hung",
            1,
            f"{WHO[1]} made no progress for 30 s in all_reduce at 1 MiB (timing)",
            [
                OUTSIDE,
                *waiting(0, 2, 3),
                "stack: " + "\n".join(f"frame {number}" for number in range(9)),
                "log of rank 1: a last line",
            ],
            HOST_REMEDY.format("alpha"),
        ),
    ),
    (
        "hung between two operations",
        after(
            TIMING,
            result(),
            enter((0, 1, 3), 1, "gather", 8),
            beats((0, 1, 3), "warm-up", step=1, calls=1),
            beats((2,), "between steps", step=1, calls=0),
        ),
        found(
            "rank-hung",
            2,
            f"{WHO[2]} made no progress for 30 s after all_reduce at 1 MiB, before its next step",
            [OUTSIDE, *waiting(0, 1, 3, where="in gather at 8 B (warm-up)")],
            AGAIN_REMEDY.format("beta"),
        ),
    ),
    (
        "two ranks hung",
        after(TIMING, beats((1, 3), calls=8)),
        found(
            "rank-hung",
            1,
            "ranks 1, 3 on alpha, beta made no progress for 30 s in all_reduce at 1 MiB (timing)",
            [OUTSIDE, *waiting(0, 2)],
            AGAIN_REMEDY.format("alpha"),
        ),
    ),
    (
        "all inside: the network",
        after(TIMING),
        found(
            "hang",
            Subject(kind="run", name="all ranks"),
            "no progress for 30 s in all_reduce at 1 MiB (timing); no rank stands out",
            [f"{WHO[rank]} waits in all_reduce at 1 MiB (timing)" for rank in RANKS],
            NETWORK_REMEDY,
        ),
    ),
    (
        "a group hangs, and the others are done with the step",
        after(TIMING, beats((0, 1), phase=WAITING_FOR_GROUPS)),
        found(
            "hang",
            Subject(kind="run", name="all ranks"),
            "no progress for 30 s in all_reduce at 1 MiB (timing); no rank stands out",
            [f"{WHO[rank]} waits in all_reduce at 1 MiB (timing)" for rank in (2, 3)],
            NETWORK_REMEDY,
        ),
    ),
    (
        "all outside",
        after(TIMING, beats(calls=8)),
        found(
            "hang",
            Subject(kind="run", name="all ranks"),
            "no progress for 30 s in all_reduce at 1 MiB (timing); no rank stands out",
            [f"{WHO[rank]} waits in all_reduce at 1 MiB (timing)" for rank in RANKS],
            NETWORK_REMEDY,
        ),
    ),
    (
        "all said bye and ended, but the node process stays",
        after(TIMING, [events.Bye(rank=rank) for rank in RANKS], *(died(rank, 0) for rank in RANKS)),
        found(
            "hang",
            Subject(kind="run", name="all ranks"),
            "no progress for 30 s after the ranks ended; no rank stands out",
            [],
            NETWORK_REMEDY,
        ),
    ),
]


@pytest.mark.parametrize(
    ("run", "culprit"), [case[1:] for case in AFTER_TIMEOUTS], ids=[case[0] for case in AFTER_TIMEOUTS]
)
def test_after_silence(run: RunState, culprit: Finding) -> None:
    assert blame.after_timeout(run, 30.0) == culprit


def test_where_all_ranks_are_on_one_host_no_network_is_suspected() -> None:
    pair = after(spawned((0, 1)), hello((0, 1)), enter((0, 1)), beats((0, 1)), ranks=2)
    hung = blame.after_timeout(pair, 30.0)
    broken = blame.after_fault(
        after(spawned((0, 1)), hello((0, 1)), enter((0, 1)), beats((0, 1)), echo(1), echo(0), ranks=2)
    )
    look = (
        "run on alpha, the host of all ranks: dmesg, nvidia-smi (or amd-smi), df /dev/shm; "
        "NCCL_DEBUG=INFO shows more"
    )
    assert (hung.code, hung.remedy) == ("hang", look)
    assert broken is not None
    assert (broken.code, broken.remedy) == ("collective-failed", f"no rank died: {look}")


def test_of_many_that_wait_a_few_are_shown() -> None:
    every = range(64)
    streams: list[Sequence[Event]] = [
        [events.Spawned(rank=rank, node_rank=rank // 8, host=f"n{rank // 8}", pid=rank) for rank in every],
        enter(every),
        beats(every),
        died(5, -9),
    ]
    culprit = blame.after_fault(after(*streams, ranks=64))
    assert culprit is not None
    assert culprit.evidence == (*waiting(0, 1, 2, 3), "and 59 more")


def test_a_long_error_is_cut() -> None:
    text: Any = "RuntimeError: " + "x" * 1000
    culprit = blame.after_fault(after(spawned(), raised(1, text)))
    assert culprit is not None
    assert culprit.message == f"{WHO[1]} raised {text[:300]} during startup"
