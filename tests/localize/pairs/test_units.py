"""Who meets, from what the ranks say of themselves."""

import pytest

from nccltool.launch.events import RankFacts
from nccltool.localize.pairs import units


def rank(number: int, node: int, host: str, host_id: str = "") -> RankFacts:
    return RankFacts(
        rank=number,
        node_rank=node,
        local_rank=0,
        world_size=4,
        host=host,
        host_id=host_id or host,
        pid=1,
        python="3.12",
        torch="2.13",
        nccl=None,
        nccltool="0.1.0",
        gpu=None,
    )


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([rank(0, 0, "n1"), rank(1, 0, "n1"), rank(2, 1, "n2"), rank(3, 1, "n2")], {"n1": (0, 1), "n2": (2, 3)}),
        ([rank(0, 0, "vm"), rank(1, 1, "vm")], {"vm:0": (0,), "vm:1": (1,)}),
        # a launcher that numbers no nodes: the hosts tell
        ([rank(0, -1, "n1"), rank(1, -1, "n2"), rank(2, -1, "n1")], {"n1": (0, 2), "n2": (1,)}),
        ([rank(0, -1, "x", "a"), rank(1, -1, "x", "b")], {"x:0": (0,), "x:1": (1,)}),
    ],
    ids=["hosts", "emulated", "not numbered", "two hosts of one name"],
)
def test_nodes(ranks: list[RankFacts], expected: dict[str, tuple[int, ...]]) -> None:
    assert {unit.name: unit.ranks for unit in units.of_nodes(ranks)} == expected


def test_ranks_within_nodes() -> None:
    nodes = units.of_nodes([rank(0, 0, "n1"), rank(1, 0, "n1"), rank(2, 1, "n2")])
    found = [(unit.name, unit.node, unit.ranks) for unit in units.within(nodes)]
    assert found == [("n1/0", 0, (0,)), ("n1/1", 0, (1,)), ("n2/0", 1, (2,))]
