"""Adapters against the formula, and what of a model is trained beside them."""

import pytest
import torch

from nccltool.train.job import TrainSpec
from nccltool.worker.train import lora, transformer
from nccltool.worker.train.lora import AdaptedLinear

pytestmark = pytest.mark.torch
ADAPTED = TrainSpec(strategies=("fsdp",), options={"lora": 2})


def test_an_adapter_adds_its_two_matrices() -> None:
    plain = torch.nn.Linear(6, 5)
    adapted = AdaptedLinear(plain, 2)
    x = torch.randn(3, 6)
    assert torch.equal(adapted(x), plain(x))
    with torch.no_grad():
        adapted.lora_b.copy_(torch.randn(5, 2))
    whole = plain.weight + adapted.lora_b @ adapted.lora_a
    torch.testing.assert_close(adapted(x), x @ whole.T + plain.bias)


def test_only_adapters_are_trained_beside_the_same_model() -> None:
    plain, adapted = transformer.make(TrainSpec(strategies=("fsdp",))), transformer.make(ADAPTED)
    named = dict(adapted.named_parameters())
    for name, parameter in plain.named_parameters():
        assert torch.equal(parameter, named.pop(name))
    assert {name.rpartition(".")[2] for name in named} == {"lora_a", "lora_b"}
    assert lora.trained(adapted) == list(named.values())
    assert len(named) == 2 * 2 * ADAPTED.layers
    assert sum(p.numel() for p in named.values()) == 4 * 2 * ADAPTED.width * ADAPTED.layers
