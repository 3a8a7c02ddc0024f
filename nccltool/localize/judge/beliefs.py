"""Which parts are slow, by belief propagation.

An encounter is as slow as its slowest part. Each part tells its encounters what it may be, given its other
encounters; each encounter tells its parts what it makes of them, given its other parts, until it settles. It is
exact where nobody can be reached on two paths, and that is nearly so for few rounds of many nodes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from nccltool.localize.judge.parts import Parts
from nccltool.localize.judge.states import FIRST_BAD, LEVELS, SHARES, Floats, Ints

_MOST_TURNS = 30
_SETTLED = 2e-3
_TURNS_OF_ALL, _TURNS_OF_ALL_AGAIN = 3, 1
_CLOSED = 1e-4
_DAMPED = 0.35
_TINY = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class Beliefs:
    """What parts and encounters probably are."""

    states: Floats
    """Parts x directions x shares x levels from 1 on: probability of each; the rest is healthy."""
    levels: Floats
    """Encounters x levels: probability that this was its slowness."""
    messages: Floats
    """Where the next fit can begin."""

    def bad(self) -> Floats:
        """Of each part: the probability that it is slower than a healthy one."""
        found: Floats = self.states[..., FIRST_BAD - 1 :].sum(axis=(1, 2, 3))
        return found


def propagate(parts: Parts, likelihood: Floats, messages: Floats | None = None) -> Beliefs:
    """From the likelihood of each level of each encounter."""
    shape = (len(parts.encounter_of), *parts.priors.shape[1:])
    told = np.zeros(shape) if messages is None else messages
    whole = _Graph.of(parts.encounter_of, parts.part_of, parts.activity, parts.priors, likelihood)
    told = whole.settle(told, _TURNS_OF_ALL if messages is None else _TURNS_OF_ALL_AGAIN)
    open_parts = _bad(whole.totals(told)) > _CLOSED
    is_open = np.zeros(len(likelihood), dtype=bool)
    is_open[parts.encounter_of[open_parts[parts.part_of]]] = True
    rows = np.flatnonzero(is_open[parts.encounter_of])
    if len(rows):
        told[rows] = _narrowed(parts, rows, whole.totals(told), told[rows], likelihood).settle(
            told[rows], _MOST_TURNS
        )
    totals = whole.totals(told)
    up_to = np.exp(whole.to_encounters @ np.log(_cumulative(totals[parts.part_of] - told, whole.shown)))
    levels = np.maximum(np.diff(up_to, axis=1, prepend=0.0), 0.0) * likelihood
    levels /= np.maximum(levels.sum(axis=1, keepdims=True), _TINY)
    return Beliefs(states=_probabilities(totals), levels=levels, messages=told)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Graph:
    """Edges between parts and encounters, and what parts are without them."""

    encounter_of: Ints
    part_of: Ints
    to_parts: csr_array
    to_encounters: csr_array
    priors: Floats
    shown: Floats
    """Edges x directions x shares: how often a fault shows."""
    steps: Floats
    """Encounters x levels: how much the likelihood falls to the next level."""

    @staticmethod
    def of(encounter_of: Ints, part_of: Ints, activity: Floats, priors: Floats, likelihood: Floats) -> "_Graph":
        count = len(encounter_of)
        ones, rows = np.ones(count), np.arange(count)
        return _Graph(
            encounter_of=encounter_of,
            part_of=part_of,
            to_parts=csr_array((ones, (part_of, rows)), shape=(len(priors), count)),
            to_encounters=csr_array((ones, (encounter_of, rows)), shape=(len(likelihood), count)),
            priors=priors,
            shown=activity[:, :, None] * SHARES,
            steps=likelihood - np.append(likelihood[:, 1:], np.zeros((len(likelihood), 1)), axis=1),
        )

    def totals(self, told: Floats) -> Floats:
        """Log odds of each state of each part."""
        found: Floats = self.priors + (self.to_parts @ told.reshape(len(told), -1)).reshape(self.priors.shape)
        return found

    def settle(self, told: Floats, turns: int) -> Floats:
        """The messages to parts after so many turns, fewer if they no longer change."""
        before = np.full(len(self.priors), np.inf)
        for _ in range(turns):
            totals = self.totals(told)
            logs = np.log(_cumulative(totals[self.part_of] - told, self.shown))
            others = np.exp((self.to_encounters @ logs)[self.encounter_of] - logs)
            heard = _heard(others * self.steps[self.encounter_of], self.shown)
            if told.any():
                heard *= 1 - _DAMPED
                heard += _DAMPED * told
            told = heard
            bad = _bad(totals)
            if np.abs(bad - before).max(initial=0.0) < _SETTLED:
                break
            before = bad
        return told


def _narrowed(parts: Parts, rows: Ints, totals: Floats, told: Floats, likelihood: Floats) -> _Graph:
    """Only these edges; the others have said what they have to say."""
    encounters, encounter_of = np.unique(parts.encounter_of[rows], return_inverse=True)
    numbers, part_of = np.unique(parts.part_of[rows], return_inverse=True)
    sums = csr_array((np.ones(len(rows)), (part_of, np.arange(len(rows)))), shape=(len(numbers), len(rows)))
    here = (sums @ told.reshape(len(rows), -1)).reshape(-1, *told.shape[1:])
    return _Graph.of(encounter_of, part_of, parts.activity[rows], totals[numbers] - here, likelihood[encounters])


def _weights(totals: Floats) -> tuple[Floats, Floats]:
    """Of each state, flat, and their sum with that of being healthy."""
    flat = totals.reshape(len(totals), -1)
    most = np.maximum(flat.max(axis=1, keepdims=True), 0.0)
    weights = flat - most
    np.exp(weights, out=weights)
    return weights, weights.sum(axis=1, keepdims=True) + np.exp(-most)


def _probabilities(totals: Floats) -> Floats:
    weights, sums = _weights(totals)
    found: Floats = (weights / sums).reshape(totals.shape)
    return found


def _bad(totals: Floats) -> Floats:
    """Of each part: the probability that it is slower than a healthy one."""
    found: Floats = _probabilities(totals)[..., FIRST_BAD - 1 :].sum(axis=(1, 2, 3))
    return found


def _cumulative(totals: Floats, shown: Floats) -> Floats:
    """Edges x levels: the probability that the part is at this level or faster in this encounter."""
    weights, sums = _weights(totals)
    slow = np.einsum("nsl,ns->nl", weights.reshape(len(totals), -1, LEVELS - 1), shown.reshape(len(totals), -1))
    slow /= sums
    found = np.ones((len(totals), LEVELS))
    found[:, :-1] -= np.cumsum(slow[:, ::-1], axis=1)[:, ::-1]
    return np.maximum(found, _TINY, out=found)


def _heard(weights: Floats, shown: Floats) -> Floats:
    """Log likelihood of each state of the part against its being healthy."""
    sums = np.cumsum(weights, axis=1)
    faster = sums[:, :-1] / np.maximum(sums[:, -1:], _TINY)
    found: Floats = -shown[..., None] * faster[:, None, None, :]
    found += 1
    np.maximum(found, _TINY, out=found)
    return np.log(found, out=found)


def heard_alone(parts: Parts, likelihood: Floats, edges: Ints) -> Floats:
    """The messages of these edges if all other parts of their encounters were healthy."""
    rows = likelihood[parts.encounter_of[edges]]
    steps = rows - np.append(rows[:, 1:], np.zeros((len(rows), 1)), axis=1)
    return _heard(steps, parts.activity[edges][:, :, None] * SHARES)
