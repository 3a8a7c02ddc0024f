"""A simulated fabric: an encounter is as fast as the slowest thing it uses, times noise.

Not what the check assumes: it is given nothing but encounters. Heavy-tailed noise is Student's t with 3 degrees of
freedom, as wide as the normal one in the middle, and one encounter in 200 is slow for no reason.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.encounter import Encounter
from nccltool.localize.topology import Topology

HEALTHY = 100e9
NODES_OF_A_LEAF = 16
_HEAVY_GLITCH = 0.005
_FEWEST_COUNTED = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What is wrong, and how much noise hides it."""

    name: str
    nodes: int = 64
    bad: int = 0
    speed: float = 0.7
    """Of what is bad, as a share of the healthy one."""
    least_speed: float | None = None
    """Each fault has a speed of its own, from this one to `speed`."""
    share: float = 1.0
    """How often a fault shows."""
    way: str = "both"
    """Or send, or receive: then encounters are directed, every pair both ways."""
    noise: float = 0.03
    is_heavy: bool = False
    is_one_sided: bool = False
    """Noise makes only slower, as other traffic does."""
    missing: float = 0.0
    dead: int = 0
    """Nodes that never give a result."""
    bad_links: int = 0
    """In one direction, where encounters are directed."""
    is_link_met: bool = False
    """The bad links are of pairs that meet in the first round; else of any two nodes."""
    bad_rails: int = 0
    """Of one node each; encounters are measured on each of 4 rails."""
    bad_uplinks: int = 0
    is_topology_known: bool = False
    contention: float = 0.0
    """How much slower an encounter across leaves is when all nodes of its leaf send across."""
    group_size: int = 2
    bad_groups: int = 0
    """Slow only together; of the groups that meet in the first round."""
    is_counted: bool = False
    """Counters grew on what is bad, and on as many healthy nodes, two at least."""
    is_all_pairs: bool = False
    is_followed: bool = False
    """Where a run finds nothing slow on some of the links, --all-pairs follows, as it asks for."""
    most_rounds: int = 10
    is_expected: bool = False
    is_reference_bad: bool = False


