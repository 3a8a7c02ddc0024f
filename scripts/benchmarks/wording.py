"""What do the words of a log tell of its cause? Weights learned from retold failures, judged on later rounds.

scripts/bench wording              each round, with the weights learned from those before it
scripts/bench wording --write      learns from all rounds, and writes nccltool/triage/wording/weights.json
"""

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import torch
from tabulate import tabulate

from benchmarks import extent, failures
from nccltool.triage import causes
from nccltool.triage.wording import likeness
from nccltool.triage.wording.words import words_of

TARGET = 0.65
"""Right by the words alone, of rounds 13 and later. `none` for each log would be right for 0.37 of them."""
_RARE = 4
"""Words of fewer failures than this have no weight."""
_PENALTY = 0.1
"""Of the squares of the weights (L2): four times more or less made no difference in rounds 13 to 23."""
_UNIT = 0.25
"""Weights are told in multiples of it; those below two of them are left out."""
_STEPS = 60
_JUDGED = extent.of(range(13, 10_000), range(23, 24))


@dataclass(frozen=True)
class Case:
    """A failure, as the model sees it."""

    cause: str
    words: frozenset[str]


class Examples:
    """Cases as a matrix: a row each, a column for each word that is frequent enough."""

    def __init__(self, cases: Sequence[Case]) -> None:
        frequent = Counter(word for case in cases for word in case.words)
        self.words = sorted(word for word, count in frequent.items() if count >= _RARE)
        self._cases = cases

    @cached_property
    def matrix(self) -> torch.Tensor:
        column = {word: place for place, word in enumerate(self.words)}
        rows = torch.zeros(len(self._cases), len(column))
        for row, case in zip(rows, self._cases, strict=True):
            known = [column[word] for word in case.words if word in column]
            row[known] = 1 / math.sqrt(max(1, len(known)))
        return rows

    @property
    def causes(self) -> torch.Tensor:
        return torch.tensor([causes.LABELS.index(case.cause) for case in self._cases])


def learn(cases: Sequence[Case]) -> likeness.WordWeights:
    """The weights with which the words tell the causes best; each cause counts the same."""
    examples = Examples(cases)
    of_cause = examples.causes
    share = len(cases) / (len(causes.LABELS) * torch.bincount(of_cause, minlength=len(causes.LABELS)).clamp(min=1))
    weights = torch.zeros(len(causes.LABELS), len(examples.words), requires_grad=True)
    bias = torch.zeros(len(causes.LABELS), requires_grad=True)
    solver = torch.optim.LBFGS([weights, bias], max_iter=_STEPS, history_size=10, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        solver.zero_grad()
        wrong = torch.nn.functional.cross_entropy(examples.matrix @ weights.T + bias, of_cause, reduction="none")
        total = (wrong * share[of_cause]).sum() + _PENALTY / 2 * weights.square().sum()
        total.backward()
        return total

    solver.step(loss)
    rounded = torch.round(weights.detach() / _UNIT).int()
    rounded[rounded.abs() < 2] = 0
    return likeness.WordWeights(
        failures=len(cases),
        unit=_UNIT,
        causes=tuple(causes.LABELS),
        bias=tuple(torch.round(bias.detach() / _UNIT).int().tolist()),
        words=_weighty(examples.words, rounded.T.tolist()),
    )


def _weighty(words: Sequence[str], rows: Sequence[Sequence[int]]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Word -> what it says, of those that say something."""
    told = (tuple((place, weight) for place, weight in enumerate(row) if weight) for row in rows)
    return {word: weights for word, weights in zip(words, told, strict=True) if weights}


def cases_of(failed: Sequence[failures.Failure]) -> list[Case]:
    """Those whose causes are known."""
    return [Case(one.root_cause, words_of(one.log)) for one in failed]


def answer(model: likeness.WordWeights, words: frozenset[str]) -> str:
    """The most likely cause."""
    told = likeness.chances(words, model)
    return max(told, key=lambda cause: told[cause])


def main(options: Sequence[str] = ()) -> bool:
    """Print how many of each round the words alone tell right; whether that is enough."""
    parser = argparse.ArgumentParser("scripts/bench wording")
    parser.add_argument("--write", action="store_true", help="write the weights that all rounds give")
    rounds = [cases_of(failures.failures(file)) for file in in_order()]
    if parser.parse_args(options).write:
        likeness.WEIGHTS.write_text(_written(learn([case for one in rounds for case in one])))
    rows: list[tuple[object, ...]] = []
    right = judged = 0
    for number, cases in enumerate(rounds, start=1):
        if number in _JUDGED:
            model = learn([case for earlier in rounds[: number - 1] for case in earlier])
            hits = sum(answer(model, case.words) == case.cause for case in cases)
            rows.append((number, len(cases), f"{hits / len(cases):.3f}"))
            right, judged = right + hits, judged + len(cases)
    rows.append(("all", judged, f"{right / judged:.3f}"))
    print(tabulate(rows, headers=("round", "cases", "right"), tablefmt="github"))
    return right / judged >= TARGET


def _written(model: likeness.WordWeights) -> str:
    """A line for each word, so that one can see what changed."""
    text = msgspec.json.encode(model).decode()
    return text.replace('"words":{', '"words":{\n').replace("]],", "]],\n") + "\n"


def in_order() -> list[Path]:
    """The rounds, the first one first."""
    return sorted(failures.ROUNDS.glob("round-*.jsonl"), key=lambda file: int(file.stem.partition("-")[2]))
