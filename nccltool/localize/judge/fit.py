"""Levels, noise and beliefs that agree with each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import beliefs, duels, levels, likelihood, parts
from nccltool.localize.judge.beliefs import Beliefs
from nccltool.localize.judge.levels import Levels
from nccltool.localize.judge.observed import Observed, observe
from nccltool.localize.judge.parts import Key, Parts
from nccltool.localize.judge.states import FIRST_BAD, SMALLEST_LOSS, Flags, Floats, Ints
from nccltool.localize.topology import Topology

_TURNS = 2
_LINK_SIGMAS = 2.0
_CLEAR_SIGMAS = 5.0
_LIKELY = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """What explains the encounters best."""

    observed: Observed
    levels: Levels
    parts: Parts
    beliefs: Beliefs
    ratios: Floats
    """Of each encounter: logarithm of its speed as a share of the healthy one; minus infinity without a number."""
    bad: Floats
    """Of each part: the probability that it is slow."""
    bad_encounters: Floats
    """Of each encounter: the probability that it was slow, not only noisy."""
    is_slow: Flags
    """Of each encounter: clearly slow, whatever the reason."""
    nodes_of: tuple[tuple[int, ...], ...]
    """Of each encounter: the parts that are its nodes."""

    def encounters_of(self, part: int) -> Ints:
        """Those that used it, and in which it could show."""
        found: Ints = self.parts.encounter_of[self.parts.edges(part)]
        return found

    def part(self, key: Key) -> int | None:
        """Its number; None: nothing measured asks for it."""
        return self.parts.keys.index(key) if key in self.parts.keys else None


def fit(
    encounters: Sequence[Encounter],
    *,
    expected_busbw_bytes_per_s: float | None,
    topology: Topology,
    counters: Sequence[CounterEvidence],
) -> Fit:
    """Twice: what is known of the healthy ones sharpens the levels, which sharpens what is known."""
    observed = observe(encounters, topology)
    expected_log = math.log(expected_busbw_bytes_per_s) if expected_busbw_bytes_per_s else None
    known = levels.first(observed, expected_log)
    used = parts.of(observed, _is_low(observed, known), topology, counters)
    likely = likelihood.of_levels(observed, known)
    found = beliefs.propagate(used, likely)
    for _ in range(_TURNS - 1):
        if not known.is_expected:
            known = levels.refined(observed, known.healthy, found.levels[:, :FIRST_BAD].sum(axis=1))
        likely = likelihood.of_levels(observed, known)
        found = beliefs.propagate(used, likely, found.messages)
    bad_encounters = found.levels[:, FIRST_BAD:].sum(axis=1)
    ratios = np.where(observed.has_number, known.ratios(observed), -math.inf)
    return Fit(
        observed=observed,
        levels=known,
        parts=used,
        beliefs=found,
        ratios=ratios,
        bad=duels.decided(used, found, likely),
        bad_encounters=bad_encounters,
        is_slow=(bad_encounters > _LIKELY)
        | (observed.has_number & (ratios < -max(_CLEAR_SIGMAS * known.sigma, SMALLEST_LOSS))),
        nodes_of=_nodes_of(observed),
    )


def _is_low(observed: Observed, known: Levels) -> Flags:
    found: Flags = ~observed.has_number | (known.ratios(observed) < -_LINK_SIGMAS * known.sigma)
    return found


def _nodes_of(observed: Observed) -> tuple[tuple[int, ...], ...]:
    numbers = {node: number for number, node in enumerate(observed.nodes)}
    return tuple(tuple(numbers[name] for name in each.members) for each in observed.encounters)
