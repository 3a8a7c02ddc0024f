from dataclasses import replace

import pytest

from nccltool.plan import hardware
from nccltool.plan.calls import Axis, CollectiveCalls, Operation
from nccltool.plan.hardware import MeasuredCollective, RankGroup
from nccltool.plan.layout import ParallelLayout
from tests.plan.samples import H100


def _call(operation: Operation, ranks: int, size: int) -> CollectiveCalls:
    return CollectiveCalls(
        operation=operation, axis="data", ranks=ranks, count=1, bytes=size, hides="nothing", why="a test"
    )


@pytest.mark.parametrize(
    ("operation", "group", "gb_per_s"),
    [
        ("all_reduce", RankGroup(ranks=8, per_node=8), 480),
        ("all_reduce", RankGroup(ranks=4, per_node=4), 360),
        ("all_gather", RankGroup(ranks=8, per_node=8), 360),
        ("all_reduce", RankGroup(ranks=32, per_node=8), 360),
        ("all_gather", RankGroup(ranks=16, per_node=4), 180),
        ("all_gather", RankGroup(ranks=16, per_node=1), 45),
        ("all_to_all", RankGroup(ranks=16, per_node=8), 45),
    ],
)
def test_large_calls_reach_the_bandwidth_of_their_links(
    operation: Operation, group: RankGroup, gb_per_s: float
) -> None:
    size = 64 * 2**30
    factor = (2 if operation == "all_reduce" else 1) * (group.ranks - 1) / group.ranks
    took = hardware.seconds(_call(operation, group.ranks, size), group, H100)
    assert factor * size / took / 1e9 == pytest.approx(gb_per_s, rel=0.01)


def test_small_calls_take_steps() -> None:
    small = [
        hardware.seconds(_call("all_gather", ranks, 8), RankGroup(ranks=ranks, per_node=8), H100)
        for ranks in (8, 64, 512)
    ]
    assert small == sorted(small)
    assert small[0] == pytest.approx(8.4e-6 + 7 * 3.4e-6, rel=0.01)


def test_what_a_run_measured_counts() -> None:
    measured = MeasuredCollective(
        operation="all_reduce", ranks=2, is_across=True, alpha_s=1e-3, busbw_bytes_per_s=1e7
    )
    machine = replace(H100, measured=(measured,))
    took = hardware.seconds(_call("all_reduce", 2, 10**7), RankGroup(ranks=2, per_node=1), machine)
    assert took == pytest.approx(1e-3 + 1.0, rel=1e-3)
    inside = hardware.seconds(_call("all_reduce", 2, 10**7), RankGroup(ranks=2, per_node=2), machine)
    assert inside < 1e-3  # the run was across nodes


@pytest.mark.parametrize(
    ("axis", "ranks", "per_node"),
    [("tensor", 4, 4), ("shard", 8, 2), ("data", 8, 2), ("replicate", 2, 1), ("pipeline", 2, 1)],
)
def test_ranks_of_tensor_parallelism_are_neighbors(axis: Axis, ranks: int, per_node: int) -> None:
    layout = ParallelLayout(tensor=4, shard=8, replicate=2, pipeline=2, sharding="parameters")
    calls = replace(_call("all_reduce", ranks, 8), axis=axis)
    assert hardware.group_of(calls, layout, 8) == RankGroup(ranks=ranks, per_node=per_node)


@pytest.mark.parametrize(("experts", "per_node"), [(2, 4), (4, 2), (8, 1)])
def test_ranks_with_other_experts_are_between_replicas(experts: int, per_node: int) -> None:
    calls = replace(_call("all_reduce", 4, 8), axis="replicate")
    layout = ParallelLayout(replicate=4 * experts, expert=experts)
    assert hardware.group_of(calls, layout, 8) == RankGroup(ranks=4, per_node=per_node)


@pytest.mark.parametrize(
    ("axis", "ranks", "per_node"),
    # nodes of 8; experts 0 to 3 on ranks 0 to 3, and again on 4 to 7: of 32 / 4 ranks with the same two on a node
    [("expert", 4, 4), ("shard", 8, 2), ("replicate", 2, 1)],
)
def test_neighbors_have_different_experts(axis: Axis, ranks: int, per_node: int) -> None:
    layout = ParallelLayout(tensor=4, shard=8, replicate=2, sharding="parameters", expert=4)
    calls = replace(_call("all_gather", ranks, 8), axis=axis, of_experts=True)
    assert hardware.group_of(calls, layout, 8) == RankGroup(ranks=ranks, per_node=per_node)
