"""What is slow without an explanation, and which encounters would tell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import clusters, controls
from nccltool.localize.judge.fit import Fit
from nccltool.localize.result import NextTest, Suspect
from nccltool.localize.topology import Topology

_UNKNOWN = Topology()
_DOUBT = 0.04
"""From here on it is worth a test whether a part is slow."""
_DOUBT_ONCE_SLOW = 0.004
"""The same if it was clearly slow once: what is slow now and then is mostly fast."""
_SETTLED = 0.99
_OFTEN_SLOW = 3
_EXPLAINED = 0.03


def undetermined(fit: Fit, suspects: Mapping[int, Suspect]) -> tuple[tuple[str, ...], ...]:
    """Members of slow encounters with parts that may be slow, none of them accused."""
    found = {
        _named_once(fit.observed.encounters[number])
        for number, parts in _slow_parts(fit).items()
        if not any(part in suspects for part in parts) and sum(float(fit.bad[part]) for part in parts) > _EXPLAINED
    }
    return tuple(sorted(found))


def _named_once(each: Encounter) -> tuple[str, ...]:
    """Members in the order of their names, where their order says nothing."""
    return each.members if each.is_directed else tuple(sorted(each.members))


def _slow_parts(fit: Fit) -> dict[int, list[int]]:
    """The parts of each slow encounter."""
    used: dict[int, list[int]] = {int(number): [] for number in np.flatnonzero(fit.is_slow)}
    rows = fit.is_slow[fit.parts.encounter_of]
    for number, part in zip(fit.parts.encounter_of[rows].tolist(), fit.parts.part_of[rows].tolist(), strict=True):
        used[number].append(part)
    return used


def next_tests(
    fit: Fit, suspects: Mapping[int, Suspect], nodes: Sequence[str], topology: Topology = _UNKNOWN
) -> tuple[NextTest, ...]:
    """What was slow together first, if its nodes are cleared; then the most doubtful nodes."""
    partners = _Partners.of(fit, suspects, topology)
    return (
        *clusters.next_tests(fit, suspects),
        *_again(fit, suspects),
        *_of_nodes(fit, suspects, partners),
        *_never_met(fit, nodes, partners),
    )


@dataclass(slots=True)
class _Partners:
    """Nodes for control tests, each used as seldom as possible."""

    cleared: list[str]
    met: dict[str, set[str]]
    topology: Topology
    used: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(fit: Fit, suspects: Mapping[int, Suspect], topology: Topology) -> "_Partners":
        names = fit.observed.nodes
        met: dict[str, set[str]] = {name: set() for name in names}
        is_fast = dict.fromkeys(names, False)
        for number, each in enumerate(fit.observed.encounters):
            for name in each.members:
                met[name] |= {*each.members}
                is_fast[name] |= bool(fit.observed.has_number[number] and not fit.is_slow[number])
        doubtful = {names[part] for part in _doubtful(fit, suspects)}
        cleared = [
            name
            for number, name in enumerate(names)
            if fit.bad[number] <= _DOUBT and is_fast[name] and name not in doubtful
        ]
        return _Partners(cleared, met, topology)

    def take(self, node: str) -> str | None:
        """One that it has not met, if there is one."""
        met = self.met.get(node, set())
        free = [name for name in self.cleared if name != node and self.topology.can_meet(node, name)]
        order = {name: (self.used.get(name, 0), name in met, _mixed(node, name)) for name in free}
        chosen = min(free, key=order.__getitem__, default=None)
        if chosen is not None:
            self.used[chosen] = self.used.get(chosen, 0) + 1
        return chosen


def _mixed(node: str, partner: str) -> int:
    """Neighbors by name often share a leaf switch, and would hide what is slow only across it."""
    return crc32(f"{node} {partner}".encode(errors="surrogatepass"))


def _of_nodes(fit: Fit, suspects: Mapping[int, Suspect], partners: _Partners) -> Iterator[NextTest]:
    doubt = "may be slow" if suspects or undetermined(fit, suspects) else "is not cleared yet"
    for part in sorted(_doubtful(fit, suspects), key=lambda part: (-round(float(fit.bad[part]), 6), part)):
        name = fit.observed.nodes[part]
        partner = partners.take(name)
        if partner is not None:
            yield NextTest(members=(name, partner), reason=f"{name} {doubt}; {partner} is fast with others")
    for part in fit.parts.number("node-rail"):
        name, rail = fit.parts.keys[part][1]
        if fit.bad[part] > _DOUBT and part not in suspects:
            partner = partners.take(name)
            if partner is not None:
                yield NextTest(members=(name, partner), rail=rail, reason=f"rail {rail} of {name} may be slow")


def _doubtful(fit: Fit, suspects: Mapping[int, Suspect]) -> list[int]:
    """Nodes that another test would clear or settle; of one that never gave a result, no test tells more."""
    accused = {name for each in suspects.values() if each.kind == "group" for name in each.subject}
    once_slow = _once_slow(fit, suspects)
    return [
        part
        for part in fit.parts.number("node")
        if fit.bad[part] > (_DOUBT_ONCE_SLOW if part in once_slow else _DOUBT)
        and (part not in suspects or not _is_settled(fit, part))
        and fit.observed.nodes[part] not in accused
        and not _is_silent(fit, part)
    ]


def _is_silent(fit: Fit, part: int) -> bool:
    """Whether it was tried with several partners and never gave a result."""
    tried = fit.encounters_of(part)
    partners = {fit.observed.encounters[number].members for number in tried}
    return len(partners) >= controls.FEWEST and not fit.observed.has_number[tried].any()


def _once_slow(fit: Fit, suspects: Mapping[int, Suspect]) -> set[int]:
    """Nodes of slow encounters that no suspect explains, until both ends were fast often enough to clear them."""
    return {
        node
        for number, parts in _slow_parts(fit).items()
        if not any(part in suspects for part in parts)
        for node in fit.nodes_of[number]
    }


def _is_settled(fit: Fit, part: int) -> bool:
    """Sure, and not by two of many encounters that could be the fault of two others."""
    slow = len([*controls.slow(fit, part)])
    return bool(fit.bad[part] >= _SETTLED) and (slow >= _OFTEN_SLOW or slow == len(fit.encounters_of(part)))


def _may_repeat(fit: Fit, node: int, members: set[str]) -> bool:
    often = controls.times_fast(fit, node, members) >= controls.enough(fit)
    return often and bool(fit.bad[node] <= controls.CLEARED)


def _never_met(fit: Fit, nodes: Sequence[str], partners: _Partners) -> Iterator[NextTest]:
    for name in sorted({*nodes} - {*fit.observed.nodes}):
        partner = partners.take(name)
        if partner is not None:
            yield NextTest(members=(name, partner), reason=f"{name} was never measured")


def _again(fit: Fit, suspects: Mapping[int, Suspect]) -> Iterator[NextTest]:
    """Once its nodes are cleared, what they were slow at together."""
    for part, (kind, subject) in enumerate(fit.parts.keys):
        if kind not in ("link", "group") or fit.bad[part] <= _DOUBT:
            continue
        is_settled = part in suspects and fit.bad[part] >= _SETTLED
        members = subject[:2] if kind == "link" else subject
        nodes = [fit.observed.nodes.index(name) for name in members]
        if not is_settled and all(_may_repeat(fit, node, {*members}) for node in nodes):
            yield NextTest(
                members=members,
                rail=subject[2] if kind == "link" and len(subject) > 2 else None,
                reason="slow together, although each is fast with others",
            )
