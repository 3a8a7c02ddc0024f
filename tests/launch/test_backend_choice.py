"""NCCL or Gloo, and why; GPUs that are counted and cannot be used, and whose fault that is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.launch import backend_choice as judged
from nccltool.launch.events import MAX_LINE, GpuProblem, Hello, RankFacts, Reported, encode
from nccltool.launch.job import Job
from tests.samples import facts, job, world

REAL = job(emulated=False)
IN_A_JOB = job(emulated=False, node_ranks=())
CPU_TORCH = GpuProblem(
    cause="torch", text="torch 2.13.0+cpu is built for CPUs: torch.version.cuda and .hip are None"
)
OLD_DRIVER = GpuProblem(cause="driver", text="The NVIDIA driver on your system is too old (found version 11040).")
DEAD = GpuProblem(cause="cuda", text="CUDA error: unspecified launch failure")
HIDDEN = GpuProblem(cause="hidden", text="CUDA_VISIBLE_DEVICES='' hides the 8 GPUs of the host")


def one_host(ranks: int, gpus: int, nodes: int = 2, of_host: int | None = None, **changes: Any) -> list[RankFacts]:
    """Ranks of emulated nodes, each on the GPU that is its share."""
    return [
        replace(
            facts(0),
            rank=rank,
            node_rank=rank * nodes // ranks,
            gpu=f"GPU-{rank % gpus}",
            gpus=gpus,
            gpus_of_host=of_host or gpus,
            **changes,
        )
        for rank in range(ranks)
    ]


def cluster(hosts: int = 3, ranks: int = 8) -> list[RankFacts]:
    """Healthy hosts n0, n1, ... with 8 GPUs and as many ranks each."""
    return [
        replace(
            facts(0),
            rank=number,
            node_rank=number // ranks,
            host=f"n{number // ranks}",
            host_id=f"n{number // ranks}",
            gpu=f"GPU-{number}",
            gpus=8,
            gpus_of_host=8,
        )
        for number in range(hosts * ranks)
    ]


def broken(ranks: Sequence[RankFacts], problem: GpuProblem, which: Sequence[int]) -> list[RankFacts]:
    """Some ranks cannot use their GPUs."""
    shown = 0 if problem.cause == "hidden" else 8
    return [
        replace(one, gpu=None, gpu_name=None, gpus=shown, gpu_problem=problem) if one.rank in which else one
        for one in ranks
    ]


PERMITTED = {"permits_shared_gpus": True}


@pytest.mark.parametrize(
    ("wanted", "ranks", "choice"),
    [
        (job(), world(), ("nccl", "every rank has a GPU and NCCL")),
        (job(), world(has_rccl=True), ("nccl", "every rank has a GPU and RCCL")),
        (job(), world(nccl=None, has_rccl=True), ("gloo", "rank 0 on alpha has a torch built without RCCL")),
        (job(), world(gpu=None, nccl=None), ("gloo", "no rank has a CUDA device")),
        (
            job(),
            [replace(one, gpus=0) for one in one_host(2, 1)],
            ("gloo", "alpha has 1 GPU for 2 ranks, but NCCL needs one per rank"),
        ),
        (job(), [*world()[:3], facts(3, gpu=None)], ("gloo", "rank 3 on beta has no CUDA device")),
        (job(), [*world()[:3], facts(3, nccl=None)], ("gloo", "rank 3 on beta has a torch built without NCCL")),
        (job(), world(nccl=None), ("gloo", "rank 0 on alpha has a torch built without NCCL")),
        (job(backend="gloo"), world(), ("gloo", "requested with --backend gloo")),
        (job(backend="nccl"), world(gpu=None), ("nccl", "requested with --backend nccl")),
        (
            job(),
            one_host(8, 8),
            ("nccl", "every rank has a GPU and NCCL: each of the 2 nodes has 4 of the 8 GPUs"),
        ),
        (
            job(),
            one_host(6, 8, nodes=3),
            ("nccl", "every rank has a GPU and NCCL: each of the 3 nodes has 2 of the 8 GPUs"),
        ),
        (job(), one_host(2, 1), ("gloo", "alpha has 1 GPU for 2 ranks, but NCCL needs one per rank")),
        (job(), one_host(16, 8), ("gloo", "alpha has 8 GPUs for 16 ranks, but NCCL needs one per rank")),
        (
            job(),
            one_host(2, 1, **PERMITTED),
            ("nccl", "every rank has a GPU and NCCL, and NCCL_MULTI_RANK_GPU_ENABLE lets ranks share a GPU"),
        ),
        (
            IN_A_JOB,
            one_host(2, 1, nodes=1),
            ("gloo", "alpha has 1 GPU for 2 ranks, but NCCL needs one per rank"),
        ),
        (
            REAL,
            world(gpu=None, gpus=0, gpus_of_host=8, gpu_problem=HIDDEN),
            ("gloo", "no rank has a CUDA device: CUDA_VISIBLE_DEVICES='' hides the 8 GPUs of the host"),
        ),
    ],
)
def test_the_backend_is_chosen_with_its_reason(
    wanted: Job, ranks: Sequence[RankFacts], choice: tuple[str, str]
) -> None:
    assert judged.choose_backend(wanted, ranks) == choice


@pytest.mark.parametrize(
    ("wanted", "ranks"),
    [
        pytest.param(REAL, world(), id="all have their own"),
        pytest.param(job(), one_host(8, 8), id="shared out"),
        pytest.param(job(), one_host(2, 1), id="fewer than ranks: over Gloo"),
        pytest.param(job(backend="gloo"), one_host(2, 1), id="Gloo, one GPU"),
        pytest.param(job(backend="gloo"), broken(cluster(), CPU_TORCH, range(24)), id="Gloo, whatever torch is"),
        pytest.param(job(backend="nccl"), one_host(2, 1, **PERMITTED), id="shared as NCCL permits"),
        pytest.param(job(), world(gpu=None, nccl=None), id="no GPUs"),
        pytest.param(job(), world(gpu=None, gpus=0, gpus_of_host=8, gpu_problem=HIDDEN), id="hidden from all"),
        pytest.param(
            IN_A_JOB, [replace(one, gpus=1) for one in cluster()], id="--gpus-per-task=1: each sees its own"
        ),
        pytest.param(
            IN_A_JOB,
            [replace(one, gpu=f"MIG-{one.rank}", gpus=1, gpus_of_host=1) for one in one_host(4, 4, nodes=1)],
            id="slices of one GPU",
        ),
        pytest.param(
            REAL,
            sorted(
                [facts(rank, gpu="device 0") for rank in (0, 2)] + world()[1:2] + world()[3:],
                key=lambda one: one.rank,
            ),
            id="the same name on two hosts",
        ),
    ],
)
def test_nothing_speaks_against_it(wanted: Job, ranks: Sequence[RankFacts]) -> None:
    backend, _ = judged.choose_backend(wanted, ranks)
    assert judged.problems(wanted, backend, ranks) == ()


def error(code: str, kind: Any, name: str, message: str, remedy: str, *evidence: str) -> Finding:
    subject = Subject(kind=kind, name=name)
    return Finding(code=code, severity="error", subject=subject, message=message, remedy=remedy, evidence=evidence)


NCCL_REMEDY = "use --backend gloo or auto, fewer ranks per node, or a torch built for CUDA"
GPU_REMEDY = "start at most one rank per GPU and check CUDA_VISIBLE_DEVICES"
FEW_REMEDY = (
    "start fewer ranks there or measure on CPUs: --backend gloo; "
    "to share GPUs, set NCCL_MULTI_RANK_GPU_ENABLE=1 (NCCL 2.30.3 or later)"
)
CPUS = "or measure on CPUs: --backend gloo"
TORCH = f"install a torch built for these GPUs (pytorch.org/get-started/locally); {CPUS}"
DRIVER = (
    "update the driver (a container needs libcuda from the host), or install a torch build that "
    f"supports it; {CPUS}"
)
MASKS = f"set the same GPU masks on all ranks: check the launcher's options and wrappers; {CPUS}"
LOOK = f"run on that host: nvidia-smi (or amd-smi), dmesg | grep -i -E 'NVRM|Xid|amdgpu'; {CPUS}"
BUSY = GpuProblem(cause="cuda", text="torch sees 7 of the 8 GPUs counted, but this rank uses number 7")


@pytest.mark.parametrize(
    ("wanted", "ranks", "findings"),
    [
        pytest.param(
            job(backend="nccl"),
            [*world()[:2], facts(2, gpu=None), facts(3, gpu=None)],
            [
                error(
                    "backend-unavailable",
                    "rank",
                    "2",
                    "rank 2 on beta cannot use NCCL: it has no CUDA device",
                    NCCL_REMEDY,
                )
            ],
            id="NCCL, and a host without GPUs",
        ),
        pytest.param(
            job(backend="nccl"),
            world(nccl=None),
            [
                error(
                    "backend-unavailable",
                    "rank",
                    "0",
                    "rank 0 on alpha cannot use NCCL: its torch has no NCCL",
                    NCCL_REMEDY,
                )
            ],
            id="NCCL, and no torch has it",
        ),
        pytest.param(
            job(backend="nccl"),
            world(gpu=None, gpus=0, gpus_of_host=8, gpu_problem=HIDDEN),
            [
                error(
                    "backend-unavailable",
                    "rank",
                    "0",
                    "rank 0 on alpha cannot use NCCL: it has no CUDA device: "
                    "CUDA_VISIBLE_DEVICES='' hides the 8 GPUs of the host",
                    NCCL_REMEDY,
                )
            ],
            id="NCCL, and all GPUs are hidden",
        ),
        pytest.param(
            REAL,
            [facts(0), facts(1), facts(2), facts(3, gpu="GPU-2")],
            [error("duplicate-gpu", "device", "GPU-2", "ranks 2, 3 on beta share one GPU (GPU-2)", GPU_REMEDY)],
            id="two ranks on one GPU",
        ),
        pytest.param(
            IN_A_JOB,
            one_host(2, 1, nodes=1, of_host=8),
            [error("duplicate-gpu", "device", "GPU-0", "ranks 0, 1 on alpha share one GPU (GPU-0)", GPU_REMEDY)],
            id="a launcher shows all ranks the same one of many",
        ),
        pytest.param(
            job(backend="nccl"),
            one_host(16, 8),
            [
                error(
                    "duplicate-gpu",
                    "host",
                    "alpha",
                    "alpha has 8 GPUs for 16 ranks, but NCCL needs one per rank",
                    FEW_REMEDY,
                )
            ],
            id="NCCL, and fewer GPUs than ranks",
        ),
        pytest.param(
            job(),
            broken(one_host(8, 8), CPU_TORCH, range(8)),
            [
                error(
                    "torch-without-gpu",
                    "host",
                    "alpha",
                    f"no rank on alpha can use a GPU: {CPU_TORCH.text}",
                    TORCH,
                    "GPUs found there: 8",
                )
            ],
            id="a torch for CPUs on the only host",
        ),
        pytest.param(
            job(backend="nccl"),
            broken(one_host(8, 8), OLD_DRIVER, range(8)),
            [
                error(
                    "torch-without-gpu",
                    "host",
                    "alpha",
                    f"no rank on alpha can use a GPU: {OLD_DRIVER.text}",
                    DRIVER,
                    "GPUs found there: 8",
                )
            ],
            id="a driver that is too old, and NCCL asked for: one finding",
        ),
        pytest.param(
            REAL,
            broken(cluster(), DEAD, range(8, 16)),
            [
                error(
                    "gpu-unusable",
                    "host",
                    "n1",
                    f"no rank on n1 can use a GPU: {DEAD.text}",
                    LOOK,
                    "GPUs found there: 8; 2 other hosts can use theirs",
                )
            ],
            id="one dead host among three",
        ),
        pytest.param(
            REAL,
            broken(cluster(), BUSY, [15]),
            [
                error(
                    "gpu-unusable",
                    "rank",
                    "15",
                    f"rank 15 on n1 cannot use its GPU: {BUSY.text}",
                    LOOK,
                    "GPUs found there: 8; the other 7 ranks there can use theirs; 2 other hosts can use theirs",
                )
            ],
            id="one dead GPU",
        ),
        pytest.param(
            IN_A_JOB,
            broken(cluster(), HIDDEN, [5, 6]),
            [
                error(
                    "gpu-unusable",
                    "host",
                    "n0",
                    f"ranks 5, 6 on n0 cannot use their GPUs: {HIDDEN.text}",
                    MASKS,
                    "GPUs found there: 8; the other 6 ranks there can use theirs; 2 other hosts can use theirs",
                )
            ],
            id="two ranks that are shown none",
        ),
        pytest.param(
            REAL,
            broken(broken(cluster(), DEAD, range(8)), CPU_TORCH, range(16, 24)),
            [
                error(
                    "gpu-unusable",
                    "host",
                    "n0",
                    f"no rank on n0 can use a GPU: {DEAD.text}",
                    LOOK,
                    "GPUs found there: 8; 1 other host can use theirs",
                ),
                error(
                    "torch-without-gpu",
                    "host",
                    "n2",
                    f"no rank on n2 can use a GPU: {CPU_TORCH.text}",
                    TORCH,
                    "GPUs found there: 8; 1 other host can use theirs",
                ),
            ],
            id="two hosts with two troubles",
        ),
        pytest.param(
            REAL,
            broken(cluster(6), CPU_TORCH, range(48)),
            [
                error(
                    "torch-without-gpu",
                    "host",
                    "n[0-5]",
                    f"no rank on n[0-5] can use a GPU: {CPU_TORCH.text}",
                    TORCH,
                    "GPUs found there: 8",
                )
            ],
            id="many hosts with the same trouble are one finding",
        ),
    ],
)
def test_what_speaks_against_it(wanted: Job, ranks: Sequence[RankFacts], findings: list[Finding]) -> None:
    backend, _ = judged.choose_backend(wanted, ranks)
    assert list(judged.problems(wanted, backend, ranks)) == findings


def test_a_gpu_that_fails_when_it_is_taken_into_use() -> None:
    assert judged.unusable(facts(3), DEAD) == error(
        "gpu-unusable", "rank", "3", f"rank 3 on beta cannot use its GPU (GPU-3): {DEAD.text}", LOOK
    )


def test_what_is_said_of_them_fits_an_event() -> None:
    longest = replace(facts(0), gpu_problem=GpuProblem(cause="cuda", text="x" * 620), gpus=8, gpus_of_host=8)
    assert len(encode(Hello(facts=longest))) < MAX_LINE
    ranks = broken(cluster(10_000, 1), DEAD, range(10_000))
    (finding,) = judged.problems(REAL, "nccl", ranks)
    assert len(encode(Reported(finding=finding))) < MAX_LINE
