"""Batch norms of all ranks on CPUs, beside torch's own of one process."""

import pytest
import torch
from torch import Tensor, nn

from nccltool.worker.train import batch_norm
from nccltool.worker.train.batch_norm import TokenNorm, synchronized

pytestmark = [pytest.mark.torch, pytest.mark.quick]

CPU = torch.device("cpu")
_SEQUENCES = 5
"""Of a rank."""


def results(model: nn.Sequential, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """(gradients of the input; what comes out, gradients of parameters, and running statistics) of two steps."""
    inputs, others = [], []
    for factor in (1.0, 3.0):
        there = (x * factor + 1).requires_grad_()
        out = model(there)
        (out.pow(3) * torch.arange(out.shape[-1])).mean().backward()
        assert there.grad is not None
        inputs.append(there.grad[:_SEQUENCES])
        others.append(out.detach()[:_SEQUENCES])
    return inputs, [*others, *(p.grad for p in model.parameters() if p.grad is not None), *model.buffers()]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_with_the_same_tokens_are_one_process_with_all_of_them(
    ranks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: ranks)
    monkeypatch.setattr(batch_norm, "all_reduce", lambda tensor: tensor * ranks)
    plain, ours = (nn.Sequential(TokenNorm(6)).double() for _ in range(2))
    for model in (plain, ours):
        model.get_parameter("0.of.weight").data += torch.arange(6)
    x = torch.randn(_SEQUENCES, 3, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    inputs, others = results(plain, x.repeat(ranks, 1, 1))
    my_inputs, my_others = results(synchronized(ours, CPU), x)
    for mine, own in zip(my_inputs, inputs, strict=True):  # of the sum of all ranks' losses, not of their mean
        assert torch.allclose(mine, own * ranks, atol=1e-12)
    for mine, own in zip(my_others, others, strict=True):
        assert torch.allclose(mine, own, atol=1e-12)


def test_it_goes_on_from_what_the_plain_one_had() -> None:
    model = nn.Sequential(TokenNorm(3))
    model(torch.randn(4, 2, 3))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    after = synchronized(model, CPU).state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_other_models_stay_as_they_are() -> None:
    model = nn.Sequential(nn.LayerNorm(3), nn.BatchNorm1d(3))
    parts = list(model)
    assert list(synchronized(model, CPU)) == parts
