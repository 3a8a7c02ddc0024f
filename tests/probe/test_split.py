"""Which rank is in which group, and what is said where no groups can be made."""

import pytest

from nccltool.probe.split import GroupMembers, Split, formed
from tests.samples import facts

SIX = [facts(rank, world_size=6) for rank in range(6)]
"""Two on each of alpha, beta, gamma."""
EMULATED = [facts(rank, host="vm", host_id="one") for rank in range(6)]


def file(*members: GroupMembers) -> Split:
    return Split(by="file", word="groups.txt", members=members)


def line(number: int, *hosts: str, ranks: tuple[int, ...] = ()) -> GroupMembers:
    return GroupMembers(name=f"line {number}", hosts=hosts, ranks=ranks, where=f"groups.txt line {number}")


@pytest.mark.parametrize(
    ("split", "groups"),
    [
        (
            Split(by="node", word="node"),
            {"alpha": ((0, 1), ("alpha",)), "beta": ((2, 3), ("beta",)), "gamma": ((4, 5), ("gamma",))},
        ),
        (
            Split(by="rail", word="rail"),
            {
                "rail 0": ((0, 2, 4), ("alpha", "beta", "gamma")),
                "rail 1": ((1, 3, 5), ("alpha", "beta", "gamma")),
            },
        ),
        (
            Split(by="nodes", word="2", nodes=2),
            {"alpha - beta": ((0, 1, 2, 3), ("alpha", "beta")), "gamma": ((4, 5), ("gamma",))},
        ),
        (
            file(line(1, "gamma", "alpha"), line(2, "beta.cluster")),
            {"line 1": ((0, 1, 4, 5), ("alpha", "gamma")), "line 2": ((2, 3), ("beta",))},
        ),
        (
            file(line(1, ranks=(5, 0)), line(2, ranks=(1, 2, 3, 4))),
            {"line 1": ((0, 5), ("alpha", "gamma")), "line 2": ((1, 2, 3, 4), ("alpha", "beta", "gamma"))},
        ),
    ],
)
def test_groups(split: Split, groups: dict[str, tuple[tuple[int, ...], tuple[str, ...]]]) -> None:
    made = formed(split, SIX)
    assert {group.name: (group.ranks, group.nodes) for group in made.groups} == groups
    assert made.findings == ()


def test_emulated_nodes_have_numbers() -> None:
    made = formed(file(line(1, "node0", "node 2"), line(2, "node1")), EMULATED)
    assert [(group.ranks, group.nodes) for group in made.groups] == [
        ((0, 1, 4, 5), ("node 0", "node 2")),
        ((2, 3), ("node 1",)),
    ]


def test_racks_in_names() -> None:
    hosts = ("r1n1", "r1n2", "r2n1", "r2n2", "login")
    made = formed(
        Split(by="leaf", word="leaf", leaves_by_name=True),
        [facts(rank, host=host, host_id=host, node_rank=rank) for rank, host in enumerate(hosts)],
    )
    assert {one.name: one.nodes for one in made.groups} == {"r1": hosts[:2], "r2": hosts[2:4]}
    assert [one.message for one in made.findings] == ["login was left out: its name has no rack"]
    (none,) = formed(Split(by="leaf", word="leaf", leaves_by_name=True), SIX).findings
    assert none.message.startswith("--topology host-names: no name of a node has a rack and a node number")


def test_a_topology_may_have_more_nodes_and_fewer() -> None:
    leaf = Split(
        by="leaf",
        word="leaf",
        members=(GroupMembers(name="s1", hosts=("alpha", "delta")), GroupMembers(name="s2", hosts=("beta",))),
    )
    made = formed(leaf, SIX)
    assert [group.name for group in made.groups] == ["s1", "s2"]
    assert [one.message for one in made.findings] == ["gamma was left out: the topology names no leaf for it"]


@pytest.mark.parametrize(
    ("split", "said"),
    [
        (file(line(1, "alpha"), line(2, "beta")), ["gamma was left out: groups.txt does not name it"]),
        (
            file(line(1, "alpha"), line(2, ranks=(2, 4))),
            ["rank 3, 5 was left out: groups.txt does not name it"],
        ),
        (
            file(line(1, "alpha"), line(2, "beta"), line(3, ranks=(4,))),
            [
                "group line 3 was left out: a group needs two ranks",
                "rank 5 was left out: groups.txt does not name it",
            ],
        ),
    ],
)
def test_who_is_left_out(split: Split, said: list[str]) -> None:
    made = formed(split, SIX)
    assert len(made.groups) == 2
    assert [one.message for one in made.findings if one.severity == "info"] == said


@pytest.mark.parametrize(
    ("split", "said"),
    [
        (file(line(1, "alpha"), line(2, "delta")), "groups.txt line 2: no rank of this run is on delta"),
        (
            file(line(1, "alpha"), line(2, ranks=(4, 9))),
            "groups.txt line 2: there is no rank 9; ranks are 0 to 5",
        ),
        (
            file(line(1, "alpha"), line(2, "alpha.cluster", "beta")),
            "rank 0 on alpha is in several groups: groups.txt line 1, groups.txt line 2",
        ),
        (
            Split(by="nodes", word="3", nodes=3),
            "--split 3: it makes 1 group, but at least two groups of two or more ranks are needed",
        ),
        (
            file(line(1, "alpha", "beta"), line(2, ranks=(4,))),
            "--split groups.txt: it makes 2 groups, 1 of them with one rank, but at least two groups of two or "
            "more ranks are needed",
        ),
    ],
)
def test_what_cannot_be_split(split: Split, said: str) -> None:
    made = formed(split, SIX)
    assert made.groups == ()
    assert [(one.code, one.message) for one in made.findings] == [("split-impossible", said)]
