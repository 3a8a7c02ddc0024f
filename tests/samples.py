"""Ready-made nouns: each builder gives a plain healthy one, changed where the test says so."""

from dataclasses import replace
from typing import Any

from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding, Subject
from nccltool.core.statistics import Stats
from nccltool.core.verdicts import Verdict
from nccltool.launch.events import RankFacts
from nccltool.launch.run_state import RunState
from nccltool.probe.job import ProbeJob
from nccltool.probe.late_rank import RankLateness
from nccltool.probe.result import LatencyModel, Measurement, Run
from nccltool.probe.state import ProbeState


def measured(state: RunState) -> ProbeState:
    """What was measured in a run."""
    assert isinstance(state.product, ProbeState)
    return state.product


def job(**changes: Any) -> ProbeJob:
    return replace(
        ProbeJob(run_id="20250102T030405Z-beef", ops=("all_reduce",), nodes=2, nproc_per_node=2, emulated=True),
        **changes,
    )


def facts(rank: int, **changes: Any) -> RankFacts:
    """Of one of four ranks, two on alpha and two on beta, with a GPU each; ranks from 4 on are on gamma."""
    node = rank // 2
    return replace(
        RankFacts(
            rank=rank,
            node_rank=node,
            local_rank=rank % 2,
            world_size=4,
            host=("alpha", "beta", "gamma")[node],
            host_id=("boot-a net:[1]", "boot-b net:[1]", "boot-c net:[1]")[node],
            pid=1000 + rank,
            python="3.11.4",
            torch="2.13.0",
            nccl="2.29.7",
            nccltool="0.1.0",
            gpu=f"GPU-{rank}",
            gpu_name="NVIDIA H200",
            host_addresses=(f"192.0.2.{node + 1}",),
        ),
        **changes,
    )


def world(**changes: Any) -> list[RankFacts]:
    """Four healthy ranks, every one with the changes."""
    return [facts(rank, **changes) for rank in range(4)]


def stats(mean: float = 0.002, **changes: Any) -> Stats:
    return replace(
        Stats(
            mean=mean,
            median=mean,
            p90=mean * 1.5,
            p99=None,
            min=mean / 2,
            max=mean * 2,
            ci95=(mean * 0.9, mean * 1.1),
        ),
        **changes,
    )


def measurement(**changes: Any) -> Measurement:
    """all_reduce of 1 MiB over four ranks in 2 ms."""
    return replace(
        Measurement(
            op="all_reduce",
            bytes=2**20,
            bytes_per_rank=2**20,
            count=2**18,
            dtype="float32",
            reduce_op="sum",
            placement="in-place",
            cadence="stream",
            iterations=20,
            time_s=stats(),
            algbw_bytes_per_s=2**20 / 0.002,
            busbw_bytes_per_s=2**20 / 0.002 * 1.5,
            wrong=0,
        ),
        **changes,
    )


def finding(**changes: Any) -> Finding:
    return replace(
        Finding(
            code="rank-died",
            severity="error",
            subject=Subject(kind="rank", name="1"),
            message="rank 1 on beta (node 1, pid 1001) was killed by SIGKILL in all_reduce at 1 MiB (timing)",
            evidence=("rank 0 waited in all_reduce at 1 MiB (timing)", "log of rank 1: first line\nsecond line"),
            remedy="on beta: dmesg",
        ),
        **changes,
    )


def info(**changes: Any) -> RunInfo:
    return replace(
        RunInfo(
            id="20250102T030405Z-beef",
            started="2025-01-02T03:04:05Z",
            command=("nccltool", "probe", "--nodes", "2"),
            nccltool="0.1.0",
            torch="2.13.0+cpu",
            backend="gloo",
            backend_version="2.13.0+cpu",
            backend_reason="no rank has a CUDA device",
            nodes=2,
            emulated=True,
            world_size=4,
            hosts=("alpha",),
        ),
        **changes,
    )


def good_run() -> Run:
    """Two nodes of one host, four rows: plain, with a p99, with everything that is worth a note, not checked."""
    return Run(
        info=info(),
        verdict=Verdict(status="pass", exit_code=0),
        measurements=(
            measurement(),
            measurement(
                op="all_gather",
                reduce_op=None,
                placement="out-of-place",
                bytes_per_rank=2**18,
                count=2**16,
                iterations=100,
                time_s=stats(0.0000123, p99=0.00002),
                algbw_bytes_per_s=85e9,
                busbw_bytes_per_s=64e9,
            ),
            measurement(
                op="all_gather",
                reduce_op=None,
                bytes_per_rank=2**18,
                count=2**16,
                cadence="isolated",
                algbw_bytes_per_s=0.5e9,
                busbw_bytes_per_s=0.375e9,
                time_s=stats(median=0.0015),
                noisy=True,
                late_rank=3,
                late_s=0.0042,
                late_ranks=(RankLateness(rank=3, late_s=0.0042),),
            ),
            measurement(
                op="ping_pong",
                bytes=8,
                bytes_per_rank=8,
                count=2,
                reduce_op=None,
                placement="out-of-place",
                iterations=3,
                time_s=stats(1.5, ci95=None),
                algbw_bytes_per_s=8 / 1.5,
                busbw_bytes_per_s=8 / 1.5,
                noisy=True,
                wrong=None,
            ),
        ),
        findings=(
            finding(
                code="left-out",
                severity="info",
                subject=Subject(kind="operation", name="all_gather"),
                message="all_gather at 8 B was left out: less than 16 B a rank, or too few ranks",
                evidence=(),
                remedy="",
            ),
        ),
        models=(
            LatencyModel(
                op="all_reduce",
                placement="in-place",
                alpha_s=50e-6,
                beta_bytes_per_s=1.5e9,
                n_half_bytes=75e3,
                residual=0.034,
            ),
        ),
    )


def failing_run() -> Run:
    """Two real hosts; wrong data in the only row, then a rank died."""
    return Run(
        info=info(
            emulated=False,
            backend="nccl",
            backend_version="2.29.7",
            backend_reason="every rank has a GPU and NCCL",
            hosts=("alpha", "beta"),
        ),
        verdict=Verdict(status="incomplete", exit_code=3),
        measurements=(measurement(wrong=17),),
        findings=(
            finding(
                code="clock-skew",
                severity="warning",
                subject=Subject(kind="host", name="beta"),
                message="the clock of beta is 20 s behind the other host",
                evidence=("limit 5 s: the keep-alive interval of torch elastic",),
                remedy="start chrony or ntpd",
            ),
            finding(),
        ),
    )


def empty_run() -> Run:
    """Nothing came: hardly anything is known."""
    return Run(
        info=info(
            torch=None,
            backend=None,
            backend_version=None,
            backend_reason=None,
            nodes=None,
            emulated=False,
            world_size=None,
            hosts=(),
        ),
        verdict=Verdict(status="unknown", exit_code=4),
        measurements=(),
        findings=(),
    )


RUNS = {"good": good_run, "failing": failing_run, "empty": empty_run}
