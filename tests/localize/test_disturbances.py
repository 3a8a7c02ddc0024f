"""A round that was slow as a whole is told from slow nodes and links."""

from collections.abc import Callable, Mapping

import pytest

from nccltool.localize import accusations, disturbances
from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import judge
from nccltool.localize.topology import Topology
from tests.localize.judge import fabric
from tests.localize.judge.fabric import Speed

NODES = tuple(f"n{number}" for number in range(8))
SLOW_NODE, SLOW_LINK = fabric.slow_nodes(n3=0.5), {frozenset({"n2", "n6"}): 0.4}


def link(pair: tuple[str, ...]) -> float:
    return SLOW_LINK.get(frozenset(pair), 1.0)


def rounds_of(speed: Speed, of_rounds: Mapping[int, float], rounds: int = 7) -> list[Encounter]:
    """All pairs of eight nodes; `of_rounds`: the share that some rounds reach."""
    measured = fabric.everyone(speed, rounds, nodes=NODES)
    return [
        fabric.one(
            one.members, (one.busbw_bytes_per_s or 0.0) / fabric.HEALTHY * of_rounds.get(one.round, 1.0), one.round
        )
        for one in measured
    ]


@pytest.mark.parametrize(
    ("speed", "of_rounds", "expected"),
    [
        (fabric.healthy, {}, ()),
        (fabric.healthy, {1: 0.7}, (1,)),
        (fabric.healthy, {1: 0.3, 4: 0.8}, (1, 4)),
        (fabric.healthy, {1: 0.93}, ()),  # within what noise does
        (SLOW_NODE, {}, ()),
        (SLOW_NODE, {2: 0.7}, (2,)),
        (link, {5: 0.7}, (5,)),
        (fabric.slow_nodes(n1=0.5, n3=0.5, n6=0.5), {}, ()),
        (fabric.slow_nodes(n1=0.5, n3=0.5, n5=0.5, n7=0.5), {}, ()),  # no healthy majority: nobody's round
        (fabric.healthy, {0: 0.5, 2: 0.5, 4: 0.5}, ()),  # too many to know which are usual
    ],
)
def test_rounds_that_were_slow_as_a_whole(
    speed: Callable[[tuple[str, ...]], float], of_rounds: dict[int, float], expected: tuple[int, ...]
) -> None:
    found = disturbances.split(rounds_of(speed, of_rounds), Topology())
    assert found.rounds == expected
    assert len(found.usual) + len(found.disturbed) == 28


def test_pairs_across_leaf_switches_have_their_own_speed() -> None:
    leaves = Topology(leaf_of={name: f"leaf{number // 4}" for number, name in enumerate(NODES)})
    across = [(name, NODES[number + 4]) for number, name in enumerate(NODES[:4])]
    within = [(NODES[n], NODES[n + 1]) for n in (0, 2, 4, 6)]
    measured = [
        fabric.one(pair, 0.6 if number % 2 else 1.0, number)
        for number in range(6)
        for pair in (across if number % 2 else within)
    ]
    assert disturbances.split(measured, leaves).rounds == ()
    assert disturbances.split(measured, Topology()).rounds == ()  # half of the rounds: too many


def test_a_disturbed_round_accuses_nobody_and_hides_nobody() -> None:
    assert judge(rounds_of(fabric.healthy, {1: 0.3, 4: 0.35}), nodes=NODES).suspects == ()
    slow = judge(rounds_of(SLOW_NODE, {1: 0.7}), nodes=NODES)
    assert [one.subject for one in slow.suspects] == [("n3",)]
    assert slow.noise is not None
    assert slow.noise < 0.05


def test_what_was_not_used_is_said() -> None:
    (said,) = accusations.disturbed(rounds_of(fabric.healthy, {1: 0.7}), Topology())
    assert said.message == "round 2 was not used: everything in it was slow, at most 68 % of the fastest pair"
    assert accusations.disturbed(rounds_of(SLOW_NODE, {}), Topology()) == ()
