"""The next round."""

import pytest

from nccltool.localize.encounter import Encounter
from nccltool.localize.result import Localization, Scope
from nccltool.localize.schedule import next_round
from nccltool.localize.topology import Topology

NODES = tuple(f"n{number:02}" for number in range(16))


def measure(most_rounds: int, slow: frozenset[str] = frozenset()) -> list[Encounter]:
    met: list[Encounter] = []
    for number in range(50):
        members = next_round(NODES, met, topology=Topology(), seed=1, most_rounds=most_rounds)
        if not members:
            return met
        names = [name for each in members for name in each]
        assert len(names) == len({*names})
        met += [
            Encounter(members=each, busbw_bytes_per_s=50e9 if slow & {*each} else 100e9, round=number)
            for each in members
        ]
    raise AssertionError("it never ends")


def test_it_ends() -> None:
    assert len({each.round for each in measure(4)}) == 4
    assert len({each.round for each in measure(20)}) <= 12
    assert len({each.round for each in measure(20, frozenset({"n03"}))}) <= 12


SLOW = (("n01", "n02"), ("n02", "n03"), ("n07", "n05"), ("n09", "gone"))


@pytest.mark.parametrize(
    ("scope", "undetermined", "noise", "repeated"),
    [
        ("undetermined", SLOW, 0.02, {("n01", "n02"), ("n07", "n05")}),
        ("suspects", SLOW[:1], 0.02, {SLOW[0]}),
        ("fabric-wide", (), 0.02, set()),
        ("unknown", (), 0.4, set()),
        ("suspects", (), 0.02, None),
        ("nothing-slow", (), 0.02, None),
        ("unknown", (), None, None),
    ],
)
def test_slow_pairs_without_a_test_that_tells_are_repeated_as_long_as_there_are_rounds(
    scope: Scope,
    undetermined: tuple[tuple[str, ...], ...],
    noise: float | None,
    repeated: set[tuple[str, ...]] | None,
) -> None:
    found = Localization(
        scope=scope,
        undetermined=undetermined,
        noise=noise,
        smallest_visible_fault=noise,
        healthy_busbw_bytes_per_s=100e9,
        reason="",
    )
    met = measure(6)
    for most_rounds in (6, 7):
        members = next_round(NODES, met, topology=Topology(), seed=1, most_rounds=most_rounds, found=found)
        names = [name for each in members for name in each]
        assert sorted(names) == sorted({*NODES} if most_rounds > 6 and repeated is not None else ())
        assert {*members} >= (repeated or set() if most_rounds > 6 else set())
