"""The formulas of bubbles against the orders in which torch's own schedules compute."""

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nccltool.train import pipeline_schedules
from nccltool.worker.train.pipeline_stages import CLASSES

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its pipelines are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

Action = tuple[str, int, int]
KINDS = {"F": "F", "B": "B", "I": "I", "W": "W"}
COST = {"F": 1, "B": 2, "I": 1, "W": 1}
"""A backward pass, for inputs and weights, takes two forward passes."""


def orders(name: str, ranks: int, micro_batches: int, each: int) -> dict[int, list[Action]]:
    """What each rank computes, in torch's order: kind, stage, micro-batch."""
    from torch.distributed import pipelining

    count = ranks * each
    numbers = [0, count - 1] if name == "zbv" else [turn * ranks for turn in range(each)]
    stages = [stage(number, count, ranks) for number in numbers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = name in ("gpipe", "1f1b")
        made: Any = getattr(pipelining, CLASSES[name])(
            stages[0] if single else stages, micro_batches, loss_fn=lambda output, target: output
        )
    if name == "1f1b":  # torch does not run it by its list, in which the last rank's forward passes are one off
        return {rank: one_by_one(rank, ranks, micro_batches) for rank in range(ranks)}
    order = made._get_pipeline_order() if single else made.pipeline_order
    return {rank: list(actions(row)) for rank, row in order.items()}


def one_by_one(rank: int, ranks: int, micro_batches: int) -> list[Action]:
    ahead = min(micro_batches, ranks - rank)
    row = [("F", rank, index) for index in range(ahead)]
    for index in range(micro_batches):
        row.append(("B", rank, index))
        row += [("F", rank, ahead + index)] if ahead + index < micro_batches else []
    return row


def stage(number: int, count: int, ranks: int) -> Any:
    return SimpleNamespace(
        stage_index=number,
        num_stages=count,
        group_size=ranks,
        group_rank=0,
        has_backward=True,
        is_first=number == 0,
        is_last=number == count - 1,
        submod=torch.nn.Identity(),
        group=None,
        device=torch.device("cpu"),
    )


def actions(row: list[Any]) -> Iterator[Action]:
    for action in row:
        if action is not None and action.computation_type.value in KINDS:
            yield action.computation_type.value, action.stage_index, action.microbatch_index


def idle_share(order: dict[int, list[Action]], last: int) -> float:
    """Run all ranks, each action as soon as what it needs is there."""
    done: dict[Action, int] = {}
    clock, at = dict.fromkeys(order, 0), dict.fromkeys(order, 0)
    while any(at[rank] < len(order[rank]) for rank in order):
        before = dict(at)
        for rank, row in order.items():
            while at[rank] < len(row) and needed(row[at[rank]], last) <= done.keys():
                kind, number, micro_batch = row[at[rank]]
                begin = max([clock[rank], *(done[need] for need in needed(row[at[rank]], last))])
                clock[rank] = begin + COST[kind]
                done["I" if kind == "B" else kind, number, micro_batch] = clock[rank]
                at[rank] += 1
        assert at != before, "the ranks wait for each other"
    work = sum(COST[kind] for row in order.values() for kind, _, _ in row)
    return 1 - work / (len(order) * max(clock.values()))


def needed(action: Action, last: int) -> set[Action]:
    kind, number, micro_batch = action
    if kind == "W":
        return {("I", number, micro_batch)}
    if kind == "F":
        return {("F", number - 1, micro_batch)} if number else set()
    return {("F", number, micro_batch) if number == last else ("I", number + 1, micro_batch)}


@pytest.mark.parametrize("name", pipeline_schedules.SCHEDULES)
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("rounds", [2, 4])
def test_the_formula_is_what_torch_does(name: str, ranks: int, rounds: int) -> None:
    known = pipeline_schedules.SCHEDULES[name]
    for each in {known.stages, known.most_stages or 3}:
        order = orders(name, ranks, rounds * ranks, each)
        formula = pipeline_schedules.bubble(name, ranks, rounds * ranks, each)
        assert idle_share(order, ranks * each - 1) == pytest.approx(formula)
