"""Experts against the same arithmetic token by token, and who decides a tie."""

import pytest
import torch
from torch import Tensor

from nccltool.train.job import TrainSpec
from nccltool.worker.train.experts import RoutedExperts

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

TOKENS = 24


def made(**options: float) -> RoutedExperts:
    torch.manual_seed(3)
    spec = TrainSpec(strategies=("moe",), options=dict(options), width=8, experts=8)
    layer: RoutedExperts = RoutedExperts(spec).to(torch.float64)
    return layer


def tokens() -> Tensor:
    return torch.randn(2, TOKENS // 2, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def one_by_one(layer: RoutedExperts, x: Tensor, most: float = TOKENS) -> Tensor:
    """What the layer is to do, without sorting and splitting."""
    rows, used = [], [0] * layer.count
    for token in x.flatten(0, 1):
        shares = layer.router(token).softmax(-1)
        best, chosen = shares.topk(layer.top_k)
        gates = best / best.sum() if layer.top_k > 1 else best
        row = torch.zeros_like(token)
        for gate, number in zip(gates, chosen.tolist(), strict=True):
            used[number] += 1
            if used[number] <= most:
                row = row + gate * layer.each[str(number)](token)
        rows.append(row)
    return torch.stack(rows).view_as(x)


@pytest.mark.parametrize("top_k", [1, 2, 8])
def test_each_token_gets_what_its_experts_make_of_it(top_k: int) -> None:
    layer, x = made(top_k=top_k), tokens()
    torch.testing.assert_close(layer(x), one_by_one(layer, x))


@pytest.mark.parametrize(("capacity", "most"), [(1.0, 6), (0.5, 3), (8.0, TOKENS)])
def test_what_exceeds_the_capacity_is_dropped(capacity: float, most: int) -> None:
    layer, x = made(capacity=capacity), tokens()
    layer.routed = []
    torch.testing.assert_close(layer(x), one_by_one(layer, x, most))
    assert int(layer.load.max()) <= most
    assert layer.choices == 2 * TOKENS
    assert (int(layer.load.sum()) < layer.choices) == (most < TOKENS)


@pytest.mark.parametrize("top_k", [1, 2])
def test_the_router_learns(top_k: int) -> None:
    layer = made(top_k=top_k)
    layer(tokens()).square().sum().backward()
    assert layer.router.weight.grad.abs().max() > 0


def choices(layer: RoutedExperts, x: Tensor, advice: Tensor | None = None, tie: float = 0.0) -> Tensor:
    layer.routed, layer.tie = [], tie
    layer.advice = [] if advice is None else [advice]
    layer(x)
    return layer.routed[0]


def test_advice_decides_ties_only() -> None:
    layer, x = made(), tokens()
    own = choices(layer, x)
    ranked = layer.router(x.flatten(0, 1)).detach().softmax(-1).sort(-1, descending=True)
    other = torch.stack([ranked.indices[:, 0], ranked.indices[:, 2]], -1)  # the third in the place of the second
    apart = ranked.values[:, 1] - ranked.values[:, 2]
    tie = float(apart.median())
    settled = choices(layer, x, other, tie)
    is_tie = (apart <= tie)[:, None]
    assert torch.equal(settled, torch.where(is_tie, other, own))


@pytest.mark.parametrize("advice", [99, -1, 0])
def test_advice_that_makes_no_sense_is_ignored(advice: int) -> None:
    layer, x = made(), tokens()
    own = choices(layer, x)
    assert torch.equal(choices(layer, x, torch.full_like(own, advice), tie=1.0), own)
