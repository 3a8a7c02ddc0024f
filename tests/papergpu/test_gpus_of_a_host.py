"""GPUs that nodes share out, that are too few, or that cannot be used: what commands make of them."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from tests.papergpu.conftest import OnPaper
from tests.papergpu.machine import PaperMachine
from tests.papergpu.machines import paper
from tests.support.commands import Ended

pytestmark = pytest.mark.torch

EIGHT, ONE = paper("dgx"), paper("h100-pcie")
PROBE = ("probe", "--op", "all_reduce", "--sizes", "1KiB", "-n", "2", "-w", "1")
TWO_NODES = ("--nodes", "2")
TWO_RANKS = ("--nodes", "1", "--nproc-per-node", "2")
TOO_OLD = "The NVIDIA driver on your system is too old (found version 11040)."
UNKNOWN = "CUDA unknown error - this may be due to an incorrectly set up environment"
BUSY = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"
FEW = " has 1 GPU for 2 ranks, but NCCL needs one per rank"
CPU_TORCH = replace(EIGHT, name="cpu-torch", torch_usable=False)
OLD_DRIVER = replace(EIGHT, name="old-driver", torch_usable=TOO_OLD)
NO_DRIVER = replace(EIGHT, name="broken-driver", torch_usable=UNKNOWN)
ONE_DEAD = replace(EIGHT, name="one-dead", dead_gpu=1)
ONE_MASKED = replace(EIGHT, name="one-masked", usable_ranks=(0,))


def named(machine: PaperMachine, *more: object, slow: bool = False) -> object:
    """A case of a machine; every second look at the same thing is slow."""
    return pytest.param(machine, *more, id=machine.name, marks=[pytest.mark.slow] if slow else [])


def taken(ended: Ended) -> dict[int, list[int]]:
    """Node to the numbers of the GPUs that its ranks took."""
    said = [json.loads(line) for line in (ended.run / "events.jsonl").read_text().splitlines()]
    gpus = defaultdict[int, list[int]](list)
    for facts in (event["facts"] for event in said if event["event"] == "hello"):
        gpus[facts["node_rank"]].append(int(facts["gpu"][-12:], 16))
    return {node: sorted(found) for node, found in sorted(gpus.items())}


@pytest.mark.parametrize(
    ("nodes", "each", "gpus"),
    [
        ("2", 2, {0: [2, 3], 1: [4, 5]}),
        pytest.param("3", 1, {0: [2], 1: [3], 2: [4]}, marks=pytest.mark.slow),
    ],
)
def test_nodes_share_out_the_gpus(nodes: str, each: int, gpus: dict[int, list[int]], on_paper: OnPaper) -> None:
    ended = on_paper(EIGHT, *PROBE, "--nodes", nodes, CUDA_VISIBLE_DEVICES="2,3,4,5")
    assert ended.code == 0, ended.said
    run = ended.document["run"]
    reason = f"every rank has a GPU and NCCL: each of the {nodes} nodes has {each} of the 4 GPUs"
    assert (run["backend"], run["backend_reason"], run["emulated"]) == ("nccl", reason, True)
    assert taken(ended) == gpus


@pytest.mark.parametrize(
    "words",
    [pytest.param(TWO_NODES, id="nodes"), pytest.param(TWO_RANKS, id="ranks", marks=pytest.mark.slow)],
)
def test_too_few_gpus_are_left_alone_and_it_is_said(words: tuple[str, ...], on_paper: OnPaper) -> None:
    ended = on_paper(ONE, *PROBE, *words)
    assert ended.code == 0, ended.said
    run = ended.document["run"]
    assert (run["backend"], run["gpu"]) == ("gloo", "")
    assert run["backend_reason"].endswith(FEW)
    assert ended.problems == []


def test_nccl_on_too_few_gpus_is_bad_input(on_paper: OnPaper) -> None:
    ended = on_paper(ONE, *PROBE, *TWO_NODES, "--backend", "nccl")
    assert (ended.code, ended.stdout) == (2, "")
    assert "--backend nccl needs one GPU per rank, but a host has 1 GPU for 2 ranks" in ended.stderr


@pytest.mark.parametrize(
    ("version", "backend"),
    [
        pytest.param((2, 30, 3), "nccl", id="2.30.3"),
        pytest.param((2, 29, 7), "gloo", id="2.29.7", marks=pytest.mark.slow),
    ],
)
def test_ranks_share_a_gpu_where_nccl_is_told_to(
    version: tuple[int, int, int], backend: str, on_paper: OnPaper
) -> None:
    machine = replace(ONE, nccl_version=version)
    ended = on_paper(machine, *PROBE, *TWO_NODES, NCCL_MULTI_RANK_GPU_ENABLE="1")
    assert ended.code == 0, ended.said
    assert (ended.document["run"]["backend"], taken(ended)) == (backend, {0: [0], 1: [0]})


@pytest.mark.parametrize(
    ("machine", "code", "subject", "message"),
    [
        named(CPU_TORCH, "torch-without-gpu", "host", "torch.version.cuda and .hip are None"),
        named(OLD_DRIVER, "torch-without-gpu", "host", TOO_OLD, slow=True),
        named(NO_DRIVER, "gpu-unusable", "host", UNKNOWN, slow=True),
        named(ONE_DEAD, "gpu-unusable", "rank", BUSY),
        named(ONE_MASKED, "gpu-unusable", "rank", "No CUDA GPUs are available"),
    ],
)
def test_gpus_that_are_counted_and_cannot_be_used(
    machine: PaperMachine, code: str, subject: str, message: str, on_paper: OnPaper
) -> None:
    ended = on_paper(machine, *PROBE, *TWO_RANKS)
    assert ended.code == 3, ended.said
    (found,) = ended.problems
    assert (found["code"], found["subject"]["kind"]) == (code, subject)
    assert message in found["message"]
    assert "--backend gloo" in found["remedy"]
    assert subject == "host" or found["subject"]["name"] == "1"


@pytest.mark.slow
@pytest.mark.parametrize("machine", [named(CPU_TORCH), named(ONE_DEAD), named(ONE_MASKED)])
def test_a_training_finds_them_too(machine: PaperMachine, on_paper: OnPaper) -> None:
    ended = on_paper(machine, "train", "ddp", *TWO_RANKS, "--steps", "1")
    assert ended.code == 3, ended.said
    assert {found["code"] for found in ended.problems} <= {"gpu-unusable", "torch-without-gpu"}
    assert ended.problems


@pytest.mark.parametrize(
    "machine",
    [
        *(named(CPU_TORCH), named(OLD_DRIVER, slow=True), named(NO_DRIVER, slow=True)),
        *(named(ONE_DEAD, slow=True), named(ONE_MASKED, slow=True)),
    ],
)
def test_gloo_asks_no_gpu(machine: PaperMachine, on_paper: OnPaper) -> None:
    ended = on_paper(machine, *PROBE, *TWO_NODES, "--nproc-per-node", "1", "--backend", "gloo")
    assert ended.code == 0, ended.said
    run = ended.document["run"]
    assert (run["backend"], run["backend_reason"]) == ("gloo", "requested with --backend gloo")
    assert ended.problems == []


@pytest.mark.slow
def test_gpus_that_are_hidden_from_all_ranks_are_not_missed(on_paper: OnPaper) -> None:
    ended = on_paper(EIGHT, *PROBE, *TWO_NODES, CUDA_VISIBLE_DEVICES="")
    assert ended.code == 0, ended.said
    run = ended.document["run"]
    reason = "no rank has a CUDA device: CUDA_VISIBLE_DEVICES='' hides the 8 GPUs of the host"
    assert (run["backend"], run["backend_reason"]) == ("gloo", reason)


@pytest.mark.slow
def test_a_driver_that_does_not_answer_is_named(on_paper: OnPaper) -> None:
    silent = replace(ONE, start_s=600.0)
    ended = on_paper(silent, *PROBE, *TWO_NODES, "--timeout", "2", "--join-timeout", "3")
    assert ended.code == 3, ended.said
    (found,) = ended.problems
    assert found["code"] == "gpu-unusable"
    assert found["message"].startswith("CUDA has not responded to ranks 0, 1 on ")


SUITE = """
schema = 1
title = "a few seconds"
about = "10 s"
[inventory]
[within]
ops = ["all_reduce"]
sizes = ["1 KiB"]
[across]
ops = ["all_reduce"]
sizes = ["1 KiB"]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "words", "code", "lists"),
    [
        (ONE, TWO_NODES, 0, {"hosts.pass"}),
        (replace(ONE_DEAD, gpus=2), ("--nproc-per-node", "2"), 3, {"hosts.fail", "nodes.exclude"}),
        (CPU_TORCH, ("--nproc-per-node", "2"), 3, {"hosts.fail"}),
        (CPU_TORCH, ("--nproc-per-node", "2", "--backend", "gloo"), 0, {"hosts.pass"}),
    ],
    ids=["too few", "one dead", "a torch for CPUs", "over Gloo"],
)
def test_who_is_taken_out(
    machine: PaperMachine, words: tuple[str, ...], code: int, lists: set[str], on_paper: OnPaper, tmp_path: Path
) -> None:
    """A host with a broken GPU is; one is not for what was asked of it, nor for the Python that was chosen."""
    suite = tmp_path / "mine.toml"
    suite.write_text(SUITE)
    ended = on_paper(machine, "preflight", "--suite", str(suite), *words)
    assert ended.code == code, ended.said
    files = [*ended.run.glob("hosts.*"), ended.run / "nodes.exclude"]
    assert {file.name for file in files if file.read_text()} == lists
