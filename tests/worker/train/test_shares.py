"""Which weights explain a gradient, exactly and from a sample."""

import pytest
import torch
from torch import Tensor

from nccltool.train.reference_cost import SHARES_BYTES
from nccltool.worker.train.shares import GradientColumns, Weights, explained

pytestmark = [pytest.mark.torch, pytest.mark.quick]

CPU = torch.device("cpu")
MICRO_BATCHES = 4


def gradients(elements: int) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(MICRO_BATCHES, elements, generator=generator)


def columns_of(rows: Tensor, elements: int) -> GradientColumns:
    """As if each had so many elements."""
    columns = GradientColumns(elements, MICRO_BATCHES, CPU)
    for row in rows:
        columns.add(columns.sample([row[:100], row[100:]]))
    return columns


LARGE = 30 * SHARES_BYTES // 8 // MICRO_BATCHES


@pytest.mark.parametrize("elements", [1000, LARGE], ids=["all", "a sample"])
def test_weights_are_found(elements: int) -> None:
    rows, weights = gradients(1000), torch.tensor([1.0, 1.0, 0.0, 2.0])
    columns = columns_of(rows, elements)
    assert (columns.is_sample, columns.step) == (elements == LARGE, 31 if elements == LARGE else 1)
    found = explained(columns, [weights @ rows[:, :100], weights @ rows[:, 100:]], 1e-3, lambda weights: 0.0)
    assert found is not None
    assert found.values == pytest.approx(weights.tolist(), abs=1e-5)
    assert max(found.errors) < 1e-5


def test_damage_is_not_explained() -> None:
    rows = gradients(1000)
    mine = rows.sum(0)
    mine[500] += 50
    assert explained(columns_of(rows, 1000), [mine[:100], mine[100:]], 1e-3, lambda weights: 0.0) is None


def test_damage_outside_of_a_sample_is_seen_in_all_of_it() -> None:
    rows = gradients(1000)
    columns, asked = columns_of(rows, LARGE), []

    def left(weights: Weights) -> float:
        asked.append(weights)
        return 0.5

    mine = rows.sum(0)
    assert explained(columns, [mine[:100], mine[100:]], 1e-3, left) is None
    assert asked[0].values == pytest.approx([1.0] * MICRO_BATCHES)


def test_the_error_of_a_weight_is_that_of_the_numbers() -> None:
    rows, generator = gradients(10_000), torch.Generator().manual_seed(4)
    columns = columns_of(rows, 10_000)
    mine = rows.sum(0) + 0.1 * torch.randn(10_000, generator=generator)
    found = columns.weights(columns.sample([mine]))
    assert found is not None
    assert found.errors == pytest.approx([0.1 / 100] * MICRO_BATCHES, rel=0.1)
    assert max(abs(value - 1) for value in found.values) < 5e-3


def test_micro_batches_that_are_alike_count_alike() -> None:
    rows = gradients(1000)
    rows[1] = rows[0]
    columns = columns_of(rows, 1000)
    found = columns.weights(columns.sample([rows.sum(0)]), each_row_alike=True)
    assert found is not None
    assert found.values == pytest.approx([1.0] * MICRO_BATCHES)


def test_fewer_numbers_than_weights_tell_nothing() -> None:
    columns = columns_of(gradients(101), 101)
    assert columns.weights(torch.zeros(7, dtype=torch.float64)) is None
