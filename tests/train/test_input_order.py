"""Which rank has which sequences when: disjoint, complete, the same in any world, and what is wrong is named."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.train.input_order import InputPlan, compared

_PLANS = st.builds(
    InputPlan,
    sequences=st.integers(8, 200),
    ranks=st.integers(1, 8),
    batch=st.integers(1, 5),
    uneven=st.sampled_from(["drop", "repeat"]),
)


def _order(epoch: int, sequences: int = 30) -> Sequence[int]:
    return random.Random(epoch).sample(range(sequences), sequences)


def _epoch(plan: InputPlan, epoch: int = 0) -> list[int]:
    order = _order(epoch, plan.sequences)
    return [
        one for step in range(plan.steps) for rank in range(plan.ranks) for one in plan.dealt(order, rank, step)
    ]


@given(_PLANS)
def test_shards_are_disjoint_and_complete(plan: InputPlan) -> None:
    counts = Counter(_epoch(plan))
    if plan.uneven == "drop":
        assert set(counts.values()) <= {1}
        assert len(counts) == plan.sequences - plan.left_out
    else:
        assert len(counts) == plan.sequences
        assert sum(counts.values()) - plan.sequences == plan.repeated < plan.ranks


@given(st.integers(1, 200), st.sampled_from([(1, 8), (2, 4), (4, 2), (8, 1)]))
def test_the_global_batch_of_a_step_is_the_same_in_any_world(sequences: int, world: tuple[int, int]) -> None:
    sequences *= 8
    ranks, batch = world
    order = _order(3, sequences)
    alone = InputPlan(sequences=sequences, ranks=1, batch=8)
    plan = InputPlan(sequences=sequences, ranks=ranks, batch=batch)
    assert plan.steps == alone.steps
    for step in range(plan.steps):
        together = [one for rank in range(ranks) for one in plan.dealt(order, rank, step)]
        assert sorted(together) == sorted(alone.dealt(order, 0, step))


@pytest.mark.parametrize(
    ("uneven", "steps", "left_out", "repeated"), [("drop", 2, 6, 0), ("repeat", 3, 0, 2)], ids=["drop", "repeat"]
)
def test_the_end_of_an_epoch_that_is_uneven(uneven: str, steps: int, left_out: int, repeated: int) -> None:
    plan = InputPlan(sequences=30, ranks=4, batch=3, uneven=uneven)  # type: ignore[arg-type]
    assert (plan.steps, plan.left_out, plan.repeated) == (steps, left_out, repeated)
    assert [plan.place(step) for step in (1, steps, steps + 1)] == [(0, 0), (0, steps - 1), (1, 0)]


_PLAN = InputPlan(sequences=30, ranks=4, batch=3)


@pytest.mark.parametrize(
    ("got", "what"),
    [
        (_PLAN.dealt(_order(1), 1, 0), None),
        (_PLAN.dealt(_order(1), 2, 0), "of another rank"),
        (_PLAN.dealt(_order(0), 1, 0), "of an earlier epoch"),
        (_PLAN.dealt(_order(1), 1, 1), "of another step"),
        (_PLAN.dealt(_order(1), 1, 0)[:2], "missing"),
        ((5, 5, 7), "twice"),
        ((100, 101, 102), "unknown"),
    ],
)
def test_a_fault_is_named(got: tuple[int, ...], what: str | None) -> None:
    found = compared(_PLAN, _order, 1, 3, got)
    assert (found.what if found else None) == what
