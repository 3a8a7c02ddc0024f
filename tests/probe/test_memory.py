"""What a step needs of memory, and the least that a rank has."""

from dataclasses import replace

import pytest

from nccltool.launch.events import RankFacts
from nccltool.probe import collectives, memory
from nccltool.probe.memory import CHECKED_AT_ONCE, StepNeeds
from nccltool.probe.result import Placement
from tests.samples import facts

MB, GB = 10**6, 10**9
SIZE, WORLD = 64 * 2**20, 4


@pytest.mark.parametrize(
    ("op", "buffers", "copies"),
    [
        ("all_reduce", SIZE, 0),
        ("all_gather", SIZE + SIZE // WORLD, SIZE),
        ("reduce_scatter", SIZE + SIZE // WORLD, SIZE),
        ("broadcast", SIZE, 0),
        ("reduce", SIZE, 0),
        ("gather", SIZE + SIZE // WORLD, SIZE),
        ("scatter", SIZE + SIZE // WORLD, 0),
        ("all_to_all", 2 * SIZE, 0),
        ("send_recv", 2 * SIZE, 0),
        ("ping_pong", 2 * SIZE, 0),
    ],
)
def test_of_a_step(op: str, buffers: int, copies: int) -> None:
    """As measured with Gloo: at 64 MiB four ranks had so much more than at 1 KiB, and up to 16 MiB."""
    collective = collectives.get(op)
    layout = collective.layout(SIZE // 4, WORLD, 4)
    needs = memory.of_step(op, layout, collective.placements[0], 4, "gloo", checks=True)
    assert needs == StepNeeds(buffers=buffers, copies=copies, check=CHECKED_AT_ONCE * 45)
    over_nccl = memory.of_step(op, layout, collective.placements[0], 4, "nccl", checks=False)
    assert over_nccl == StepNeeds(buffers=buffers, copies=0, check=0)


@pytest.mark.parametrize(("placement", "buffers"), [("in-place", SIZE), ("out-of-place", SIZE + SIZE // WORLD)])
def test_in_place_one_buffer_is_part_of_the_other(placement: Placement, buffers: int) -> None:
    layout = collectives.get("all_gather").layout(SIZE // 4, WORLD, 4)
    assert memory.of_step("all_gather", layout, placement, 4, "nccl", checks=False).buffers == buffers


def on_gpus(*free: int | None) -> list[RankFacts]:
    return [
        facts(rank, host=f"n{rank // 2}", host_id=f"h{rank // 2}", gpu=f"GPU-{rank}", gpu_free_bytes=each)
        for rank, each in enumerate(free)
    ]


def test_the_gpu_with_least_bounds_all() -> None:
    room = memory.least("nccl", on_gpus(70 * GB, 71 * GB, 69 * GB, 11 * GB), ["all_reduce"])
    assert room is not None
    assert room.said == "rank 3 on n1 has 11.0 GB of its GPU free"
    assert (round(room.backend / MB), room.for_step) == (2347, 11 * GB - room.backend)


def test_ranks_that_share_a_gpu_have_a_part_of_it_each() -> None:
    ranks = [facts(rank, host="n0", host_id="h0", gpu="GPU-1", gpu_free_bytes=30 * GB) for rank in range(3)]
    room = memory.least("nccl", ranks, ["all_reduce"])
    assert room is not None
    assert room.said == "rank 0 on n0 has 10.0 GB of its GPU free, its share among 3 ranks"


def test_ranks_of_a_host_share_its_memory() -> None:
    ranks = [
        facts(rank, host=f"n{rank // 2}", host_id=f"h{rank // 2}", gpu=f"GPU-{rank}", host_free_bytes=each)
        for rank, each in enumerate([8 * GB, 8 * GB, 6 * GB, 6 * GB])
    ]
    room = memory.least("gloo", ranks, ["all_gather"])
    assert room is not None
    assert room.said == "rank 2 on n1 has 3.0 GB of memory free, its share among 2 ranks"


def test_who_cannot_tell_does_not_count() -> None:
    room = memory.least("nccl", on_gpus(None, 20 * GB), ["all_reduce"])
    assert room is not None
    assert room.rank == 1
    assert memory.least("nccl", on_gpus(None, None), ["all_reduce"]) is None
    assert memory.least("gloo", on_gpus(GB, GB), ["all_reduce"]) is None


@pytest.mark.parametrize(
    ("ranks_per_host", "hosts", "op", "megabytes"),
    [
        (1, 1, "all_reduce", 537),
        (8, 1, "all_reduce", 2347),
        (8, 1, "all_to_all", 2923),
        (8, 1250, "all_to_all", 2923),
        (72, 8, "all_to_all", 3299),
    ],
)
def test_nccl_keeps_room_for_its_connections(ranks_per_host: int, hosts: int, op: str, megabytes: int) -> None:
    ranks = [
        replace(
            facts(0), rank=rank, host_id=f"h{rank // ranks_per_host}", gpu=f"GPU-{rank}", gpu_free_bytes=80 * GB
        )
        for rank in range(ranks_per_host * hosts)
    ]
    room = memory.least("nccl", ranks, [op])
    assert room is not None
    assert round(room.backend / MB) == megabytes


def test_no_room_is_not_less_than_none() -> None:
    room = memory.least("nccl", on_gpus(GB, GB), ["all_reduce"])
    assert room is not None
    assert room.for_step == 0
