"""NCCL on one GPU: a world of one rank runs every call that has no peer."""

import os
import subprocess
import sys
import time

import pytest
import torch
import torch.distributed as dist

from nccltool.hosts import gpu
from nccltool.launch import last_words
from nccltool.launch.gpu_shares import PERMITTED_SINCE
from nccltool.probe.collectives.base import Part
from nccltool.probe.dtypes import ELEMENT_SIZE, REDUCE_OPS
from nccltool.worker.probe import clocks
from nccltool.worker.probe.clocks import CudaStream, QueueClock
from nccltool.worker.probe.data import Pattern
from nccltool.worker.progress_page import ProgressPage
from tests.support.commands import NCCLTOOL, Ended
from tests.worker.conftest import Start

pytestmark = [
    pytest.mark.torch,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]

ONE_RANK = ("--nodes", "1", "--nproc-per-node", "1", "--backend", "nccl", "--sizes", "1KiB,1MiB", "-n", "5")
MOVING = "all_gather,broadcast,all_to_all"
LIMIT_S = 180.0


def ended(start: Start, *words: str, **env: str) -> Ended:
    command = start(*ONE_RANK, *words, **env)
    result = command.wait(LIMIT_S)
    assert command.everything_gone()
    return result


@pytest.mark.parametrize("dtype", ELEMENT_SIZE)
def test_every_type_on_nccl(start: Start, dtype: str) -> None:
    ops = MOVING if dtype.startswith("float8") else f"{MOVING},all_reduce,reduce_scatter,reduce"
    result = ended(start, "--op", ops, "-d", dtype)
    assert result.code == 0, result.said
    assert (result.document["run"]["backend"], result.document["status"]) == ("nccl", "warn")
    rows = [(row["op"], row["dtype"], row["wrong"]) for row in result.document["measurements"]]
    assert rows == [(op, dtype, 0) for op in ops.split(",") for _ in range(2)]


def test_auto_chooses_nccl_where_a_gpu_is(start: Start) -> None:
    result = ended(start, "--op", "all_reduce", "--backend", "auto")
    assert result.code == 0, result.said
    run = result.document["run"]
    assert (run["backend"], run["backend_reason"]) == ("nccl", "every rank has a GPU and NCCL")
    assert run["set_in_ranks"] in (["NCCL_DEBUG=WARN"], [])  # none: a configuration file of NCCL says how much


MASKS = ("", "0", "0,0", "0,99", "1,0", "0,x", "NoDevFiles", "GPU-", "GPU-00000000", "0gpu")


