"""Nodes that are slow with all others and fast with each other: what they share is slow, not each of them.

So it looks if the uplink of a leaf switch is slow and nobody said which nodes are on it.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import cycle

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from nccltool.localize.judge import controls
from nccltool.localize.judge.fit import Fit
from nccltool.localize.judge.states import Ints
from nccltool.localize.result import NextTest, Suspect

_FEWEST = 3
"""Nodes, and fast measurements between them. Two nodes that are slow now and then can be fast together."""
_MOSTLY = 0.8


def merged(fit: Fit, suspects: Mapping[int, Suspect]) -> dict[int, Suspect]:
    """The suspects, nodes of a cluster accused together; others that may be of one are not accused."""
    found = dict(suspects)
    for cluster in _clusters(fit, _alone(suspects)):
        together = _suspect(fit, cluster, [suspects[part] for part in cluster])
        found |= dict.fromkeys(cluster, together)
        for part in _like(fit, cluster, _alone(found)):
            del found[part]
    return found


def next_tests(fit: Fit, suspects: Mapping[int, Suspect]) -> Iterator[NextTest]:
    """Whether other slow nodes, and other clusters, are fast with a cluster."""
    numbers = {name: part for part, name in enumerate(fit.observed.nodes)}
    clusters = [
        [numbers[name] for name in each.subject]
        for each in sorted({*suspects.values()}, key=lambda each: each.subject)
        if each.kind == "group" and all(numbers[name] in suspects for name in each.subject)
    ]
    bad = [part for part in fit.parts.number("node") if fit.bad[part] >= controls.SURE and part not in suspects]
    for place, cluster in enumerate(clusters):
        firsts = [other[0] for other in clusters[place + 1 :] if not _have_met(fit, cluster, other)]
        for part, own in zip([*firsts, *_like(fit, cluster, bad)], cycle(cluster), strict=False):
            other, name = fit.observed.nodes[part], fit.observed.nodes[own]
            yield NextTest(members=(other, name), reason=f"{other} may share with {name} what makes both slow")


def _have_met(fit: Fit, cluster: Collection[int], other: Collection[int]) -> bool:
    both = {*cluster, *other}
    return any(not {*nodes} <= {*cluster} and not {*nodes} <= {*other} for _, nodes in _met(fit, both))


def _alone(suspects: Mapping[int, Suspect]) -> list[int]:
    return [part for part, each in suspects.items() if each.kind == "node" and each.ratio is not None]


def _clusters(fit: Fit, parts: Collection[int]) -> Iterator[list[int]]:
    """Parts that fast measurements connect: almost always fast with each other, slow with the rest."""
    pairs = [nodes for number, nodes in _met(fit, parts) if not _is_slow(fit, number, nodes[0])]
    if len(pairs) < _FEWEST:
        return
    size = len(fit.observed.nodes)
    rows, columns = np.array(pairs, dtype=np.int64).T
    edges = coo_array((np.ones(len(pairs)), (rows, columns)), shape=(size, size))
    labels: Ints = connected_components(edges, directed=False)[1]
    found = [[part for part in parts if labels[part] == label] for label in np.unique(labels[rows])]
    clusters = [cluster for cluster in found if _is_cluster(fit, cluster)]
    if len({part for cluster in clusters for part in cluster}) >= _FEWEST:
        yield from clusters


def _is_cluster(fit: Fit, cluster: Collection[int]) -> bool:
    inside = [_is_slow(fit, number, nodes[0]) for number, nodes in _met(fit, cluster)]
    outside = [
        _is_slow(fit, number, part)
        for part in cluster
        for number in fit.encounters_of(part)
        if fit.observed.has_number[number] and not {*fit.nodes_of[number]} <= {*cluster}
    ]
    return sum(inside) <= (1 - _MOSTLY) * len(inside) and sum(outside) >= _MOSTLY * len(outside)


def _met(fit: Fit, parts: Collection[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The pairs of these that have a bandwidth."""
    known = {*parts}
    for part in parts:
        for number in fit.encounters_of(part):
            nodes = fit.nodes_of[number]
            if (
                len(nodes) == 2
                and nodes[0] == part
                and known.issuperset(nodes)
                and fit.observed.has_number[number]
            ):
                yield int(number), nodes


def _is_slow(fit: Fit, number: int, part: int) -> bool:
    """Whether an encounter was nearer to the fault of one of its nodes than to health."""
    return bool(fit.ratios[number] < -controls.loss(fit, part) / 2)


def _like(fit: Fit, cluster: Collection[int], parts: Collection[int]) -> list[int]:
    """Those of the parts as slow as the cluster that never met one of it."""
    levels = {controls.level(fit, part) for part in cluster}
    return [
        part
        for part in parts
        if part not in cluster
        and min(levels) - 1 <= controls.level(fit, part) <= max(levels) + 1
        and not _have_met(fit, cluster, [part])
    ]


def _suspect(fit: Fit, cluster: Collection[int], alone: Collection[Suspect]) -> Suspect:
    inside = [_is_slow(fit, number, nodes[0]) for number, nodes in _met(fit, cluster)]
    ratios = [each.ratio for each in alone if each.ratio is not None]
    return Suspect(
        kind="group",
        subject=tuple(sorted(name for each in alone for name in each.subject)),
        confidence=min(each.confidence for each in alone),
        ratio=float(np.median(ratios)),
        evidence=(
            f"fast with each other in {len(inside) - sum(inside)} of {len(inside)} encounters, "
            f"{100 * float(np.median(ratios)):.0f} % of the healthy bandwidth with other nodes: what they "
            "share is slow, such as the uplink of a leaf switch",
        ),
    )
