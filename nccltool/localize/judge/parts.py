"""The parts of the fabric that an encounter used: nodes, links, rails, uplinks of leaf switches, groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.encounter import Encounter
from nccltool.localize.judge.observed import Observed
from nccltool.localize.judge.states import Flags, Floats, Ints, log_priors
from nccltool.localize.topology import Topology

PartKind = Literal["node", "node-rail", "rail", "link", "uplink", "group"]
Key = tuple[PartKind, tuple[str, ...]]

_PRIOR: dict[PartKind, float] = {
    "node": 0.03,
    "node-rail": 0.01,
    "rail": 0.02,
    "link": 0.0005,
    "uplink": 0.01,
    "group": 0.0005,
}
_COUNTED = 5.0
"""How much likelier a fault is where a counter grew."""
_MOST_PRIOR = 0.3
_ALL_RAILS = 0.5
"""How often one slow rail shows where all rails are used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """All parts, and which encounter used which: an edge for each use."""

    keys: tuple[Key, ...]
    priors: Floats
    """Parts x directions x shares x levels from 1 on."""
    encounter_of: Ints
    """Of each edge."""
    part_of: Ints
    activity: Floats
    """Edges x directions: the share of a fault of that direction that the encounter shows."""
    by_part: Ints
    """The edges, sorted by part."""
    begins: Ints
    """Of each part: where its edges begin there; last, their number."""

    def edges(self, part: int) -> Ints:
        """Those of a part."""
        return self.by_part[self.begins[part] : self.begins[part + 1]]

    def number(self, kind: PartKind) -> list[int]:
        """The parts of a kind."""
        return [number for number, key in enumerate(self.keys) if key[0] == kind]


@dataclass(slots=True)
class _Edges:
    directions: int
    numbers: dict[Key, int] = field(default_factory=dict)
    encounters: list[int] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    activity: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, encounter: int, key: Key, activity: tuple[float, ...]) -> None:
        self.encounters.append(encounter)
        self.parts.append(self.numbers.setdefault(key, len(self.numbers)))
        self.activity.append(activity[: self.directions])


def of(observed: Observed, is_low: Flags, topology: Topology, counters: Sequence[CounterEvidence]) -> Parts:
    """Links and groups are parts of their own only where a measurement asks for one: `is_low`."""
    directions = 3 if any(each.is_directed for each in observed.encounters) else 1
    rails = {each.rail for each in observed.encounters} - {None}
    asked = {
        key
        for each, low in zip(observed.encounters, is_low, strict=True)
        if low
        for key in _together(each, len(rails) > 1)
    }
    edges = _Edges(directions)
    for node in observed.nodes:
        edges.numbers[("node", (node,))] = len(edges.numbers)
    for number, each in enumerate(observed.encounters):
        for key, activity in _used(each, {*rails} if len(rails) > 1 else set(), topology):
            edges.add(number, key, activity)
        for together in _together(each, len(rails) > 1) if asked else ():
            if together in asked:
                edges.add(number, together, _of_link(each))
    part_of = np.array(edges.parts, dtype=np.int64)
    by_part = np.argsort(part_of, kind="stable")
    return Parts(
        keys=tuple(edges.numbers),
        priors=_priors(tuple(edges.numbers), directions, counters),
        encounter_of=np.array(edges.encounters, dtype=np.int64),
        part_of=part_of,
        activity=np.array(edges.activity, dtype=float).reshape(-1, directions),
        by_part=by_part,
        begins=np.searchsorted(part_of[by_part], np.arange(len(edges.numbers) + 1)),
    )


_FULL = (1.0, 1.0, 1.0)
_FIRST, _SECOND = (1.0, 1.0, 0.0), (1.0, 0.0, 1.0)
_ONE_OF_RAILS = (_ALL_RAILS, _ALL_RAILS, _ALL_RAILS)


def _used(each: Encounter, rails: set[str | None], topology: Topology) -> Iterator[tuple[Key, tuple[float, ...]]]:
    ways = (_FIRST, _SECOND) if each.is_directed and len(each.members) == 2 else (_FULL,) * len(each.members)
    for node, way in zip(each.members, ways, strict=True):
        yield ("node", (node,)), way
        for rail in sorted(str(rail) for rail in rails):
            if each.rail is None:
                yield ("node-rail", (node, rail)), _ONE_OF_RAILS
            elif each.rail == rail:
                yield ("node-rail", (node, rail)), way
    if each.rail is not None and rails:
        yield ("rail", (each.rail,)), _FULL
    if not topology.leaf_of:
        return
    leaves = {leaf: way for node, way in zip(each.members, ways, strict=True) if (leaf := topology.leaf(node))}
    if len(leaves) > 1:
        for leaf in sorted(leaves):
            yield ("uplink", (leaf,)), leaves[leaf] if each.is_directed else _FULL


def _together(each: Encounter, has_rails: bool) -> tuple[Key, ...]:
    """What all of the members share. With several rails, a link is slow on one or on all."""
    members = tuple(sorted({*each.members}))
    if len(members) != 2:
        return (("group", members),) if len(members) > 2 else ()
    if each.rail is None:
        return (("link", members),)
    on_rail: Key = ("link", (*members, each.rail))
    return (on_rail, ("link", members)) if has_rails else (on_rail,)


def _of_link(each: Encounter) -> tuple[float, ...]:
    """To send is to send from the first name to the second."""
    if not each.is_directed or len(each.members) != 2:
        return _FULL
    return _FIRST if each.members[0] < each.members[1] else _SECOND


def _priors(keys: Sequence[Key], directions: int, counters: Sequence[CounterEvidence]) -> Floats:
    counted = {_counted(each) for each in counters}
    cache: dict[tuple[PartKind, bool], Floats] = {}
    rows = []
    for key in keys:
        kind, is_counted = key[0], key in counted
        if (kind, is_counted) not in cache:
            bad = min(_PRIOR[kind] * (_COUNTED if is_counted else 1.0), _MOST_PRIOR)
            cache[kind, is_counted] = log_priors(bad, directions, is_mild_usual=kind == "node")
        rows.append(cache[kind, is_counted])
    return np.array(rows)


def _counted(each: CounterEvidence) -> Key:
    return ("node", (each.node,)) if each.rail is None else ("node-rail", (each.node, each.rail))
