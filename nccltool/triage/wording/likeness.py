"""How much the words of a log are those of known failures of each cause.

A linear model (multinomial logistic regression): of n known words, each adds its weight / sqrt(n) to the causes it
speaks for. `scripts/bench wording --write` learns the weights from tests/data/failures.
"""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

WEIGHTS = Path(__file__).with_name("weights.json")
_MOST_TOLD = 3


class WordWeights(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned."""

    failures: int
    """How many it was learned from."""
    unit: float
    """What a weight of 1 adds."""
    causes: tuple[str, ...]
    bias: tuple[int, ...]
    """Of each cause."""
    words: dict[str, tuple[tuple[int, int], ...]]
    """Word -> (place in `causes`, weight) of each cause that it speaks for or against."""


@cache
def learned() -> WordWeights:
    return msgspec.json.decode(WEIGHTS.read_bytes(), type=WordWeights)


def known(words: frozenset[str]) -> frozenset[str]:
    """The words that have a weight."""
    return words & learned().words.keys()


def chances(words: frozenset[str], model: WordWeights | None = None) -> Mapping[str, float]:
    """Cause -> how probable it is by the words alone: 0 to 1, and 1 together. `model`: None = what was learned."""
    model = model or learned()
    told = words & model.words.keys()
    scores = [float(one) for one in model.bias]
    share = 1 / math.sqrt(max(1, len(told)))
    for word in told:
        for place, weight in model.words[word]:
            scores[place] += weight * share
    highest = max(scores)
    shares = [math.exp((score - highest) * model.unit) for score in scores]
    return {cause: one / sum(shares) for cause, one in zip(model.causes, shares, strict=True)}


def telling(words: frozenset[str], cause: str) -> tuple[str, ...]:
    """The words that speak most for a cause, the strongest first."""
    model = learned()
    place = model.causes.index(cause)
    weights = {word: dict(model.words[word]).get(place, 0) for word in known(words)}
    strongest = sorted((word for word in weights if weights[word] > 0), key=lambda word: (-weights[word], word))
    return tuple(strongest[:_MOST_TOLD])