@pytest.mark.parametrize("mask", [None, *MASKS])
def test_gpus_are_counted_as_torch_counts_them(mask: str | None) -> None:
    """What files and masks tell, against the driver."""
    env = {name: value for name, value in os.environ.items() if not name.endswith("VISIBLE_DEVICES")}
    env |= {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    asked = [sys.executable, "-c", "import torch; torch.cuda.init(); print(torch._C._cuda_getDeviceCount())"]
    told = subprocess.run(asked, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert gpu.count(env) == (int(told.stdout) if told.returncode == 0 else 0), told.stderr


def test_a_uuid_names_its_gpu() -> None:
    uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    assert [gpu.count({"CUDA_VISIBLE_DEVICES": mask}) for mask in (uuid, f"{uuid},{uuid}", uuid[:-1] + "?")] == [
        1,
        0,
        0,
    ]


ONE_OF_THEM = {"CUDA_VISIBLE_DEVICES": "0"}
TWO_NODES = ("--op", "all_reduce", "--nodes", "2")
NCCL = torch.cuda.nccl.version()[:3] if torch.cuda.is_available() and dist.is_nccl_available() else (0, 0, 0)
SHARES = pytest.mark.skipif(NCCL < PERMITTED_SINCE, reason=f"needs NCCL {PERMITTED_SINCE} or later")


def test_two_nodes_on_one_gpu_use_gloo_and_say_so(start: Start) -> None:
    result = ended(start, *TWO_NODES, "--backend", "auto", **ONE_OF_THEM)
    assert result.code == 0, result.said
    run = result.document["run"]
    assert (run["backend"], run["gpu"]) == ("gloo", "")
    assert run["backend_reason"].endswith(" has 1 GPU for 2 ranks, but NCCL needs one per rank")


def test_nccl_for_two_nodes_on_one_gpu_is_refused(start: Start) -> None:
    result = ended(start, *TWO_NODES, **ONE_OF_THEM)
    assert (result.code, result.stdout) == (2, "")
    assert "--backend nccl needs one GPU per rank, but a host has 1 GPU for 2 ranks" in result.stderr


@SHARES
@pytest.mark.parametrize("backend", ["auto", "nccl"])
def test_two_ranks_share_a_gpu_where_nccl_is_told_to(start: Start, backend: str) -> None:
    permitted = {**ONE_OF_THEM, "NCCL_MULTI_RANK_GPU_ENABLE": "1"}
    result = ended(start, *TWO_NODES, "--backend", backend, **permitted)
    assert result.code == 0, result.said
    assert result.document["run"]["backend"] == "nccl"
    assert [row["wrong"] for row in result.document["measurements"]] == [0, 0]


def test_gpus_that_are_hidden_from_all_ranks_are_not_used(start: Start) -> None:
    result = ended(start, *TWO_NODES, "--backend", "auto", CUDA_VISIBLE_DEVICES="")
    assert result.code == 0, result.said
    run = result.document["run"]
    assert (run["backend"], run["backend_reason"].partition(":")[0]) == ("gloo", "no rank has a CUDA device")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_nodes_share_out_the_gpus(start: Start) -> None:
    result = ended(start, *TWO_NODES, "--backend", "auto", CUDA_VISIBLE_DEVICES="0,1")
    assert result.code == 0, result.said
    run = result.document["run"]
    reason = "every rank has a GPU and NCCL: each of the 2 nodes has 1 of the 2 GPUs"
    assert (run["backend"], run["backend_reason"]) == ("nccl", reason)


def test_a_rank_killed_on_nccl(start: Start) -> None:
    command = start(*ONE_RANK, "--op", "all_reduce", NCCLTOOL_FAULT="kill:rank=0,op=all_reduce,size=1MiB")
    result = command.wait(LIMIT_S)
    assert command.everything_gone()
    assert result.code == 3, result.said
    assert "was killed by SIGKILL in all_reduce at 1 MiB" in result.findings["rank-died"]["message"]


@pytest.mark.parametrize("reduce_op", [None, *REDUCE_OPS])
def test_a_gpu_makes_and_checks_the_data_that_a_cpu_makes(reduce_op: str | None) -> None:
    length, device = 100_003, torch.device("cuda", 0)
    part = Part(0, length, 1 if reduce_op is None else None, 0)
    for dtype in ELEMENT_SIZE:
        if reduce_op is not None and dtype.startswith("float8"):
            continue
        pattern = Pattern(7, getattr(torch, dtype), dtype, 17, reduce_op)
        mine, there = (torch.empty(length, dtype=pattern.dtype, device=where) for where in (device, "cpu"))
        for buffer in (mine, there):
            pattern.fill(buffer, 1, lambda: None)
        assert mine.cpu().view(torch.uint8).equal(there.view(torch.uint8)), dtype
        right = pattern.expected(part, 0, length, device).to(pattern.dtype)
        assert pattern.wrong(right, part, lambda: None) == (0, None), dtype
        right[70_000] = 0 if right[70_000] else 1
        assert pattern.wrong(right, part, lambda: None) == (1, 70_000), dtype


def test_a_gpu_is_asked_for_the_check_of_8_gib_once() -> None:
    pattern = Pattern(7, torch.bfloat16, "bfloat16", 512, "sum")
    length = min(2**32, torch.cuda.mem_get_info()[0] // 8)
    buffer = torch.zeros(length, dtype=torch.bfloat16, device="cuda")
    begin = time.monotonic()
    assert pattern.wrong(buffer, Part(0, length, None, 0), lambda: None)[0] == length
    assert time.monotonic() - begin < 10  # block by block, with 396 kernels each, it took 65 s


@pytest.mark.parametrize(("words", "launched"), [((), "queued"), (("--cuda-graph",), "graph")])
def test_a_row_says_how_its_calls_were_launched(start: Start, words: tuple[str, ...], launched: str) -> None:
    result = ended(start, "--op", "all_reduce", *words)
    assert result.code == 0, result.said
    rows = result.document["measurements"]
    assert [(row["launched"], row["launch_limited"]) for row in rows] == [(launched, False)] * 2


def test_a_device_that_is_held_runs_calls_at_its_own_rate() -> None:
    page, one = ProgressPage(), torch.zeros(1, device="cuda")
    clock, count = QueueClock(CudaStream(lambda: None), page), 64

    def call() -> None:
        one.add_(1)  # a kernel of about a microsecond: launching it from Python takes longer

    clock.offsets(call, count)  # the first launches load kernels
    eager = clock.offsets(call, count)
    assert eager.starved > count / 2
    held = clock.offsets(call, count, clocks.hold_ns(eager.launch_ns, 0, count))
    assert held.starved == 0
    assert held.ns[-1] < eager.ns[-1]
    assert int(one.item()) == 3 * count
    assert page.read()[2] % 2 == 0


def test_a_device_is_held_about_as_long_as_asked() -> None:
    stream = CudaStream(lambda: None)
    clock = QueueClock(stream, ProgressPage())
    for _ in range(2):  # the first tells how fast the device's clock goes
        before = stream.mark()
        clock.offsets(lambda: None, 1, 5_000_000)
        after = stream.mark()
        after.synchronize()
    assert before.elapsed_time(after) == pytest.approx(5.0, rel=0.5)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_gpus_of_a_host_share_a_model_in_each_way_to_train(start: Start) -> None:
    """A number of ranks that is even; the model grows for up to eight of them."""
    ranks = torch.cuda.device_count() // 2 * 2
    words = ("tensor,context,pipeline,model,tp+fsdp", "--nproc-per-node", str(ranks), "--backend", "nccl")
    result = start(*words, "--time-steps", "2", argv=(*NCCLTOOL, "train")).wait(LIMIT_S)
    assert result.code == 0, result.said
    assert {training["status"] for training in result.document["trainings"]} == {"pass"}
    for training in result.document["trainings"]:
        assert training["model"]["ranks"] * training["model"]["replicas"] == ranks


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs in one process")
def test_one_process_trains_on_several_gpus(start: Start) -> None:
    words = ("dp,model", "--nodes", "1", "--nproc-per-node", "1", "--backend", "nccl", "--time-steps", "2")
    command = start(*words, argv=(*NCCLTOOL, "train"))
    result = command.wait(LIMIT_S)
    assert command.everything_gone()
    assert result.code == 0, result.said
    assert [training["status"] for training in result.document["trainings"]] == ["pass", "pass"]


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
@pytest.mark.parametrize(
    ("drill", "code"),
    [("kill", "rank-died"), ("raise", "rank-error"), ("stop", "rank-hung"), ("hang", "rank-hung")],
)
def test_drills_with_the_real_watchdog(start: Start, drill: str, code: str) -> None:
    words = ("--nodes", "1", "--nproc-per-node", "2", "--backend", "nccl", "--op", "all_reduce")
    fault = f"{drill}:rank=1,size=1MiB"
    command = start(*words, "--sizes", "1KiB,1MiB", "--timeout", "20", NCCLTOOL_FAULT=fault)
    result = command.wait(LIMIT_S)
    assert command.everything_gone()
    (problem,) = result.problems
    assert (result.code, problem["code"], problem["subject"]["name"]) == (3, code, "1"), result.said


def test_an_assertion_in_a_kernel_is_the_ranks_own() -> None:
    """The words of the real CUDA are those that are known."""
    script = (
        "import torch; torch.zeros(4, device='cuda')[torch.tensor([9], device='cuda')]; torch.cuda.synchronize()"
    )
    ended = subprocess.run(
        (sys.executable, "-c", script), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    sign = last_words.sign_of(ended.stderr)
    assert sign is not None
    assert (sign.whose, sign.kind.code) == (last_words.Whose.OWN, "rank-error")


def test_no_memory_is_the_ranks_own() -> None:
    with pytest.raises(torch.OutOfMemoryError) as raised:
        torch.empty(2**50, dtype=torch.uint8, device="cuda")
    sign = last_words.sign_of(str(raised.value))
    assert sign is not None
    assert sign.kind.code == "gpu-out-of-memory"


def test_a_model_that_is_cut_is_updated(start: Start) -> None:
    """Its optimizer has DTensors beside plain tensors."""
    words = ("tensor", "--nodes", "1", "--nproc-per-node", "1", "--backend", "nccl", "--steps", "2")
    command = start(*words, "--time-steps", "0", argv=(*NCCLTOOL, "train"))
    result = command.wait(LIMIT_S)
    assert command.everything_gone()
    assert result.code == 0, result.said
    assert [training["status"] for training in result.document["trainings"]] == ["pass"]
