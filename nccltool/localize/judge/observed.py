"""Encounters as arrays: sorted, so that the order in which they were given does not matter."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

import numpy as np

from nccltool.localize.encounter import Encounter
from nccltool.localize.judge.states import Flags, Floats, Ints
from nccltool.localize.topology import Topology

_FEWEST_OF_A_CLASS = 4
_TINY = 1e-30


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """What was measured."""

    encounters: tuple[Encounter, ...]
    nodes: tuple[str, ...]
    """All that met, or were to."""
    logs: Floats
    """Logarithm of the bandwidth; 0 where there is none."""
    has_number: Flags
    class_of: Ints
    """Encounters of one class have the same healthy bandwidth."""
    is_group_class: Flags
    """Of each class: more than two members."""
    same: Ints
    """Encounters with the same number are of the same members on the same rail."""

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.is_group_class)


def is_number(value: float | None) -> bool:
    """Whether it is a bandwidth; nothing, zero and infinity are none."""
    return value is not None and math.isfinite(value) and value > _TINY


def observe(encounters: Sequence[Encounter], topology: Topology) -> Observed:
    """The arrays of these encounters."""
    met = sorted(((_order(each), each) for each in encounters if each.members), key=itemgetter(0))
    known = tuple(each for _, each in met)
    repeated: dict[tuple[object, ...], int] = {}
    values = np.array(
        [each.busbw_bytes_per_s if is_number(each.busbw_bytes_per_s) else 1.0 for each in known], dtype=float
    )
    has_number = np.array([is_number(each.busbw_bytes_per_s) for each in known], dtype=bool)
    keys = _classes(known, has_number, topology)
    found = sorted({*keys})
    numbers = {key: number for number, key in enumerate(found)}
    return Observed(
        encounters=known,
        nodes=tuple(sorted({name for each in known for name in each.members})),
        logs=np.log(values),
        has_number=has_number,
        class_of=np.array([numbers[key] for key in keys], dtype=np.int64),
        is_group_class=np.array([key[:1] == ("2",) for key in found], dtype=bool),
        same=np.array([repeated.setdefault(order[1:4], len(repeated)) for order, _ in met], dtype=np.int64),
    )


def _order(each: Encounter) -> tuple[float, bool, str, tuple[str, ...], int]:
    speed = each.busbw_bytes_per_s
    members = each.members if each.is_directed else tuple(sorted(each.members))
    return (
        speed if speed is not None and is_number(speed) else -1.0,
        each.is_directed,
        each.rail or "",
        members,
        each.round,
    )


def _classes(known: Sequence[Encounter], has_number: Flags, topology: Topology) -> list[tuple[str, ...]]:
    """The class of each; one with few numbers joins the large one that is most like it."""
    keys = [_key(each, topology) for each in known]
    counts: dict[tuple[str, ...], int] = {}
    for key, is_one in zip(keys, has_number, strict=True):
        counts[key] = counts.get(key, 0) + bool(is_one)
    large = {key: count for key, count in counts.items() if count >= _FEWEST_OF_A_CLASS}
    joined = {key: _most_like(key, large) for key in counts if key not in large}
    return [joined.get(key, key) for key in keys]


def _most_like(key: tuple[str, ...], large: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    return max(large, key=lambda other: (_likeness(key, other), large[other], other), default=())


def _likeness(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many of their first properties are equal."""
    return next((place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]), len(one))


def _key(each: Encounter, topology: Topology) -> tuple[str, ...]:
    """From what matters most for the bandwidth to what matters least."""
    size = min(len({*each.members}), 3) - 1
    is_across = topology.is_across(*each.members) if topology.leaf_of and len(each.members) == 2 else None
    return _words(size, each.is_directed, each.rail is not None, is_across)


@cache
def _words(*properties: int | None) -> tuple[str, ...]:
    return tuple(map(str, properties))
