"""The next round."""

from nccltool.localize.encounter import Encounter
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
