"""Rounds in which everything was slow: something else used the network or the hosts. Pure.

Other traffic slows all pairs of a round at once; a slow node or link slows its own. So a round counts as disturbed
if none of its pairs was fast, although most of their nodes were fast in other rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from nccltool.localize.encounter import Encounter
from nccltool.localize.topology import Topology

_FAST = 0.87
"""Of what the fastest of a usual round reach."""
_FEWEST_PAIRS, _FEWEST_ROUNDS = 3, 3
_MOST = 1 / 3
"""Share of rounds: with more of them, nobody knows which are the usual ones."""
_KNOWN = 0.5
"""Share of a round's pairs whose nodes were fast in other rounds: one slow node may be among them."""
Kind = tuple[int, bool, bool, bool | None]
"""What makes a difference to the bandwidth: members, direction, rail, leaf switches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Disturbances:
    """Encounters of usual rounds, and of those that were slow as a whole."""

    usual: tuple[Encounter, ...]
    disturbed: tuple[Encounter, ...]

    @property
    def rounds(self) -> tuple[int, ...]:
        """Of the disturbed ones."""
        return tuple(sorted({one.round for one in self.disturbed}))


def split(encounters: Sequence[Encounter], topology: Topology) -> Disturbances:
    """All encounters, those of disturbed rounds apart."""
    of_kinds: dict[Kind, dict[int, list[Encounter]]] = {}
    for one in encounters:
        if one.busbw_bytes_per_s is not None:
            of_kinds.setdefault(_kind(one, topology), {}).setdefault(one.round, []).append(one)
    found = {id(one) for rounds in of_kinds.values() for one in _disturbed(rounds)}
    return Disturbances(
        usual=tuple(one for one in encounters if id(one) not in found),
        disturbed=tuple(one for one in encounters if id(one) in found),
    )


def _kind(one: Encounter, topology: Topology) -> Kind:
    is_pair = len(one.members) == 2
    is_across = topology.is_across(*one.members) if is_pair else None
    return min(len(one.members), 3), one.is_directed, one.rail is not None, is_across


def _disturbed(rounds: Mapping[int, Sequence[Encounter]]) -> list[Encounter]:
    """Of one kind, by round."""
    if len(rounds) < _FEWEST_ROUNDS:
        return []
    bar = _FAST * median(max(map(_rate, met)) for met in rounds.values())
    fast_in: dict[str, set[int]] = {}
    for number, met in rounds.items():
        for one in met:
            if _rate(one) >= bar:
                for name in one.members:
                    fast_in.setdefault(name, set()).add(number)
    found = [met for met in rounds.values() if len(met) >= _FEWEST_PAIRS and _is_slow(met, bar, fast_in)]
    return [one for met in found for one in met] if len(found) <= _MOST * len(rounds) else []


def _is_slow(met: Sequence[Encounter], bar: float, fast_in: Mapping[str, set[int]]) -> bool:
    known = sum(all(fast_in.get(name) for name in one.members) for one in met)
    return max(map(_rate, met)) < bar and known > _KNOWN * len(met)


def _rate(one: Encounter) -> float:
    return one.busbw_bytes_per_s or 0.0