@dataclass(kw_only=True)
class Fabric:
    """One draw of a case."""

    case: Case
    chance: random.Random
    names: tuple[str, ...]
    bad: frozenset[str]
    dead: frozenset[str]
    links: frozenset[tuple[str, str]]
    rails: frozenset[tuple[str, str]]
    uplinks: frozenset[str]
    leaf_of: dict[str, str]
    counters: tuple[CounterEvidence, ...]
    groups: frozenset[tuple[str, ...]] = frozenset()
    rounds: int = 0
    seen: list[Encounter] = field(default_factory=list)

    @property
    def topology(self) -> Topology:
        """What the check is told."""
        return Topology(leaf_of=self.leaf_of if self.case.is_topology_known else {})

    def measure(self, groups: Sequence[Sequence[str]]) -> list[float | None]:
        """One round of groups at the same time; the slowest way or rail of each."""
        begin = len(self.seen)
        if not self.rounds:
            self.groups = frozenset(tuple(sorted(members)) for members in groups[: self.case.bad_groups])
            if self.case.is_link_met:
                self.links = frozenset((one, other) for one, other in groups[: self.case.bad_links])
        loads = self._loads(groups)
        for members in groups:
            for ordered, is_directed in self._ways(tuple(members)):
                for rail in self._rails():
                    self.seen.append(
                        Encounter(
                            members=ordered,
                            busbw_bytes_per_s=self._speed(ordered, is_directed, rail, loads),
                            round=self.rounds,
                            is_directed=is_directed,
                            rail=rail,
                        )
                    )
        self.rounds += 1
        each = max((len(self.seen) - begin) // max(len(groups), 1), 1)
        found = [self.seen[begin + number * each : begin + (number + 1) * each] for number in range(len(groups))]
        return [_slowest(few) for few in found]

    def ratio(self, groups: Sequence[Sequence[str]]) -> list[float]:
        """The same as shares of the healthy bandwidth, which the other schemes are told; 0: no result."""
        return [(speed or 0.0) / HEALTHY for speed in self.measure(groups)]

    def _ways(self, members: tuple[str, ...]) -> list[tuple[tuple[str, ...], bool]]:
        if self.case.way == "both" or len(members) != 2:
            return [(members, False)]
        return [(members, True), (members[::-1], True)]

    def _rails(self) -> list[str | None]:
        return ["rail0", "rail1", "rail2", "rail3"] if self.case.bad_rails else [None]

    def _loads(self, groups: Sequence[Sequence[str]]) -> dict[str, float]:
        """The share of the nodes of each leaf that send across."""
        counts: dict[str, int] = {}
        for members in groups:
            leaves = {self.leaf_of[name] for name in members}
            for name in members if len(leaves) > 1 else ():
                counts[self.leaf_of[name]] = counts.get(self.leaf_of[name], 0) + 1
        return {leaf: count / NODES_OF_A_LEAF for leaf, count in counts.items()}

    def _speed(
        self, members: tuple[str, ...], is_directed: bool, rail: str | None, loads: dict[str, float]
    ) -> float | None:
        case, chance = self.case, self.chance
        if self.dead & {*members} or (case.missing and chance.random() < case.missing):
            return None
        slowest = 1.0
        for place, name in enumerate(members):
            is_used = not is_directed or case.way == ("send" if place == 0 else "receive")
            if is_used and name in self.bad and chance.random() < case.share:
                slowest = min(slowest, self._of(name))
            if rail is not None and (name, rail) in self.rails:
                slowest = min(slowest, self._of(name, rail))
        if members in self.links or (not is_directed and members[::-1] in self.links):
            slowest = min(slowest, self._of(*sorted(members)))
        if self.groups and tuple(sorted(members)) in self.groups:
            slowest = min(slowest, self._of(*sorted(members)))
        leaves = {self.leaf_of[name] for name in members}
        if len(leaves) > 1:
            slowest = min([slowest, *map(self._of, leaves & self.uplinks)])
            slowest *= 1 - case.contention * max(loads.get(leaf, 0.0) for leaf in leaves)
        return HEALTHY * slowest * math.exp(self._noise())

    def _of(self, *part: str) -> float:
        """The speed of what is bad."""
        case = self.case
        if case.least_speed is None:
            return case.speed
        return random.Random(f"{case}/{self.names}/{part}/{sorted(self.bad)}").uniform(
            case.least_speed, case.speed
        )

    def _noise(self) -> float:
        drawn = self._drawn()
        return -abs(drawn) if self.case.is_one_sided else drawn

    def _drawn(self) -> float:
        if not self.case.is_heavy:
            return self.chance.gauss(0, self.case.noise)
        if self.chance.random() < _HEAVY_GLITCH:
            return -0.3
        squares = sum(self.chance.gauss(0, 1) ** 2 for _ in range(3))
        return self.case.noise * self.chance.gauss(0, 1) / math.sqrt(squares / 3)


def draw(case: Case, seed: int) -> Fabric:
    """The same for the same seed."""
    chance = random.Random(f"{case}/{seed}")
    names = tuple(f"n{number:04}" for number in range(case.nodes))
    order = chance.sample(names, len(names))
    bad, dead = order[: case.bad], order[case.bad : case.bad + case.dead]
    if case.is_reference_bad:
        bad = [names[0], *[name for name in bad if name != names[0]][: case.bad - 1]]
        dead = []
    good = [name for name in order if name not in {*bad, *dead}]
    leaf_of = {name: f"leaf{number // NODES_OF_A_LEAF}" for number, name in enumerate(names)}
    return Fabric(
        case=case,
        chance=chance,
        names=names,
        bad=frozenset(bad),
        dead=frozenset(dead),
        links=frozenset((good[2 * number], good[2 * number + 1]) for number in range(case.bad_links)),
        rails=frozenset((name, f"rail{chance.randrange(4)}") for name in good[: case.bad_rails]),
        uplinks=frozenset(chance.sample(sorted({*leaf_of.values()}), case.bad_uplinks)),
        leaf_of=leaf_of,
        counters=_counters([*bad, *good[: max(len(bad), _FEWEST_COUNTED)]]) if case.is_counted else (),
    )


def _counters(names: Sequence[str]) -> tuple[CounterEvidence, ...]:
    return tuple(CounterEvidence(node=name, kind="symbol-errors", value=100.0) for name in names)


def _slowest(found: Sequence[Encounter]) -> float | None:
    speeds = [each.busbw_bytes_per_s for each in found]
    known = [speed for speed in speeds if speed is not None]
    return min(known) if len(known) == len(speeds) else None
