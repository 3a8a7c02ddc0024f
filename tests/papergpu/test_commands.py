"""Commands on a paper machine with eight GPUs: they take NCCL, use every GPU, and their data is right."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nccltool.probe import collectives
from nccltool.trace.run import trace
from tests.papergpu.conftest import OnPaper
from tests.papergpu.machine import PaperFault
from tests.papergpu.machines import paper

pytestmark = pytest.mark.torch

DGX = paper("dgx")
SMALL = ("--sizes", "1KiB", "-n", "2", "-w", "1")
ONE_NODE = ("--nodes", "1", "--nproc-per-node")


def rows(document: dict[str, Any]) -> list[tuple[str, int]]:
    return [(row["op"], row["wrong"]) for row in document["measurements"]]


def trained(document: dict[str, Any]) -> dict[str, str]:
    return {training["strategy"]: training["status"] for training in document["trainings"]}


@pytest.mark.quick
def test_the_first_command_takes_every_gpu(on_paper: OnPaper) -> None:
    ended = on_paper(DGX, "probe", "--nodes", "2", "--op", "all_reduce,send_recv", *SMALL)
    assert ended.code == 0, ended.said
    run = ended.document["run"]
    assert (run["backend"], run["nodes"], run["world_size"]) == ("nccl", 2, 8)
    assert rows(ended.document) == [("all_reduce", 0), ("send_recv", 0)]


TO_ONE_RANK = {"send_recv", "ping_pong"}
"""Their ranks agree on no common begin."""


def test_every_operation_delivers_the_right_data_and_is_timed_by_the_device(on_paper: OnPaper) -> None:
    machine = replace(DGX, name="paced", bus_bytes_per_s=400e9, instant_launch=True)
    words = ("--sizes", "1MiB", "-n", "5", "-w", "1", "-d", "bfloat16", "-c", "1")
    ended = on_paper(machine, "probe", *ONE_NODE, "4", *words)
    assert ended.code == 0, ended.said
    found = ended.document["measurements"]
    assert [(row["op"], row["wrong"]) for row in found] == [(op, 0) for op in collectives.IN_ALL]
    for row in found:
        bandwidth = row["bytes"] / (row["time_s"]["mean"] - machine.latency_s)
        bus = bandwidth * row["busbw_bytes_per_s"] / row["algbw_bytes_per_s"]
        assert row["op"] in TO_ONE_RANK or bus == pytest.approx(400e9, rel=0.01), row


def test_a_graph_is_timed(on_paper: OnPaper) -> None:
    ended = on_paper(DGX, "probe", *ONE_NODE, "2", "--op", "all_reduce,broadcast", *SMALL, "--cuda-graph")
    assert ended.code == 0, ended.said
    assert ended.document["run"]["cuda_graph"] is True
    assert rows(ended.document) == [("all_reduce", 0), ("broadcast", 0)]


EVERY = {
    *(
        "context",
        "ddp",
        "fsdp",
        "fsdp1",
        "model",
        "moe",
        "pipeline",
        "ring",
        "tensor",
        "three_d",
        "tp_fsdp",
        "tp_moe",
        "zero1",
    )
}


@pytest.mark.slow
def test_every_training_equals_its_reference(on_paper: OnPaper) -> None:
    ended = on_paper(DGX, "train", "all", *ONE_NODE, "4", "--steps", "2", "--time-steps", "1")
    assert ended.code == 0, ended.said
    status = trained(ended.document)
    assert {name for name, word in status.items() if word == "pass"} == EVERY
    assert set(status) - EVERY == {"deepspeed", "dp"}


def test_one_process_trains_on_all_gpus(on_paper: OnPaper) -> None:
    ended = on_paper(DGX, "train", "dp,model", *ONE_NODE, "1", "--steps", "2", "--time-steps", "1")
    assert ended.code == 0, ended.said
    assert trained(ended.document) == {"dp": "pass", "model": "pass"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "ddp --comm-hook fp16",
        "ddp --comm-hook powersgd --gradient-as-bucket-view",
        "ddp --static-graph --recompute",
        "ddp,zero1,fsdp,fsdp1,pipeline,tensor -d bfloat16 --accumulate 2 --recompute",
        "ddp,fsdp,zero1 -d float16",
        "fsdp,fsdp1 --offload --clip-norm 1",
        "fsdp,fsdp1 --param-dtype bfloat16 --reduce-dtype float32",
        "tensor --sequence-parallel --momentum 0.9",
        "pipeline --schedule gpipe",
        "pipeline --schedule interleaved",
        "pipeline --schedule zero-bubble",
        "pipeline --schedule zbv",
        "fsdp --checkpoint kept --kill-rank 1 --at-step 2 --max-restarts 1",
    ],
)
def test_a_training_with_options(words: str, on_paper: OnPaper) -> None:
    ended = on_paper(DGX, "train", *words.split(), *ONE_NODE, "2", "--steps", "4", "--time-steps", "1")
    assert ended.code == 0, ended.said
    assert set(trained(ended.document).values()) == {"pass"}


@pytest.mark.slow
def test_parameters_of_rank_0_are_sent_to_the_others(on_paper: OnPaper) -> None:
    """torch does so for FSDP1 on GPUs only."""
    words = ("--layers", "1", "--width", "16", "--context", "8", "--steps", "2", "--time-steps", "0")
    ended = on_paper(DGX, "train", "fsdp1", "--tune", *ONE_NODE, "2", *words)
    assert ended.code == 0, ended.said
    (training,) = ended.document["trainings"]
    status = {one["setting"]: (one["status"], one["reason"]) for one in training["tuning"]["settings"]}
    assert status["sync_module_states=True"] == ("pass", "")


@pytest.mark.slow
def test_a_slow_fabric_is_slow_and_no_hang(on_paper: OnPaper) -> None:
    machine = replace(DGX, name="slow", slow_call_s=0.7, first_call_s=3.0)
    ended = on_paper(machine, "probe", *ONE_NODE, "2", "--op", "all_reduce", *SMALL, "--timeout", "2")
    assert ended.code == 0, ended.said
    (row,) = ended.document["measurements"]
    assert row["time_s"]["median"] > 0.7


TOO_OLD = "The NVIDIA driver on your system is too old (found version 11040)."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        ({"dead_gpu": 1}, "gpu-unusable", "rank 1 "),
        ({"usable_ranks": (0, 1, 3)}, "gpu-unusable", "rank 2 "),
        ({"torch_usable": TOO_OLD}, "torch-without-gpu", TOO_OLD),
        ({"torch_usable": False}, "torch-without-gpu", "is built for CPUs"),
        (
            {"torch_usable": "CUDA unknown error", "nvml_error": "Driver/library version mismatch"},
            "gpu-unusable",
            "",
        ),
    ],
)
@pytest.mark.parametrize("words", ["probe --op all_reduce --sizes 1KiB -n 2 -w 1", "train ddp --steps 1"])
def test_gpus_that_torch_cannot_use_are_an_error(
    words: str, changes: dict[str, Any], code: str, named: str, on_paper: OnPaper
) -> None:
    machine = replace(DGX, name="unusable", **changes)
    ended = on_paper(machine, *words.split(), *ONE_NODE, "4")
    assert (ended.code, list(ended.findings)) == (3, [code]), ended.said
    assert named in ended.findings[code]["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("illegal-access", "gpu-error"),
        ("ecc", "gpu-error"),
        ("out-of-memory", "gpu-out-of-memory"),
        ("nccl-out-of-memory", "gpu-out-of-memory"),
    ],
)
def test_a_device_that_fails_inside_a_call_is_the_fault_of_its_rank(
    kind: str, code: str, on_paper: OnPaper
) -> None:
    machine = replace(DGX, name=kind, faults=(PaperFault(rank=1, call=20, kind=kind),))
    ended = on_paper(machine, "probe", *ONE_NODE, "4", "--op", "all_reduce", *SMALL, "-n", "30", "--timeout", "8")
    assert ended.code == 3, ended.said
    (finding,) = ended.problems
    assert (finding["code"], "rank 1 " in finding["message"]) == (code, True), finding
    assert "network" not in finding["remedy"], finding


@pytest.mark.slow
def test_nobody_is_named_for_a_peer_that_nccl_says_is_gone(on_paper: OnPaper) -> None:
    machine = replace(DGX, name="gone", faults=(PaperFault(rank=1, call=20, kind="async-error"),))
    ended = on_paper(machine, "probe", *ONE_NODE, "4", "--op", "all_reduce", *SMALL, "-n", "30", "--timeout", "8")
    assert (ended.code, list(ended.findings)) == (3, ["collective-failed"]), ended.said


@pytest.mark.parametrize(("kernel_s", "is_lost"), [(5e-6, True), (2e-3, False)], ids=["launch-bound", "GPU-bound"])
def test_a_training_says_whether_its_gpus_wait_for_launches_and_so_does_its_trace(
    on_paper: OnPaper, tmp_path: Path, kernel_s: float, is_lost: bool
) -> None:
    machine = replace(DGX, name="kernels", kernel_s=kernel_s, bus_bytes_per_s=400e9)
    words = ("--steps", "1", "--time-steps", "3", "--layers", "1", "--profile", str(tmp_path / "traces"))
    ended = on_paper(machine, "train", "ddp", *ONE_NODE, "2", *words)
    assert ended.code == 0, ended.said
    (training,) = ended.document["trainings"]
    assert ("launch" in [one["cause"] for one in training["losses"]]) is is_lost
    report = trace([str(tmp_path / "traces")], ())
    assert [one.has_gpu for one in report.traces] == [True, True]
    assert ("launch" in [one.cause for one in report.losses]) is is_lost
