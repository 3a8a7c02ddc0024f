"""The largest elements of a gradient, and what the rest of it may be."""

import math
from statistics import NormalDist

import pytest
import torch

from nccltool.worker.train.top_k import SHARE, TopK

pytestmark = [pytest.mark.torch, pytest.mark.quick]

FORM = TopK()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(7,), (40, 25), (1,)])
def test_the_largest_travel_and_nothing_else(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    gradient = torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=dtype)
    kept = FORM.unpack(FORM.pack(gradient), gradient)
    count = max(1, gradient.numel() // 100)
    largest = gradient.flatten().abs().sort(descending=True).values[:count]
    assert kept.count_nonzero() == count
    assert torch.equal(kept[kept != 0], gradient[kept != 0])
    assert torch.equal(kept.abs().flatten().sort(descending=True).values[:count], largest)


def test_the_error_is_that_of_a_normal_distribution_and_below_the_bound() -> None:
    """Elements beyond z have 2 (z phi(z) + Q(z)) of the square of the norm."""
    gradient = torch.randn(10**6, generator=torch.Generator().manual_seed(4))
    lost = float((gradient - FORM.unpack(FORM.pack(gradient), gradient)).square().sum())
    normal = NormalDist()
    z = normal.inv_cdf(1 - SHARE / 2)
    expected = 1 - 2 * (z * normal.pdf(z) + 1 - normal.cdf(z))
    assert lost / float(gradient.square().sum()) == pytest.approx(expected, rel=2e-3)
    assert lost < float(FORM.bound(gradient))


def test_the_bound_is_met_where_all_elements_are_alike() -> None:
    gradient = torch.full((400,), 2.0)
    lost = float((gradient - FORM.unpack(FORM.pack(gradient), gradient)).square().sum())
    assert lost == float(FORM.bound(gradient)) == 396 * 4


def test_of_two_that_roundings_made_equal_theirs_is_taken_and_no_other() -> None:
    gradient = torch.tensor([1.0, 1.0 + 2**-22, 0.5])
    theirs = FORM.pack(torch.tensor([1.0 + 2**-22, 1.0, 0.5]))
    wrong = FORM.pack(torch.tensor([0.0, 0.0, 9.0]))
    places = [
        FORM.unpack(FORM.pack(gradient, packed, 1e-5), gradient).nonzero().flatten().tolist()
        for packed in (None, theirs, wrong)
    ]
    assert places == [[1], [0], [1]]


def test_what_came_damaged_is_no_error() -> None:
    gradient = torch.randn(300)
    packed = torch.full_like(FORM.pack(gradient), 255)
    assert math.isnan(float(FORM.unpack(packed, gradient).sum()))
