"""GPUs with too little memory: what does not fit is left out before the start, and says so."""

from dataclasses import replace

import pytest

from tests.papergpu.conftest import OnPaper
from tests.papergpu.machine import GIB
from tests.papergpu.machines import paper

pytestmark = pytest.mark.torch

DGX = paper("dgx")
ONE_NODE = ("--nodes", "1", "--nproc-per-node", "2")


def with_free(*free: int) -> tuple[int, ...]:
    """Of the first GPUs; all of the others."""
    return (*free, *[80 * GIB] * (DGX.gpus - len(free)))


def test_a_size_that_one_gpu_has_no_room_for_is_left_out(on_paper: OnPaper) -> None:
    machine = replace(DGX, name="short", free_bytes=with_free(80 * GIB, 3 * 10**9))
    ended = on_paper(
        machine, "probe", *ONE_NODE, "--op", "all_reduce", "--sizes", "1KiB,1GiB", "-n", "2", "-w", "1"
    )
    assert ended.code == 0, ended.said
    assert [(row["bytes"], row["wrong"]) for row in ended.document["measurements"]] == [(1024, 0)]
    said = ended.findings["left-out"]["message"]
    assert said.startswith("all_reduce at 1 GiB was left out: it needs 4.0 GB, but rank 1 on ")
    assert said.endswith(" has 3.0 GB of its GPU free")
    assert said in ended.said


def test_a_training_without_room_for_its_reference_is_unknown(on_paper: OnPaper) -> None:
    machine = replace(DGX, name="short", free_bytes=with_free(80 * GIB, 11 * 10**6))
    ended = on_paper(machine, "train", "ddp", *ONE_NODE, "--steps", "2", "--time-steps", "2")
    assert ended.code == 4, ended.said
    (training,) = ended.document["trainings"]
    assert training["status"] == "unknown"
    assert training["reason"].startswith("not compared: ddp and its reference need 1")
    assert " MB of memory, but rank 1 has " in training["reason"]
    assert training["step_time_s"] is not None
    assert "not-compared" in ended.findings
