"""Gradients in 255 levels, and what rounding takes from them."""

import pytest
import torch

from nccltool.worker.train.int8 import Int8

pytestmark = [pytest.mark.torch, pytest.mark.quick]

FORM = Int8()


def test_levels_themselves_are_exact() -> None:
    gradient = torch.arange(-127, 128).double() / 8
    assert torch.equal(FORM.unpack(FORM.pack(gradient), gradient), gradient)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_error_is_that_of_equally_likely_remainders_and_below_the_bound(dtype: torch.dtype) -> None:
    gradient = torch.randn(1000, 100, generator=torch.Generator().manual_seed(4), dtype=dtype)
    lost = float((gradient - FORM.unpack(FORM.pack(gradient), gradient)).double().square().sum())
    distance = float(gradient.abs().max()) / 127
    assert lost == pytest.approx(gradient.numel() * distance**2 / 12, rel=0.01)
    assert lost < float(FORM.bound(gradient)) == pytest.approx(gradient.numel() * distance**2 / 4)


def test_zeros_stay_zeros() -> None:
    assert FORM.unpack(FORM.pack(torch.zeros(5)), torch.zeros(5)).tolist() == [0.0] * 5


def test_an_overflow_is_one_on_the_other_side_too() -> None:
    gradient = torch.tensor([1.0, float("inf")])
    assert not FORM.unpack(FORM.pack(gradient), gradient).isfinite().all()


def test_of_two_neighbours_theirs_is_taken_where_roundings_leave_it_open_and_no_other() -> None:
    gradient = torch.tensor([127.0, 2.5 + 2**-18, 3.2])
    theirs, wrong = (FORM.pack(torch.tensor([127.0, 2.5 - 2**-18, last])) for last in (3.2, 4.2))
    assert [
        FORM.unpack(FORM.pack(gradient, packed, 1e-6), gradient).tolist() for packed in (None, theirs, wrong)
    ] == [[127, 3, 3], [127, 2, 3], [127, 3, 3]]
