"""The verdict over encounters."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nccltool.localize import disturbances
from nccltool.localize.counters import CounterEvidence
from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import clusters, controls, groups, levels, links, nodes, open_questions, proof, rails
from nccltool.localize.judge.fit import Fit, fit
from nccltool.localize.judge.observed import is_number
from nccltool.localize.judge.states import SMALLEST_LOSS
from nccltool.localize.result import MOST_INVISIBLE, Localization, Scope, Suspect
from nccltool.localize.topology import Topology

_UNKNOWN = Topology()
_FEWEST_FOR_NOISE = 3
_MOST_BAD = 0.45
"""The share of nodes from which on the healthy ones are no majority."""
_LIKELY = 0.5
_MOST_QUICK, _FEWEST_QUICK, _QUICK_OF_FEW = 0.03, 3, 1 / 8
_PAIR = 2
_VISIBLE = 6.2
"""Sigmas of a node's mean at which a lasting fault is named in 19 of 20 cases."""


def judge(
    encounters: Sequence[Encounter],
    *,
    nodes: Sequence[str] = (),
    expected_busbw_bytes_per_s: float | None = None,
    topology: Topology = _UNKNOWN,
    counters: Sequence[CounterEvidence] = (),
) -> Localization:
    """Name the slow ones; `nodes` are those that should be there. Rounds slow as a whole do not count."""
    encounters = disturbances.split(encounters, topology).usual
    measured = [frozenset(each.members) for each in encounters if is_number(each.busbw_bytes_per_s)]
    numbers = len(measured)
    short = _too_few(measured, expected_busbw_bytes_per_s)
    if short:
        return Localization(
            scope="unknown", noise=None, smallest_visible_fault=None, healthy_busbw_bytes_per_s=None, reason=short
        )
    found = fit(
        encounters,
        expected_busbw_bytes_per_s=expected_busbw_bytes_per_s,
        topology=topology,
        counters=counters,
    )
    wide = _fabric_wide(found, expected_busbw_bytes_per_s)
    suspects = {} if wide else _suspects(found, tuple(counters), topology)
    open_pairs = () if wide else open_questions.undetermined(found, suspects)
    scope, reason = _scope(found, wide, suspects, open_pairs)
    smallest = _smallest(found) if numbers >= _FEWEST_FOR_NOISE else None
    if scope in ("nothing-slow", "fabric-wide") and smallest is not None and smallest > MOST_INVISIBLE:
        scope, reason = "unknown", "the measurements differ so much that a node at half the speed could not show"
    return Localization(
        scope=scope,
        suspects=tuple(
            sorted({*suspects.values()}, key=lambda each: (-round(each.confidence, 6), each.kind, each.subject))
        ),
        undetermined=open_pairs,
        next_tests=() if wide else open_questions.next_tests(found, suspects, nodes, topology),
        noise=found.levels.sigma if numbers >= _FEWEST_FOR_NOISE else None,
        smallest_visible_fault=smallest,
        healthy_busbw_bytes_per_s=_healthy(found),
        reason=reason,
    )


def _too_few(measured: Sequence[frozenset[str]], expected: float | None) -> str:
    """Why nothing can be compared; empty: it can."""
    if not measured:
        return "no encounter has a bandwidth"
    if expected is not None:
        return ""
    if len({*measured}) == 1:
        often = "one encounter has a bandwidth" if len(measured) == 1 else "only the same nodes were measured"
        return f"{often}, and nothing to compare {'it' if len(measured) == 1 else 'them'} with"
    few = len(measured) < _FEWEST_FOR_NOISE
    return f"{len(measured)} encounters have a bandwidth, too few to tell a fault from noise" if few else ""


def _suspects(found: Fit, counters: tuple[CounterEvidence, ...], topology: Topology) -> dict[int, Suspect]:
    likely = (
        nodes.suspects(found, counters)
        | links.suspects(found)
        | rails.suspects(found, counters)
        | groups.suspects(found, topology)
    )
    proven, before = _proven(found, likely, likely), likely
    while len(proven) < len(before):
        proven, before = _proven(found, proven, likely), proven
    return clusters.merged(found, proven)


def _proven(found: Fit, accused: Mapping[int, Suspect], likely: Mapping[int, Suspect]) -> dict[int, Suspect]:
    """Those of the accused whom noise does not explain.

    If it explains one of the likely ones, there is more noise than it seemed: what was measured with that one
    shows how much, and so does all that is slow and unexplained.
    """
    rest = proof.others(found, accused, with_doubts=len(accused) < len(likely))
    return {
        part: suspect
        for part, suspect in accused.items()
        if (proof.is_silent if suspect.ratio is None else proof.is_proven)(found, part, likely, rest)
    }


def _fabric_wide(found: Fit, expected: float | None) -> str | None:
    """Why nobody can be accused; None: there is a healthy majority, or a reference that some nodes reach."""
    parts = found.parts.number("node")
    bad = sum(found.bad[part] >= _LIKELY for part in parts)
    slow = f"{bad} of {len(parts)} nodes are slower than the fastest ones"
    if expected is not None:
        is_reached = any(controls.is_cleared(found, part, set()) for part in parts)
        return None if is_reached or not bad else f"{slow}, and none reaches the expected bandwidth"
    if bad > max(_MOST_BAD * len(parts), 1):
        return f"{slow}: there is no healthy majority, and no expected bandwidth to compare with"
    quick = np.flatnonzero(levels.quick(found.observed, found.levels))
    fast = {node for number in quick for node in found.nodes_of[number]}
    count = len(found.ratios)
    enough = max(min(_FEWEST_QUICK, _QUICK_OF_FEW * count), _MOST_QUICK * count)
    if len(quick) >= enough and (len(fast) < len(parts) / 2 or len(fast) == _PAIR):
        return f"{len(fast)} of {len(parts)} nodes are much faster together than the rest, which may be slow"
    return None


def _scope(
    found: Fit, wide: str | None, suspects: Mapping[int, Suspect], open_pairs: Sequence[tuple[str, ...]]
) -> tuple[Scope, str]:
    if wide is not None:
        return "fabric-wide", wide
    if suspects:
        explain = "1 explains" if len(suspects) == 1 else f"{len(suspects)} explain"
        rest = f", but not {len(open_pairs)} of them" if open_pairs else ""
        return "suspects", f"{explain} the slow encounters{rest}"
    if open_pairs:
        return "undetermined", f"{len(open_pairs)} slow, but not with partners that are fast with others"
    return "nothing-slow", f"all {len(found.ratios)} encounters agree within the noise"


def _smallest(found: Fit) -> float:
    """Relative loss."""
    met = np.bincount(found.parts.part_of, minlength=len(found.parts.keys))[: len(found.observed.nodes)]
    sigma = found.levels.sigma / math.sqrt(max(float(np.median(met)), 1.0))
    return 1 - math.exp(-max(_VISIBLE * sigma, SMALLEST_LOSS))


def _healthy(found: Fit) -> float:
    usual = np.bincount(found.observed.class_of[found.observed.has_number]).argmax()
    return math.exp(float(found.levels.healthy[usual]))
