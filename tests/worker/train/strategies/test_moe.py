"""What a rank sends to experts elsewhere, counted."""

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from nccltool.train.job import TrainSpec
from nccltool.worker.train.strategies import build
from nccltool.worker.train.strategies.base import Setup
from tests.worker.train.fake_world import average, rank_of

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


@pytest.mark.parametrize("world", [2, 3, 8])
@pytest.mark.parametrize("top_k", [1, 2])
def test_bytes_of_a_forward_pass(world: int, top_k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the lengths, and of this rank's tokens; what it sends back depends on the others."""
    sent: list[int] = []
    original = dist.all_to_all_single

    def counted(into: torch.Tensor, out: torch.Tensor, *words: Any, **more: Any) -> Any:
        sent.append(out.nbytes)
        return original(into, out, *words, **more)

    with rank_of(world - 1, world) as tools:
        spec = TrainSpec(strategies=("moe",), options={"top_k": top_k})
        strategy = build(Setup("moe", spec, tools))
        assert isinstance(strategy.wrapper, DistributedDataParallel)
        strategy.wrapper.register_comm_hook(None, average)
        monkeypatch.setattr(dist, "all_to_all_single", counted)
        with torch.no_grad():
            strategy.model(strategy.my_part(strategy.setup.tokens(1))[:, :-1])
    tokens = spec.batch * spec.context * top_k * spec.width * 4
    assert (sent[::3], sent[1::3]) == ([8 * 8] * spec.layers, [tokens] * spec.layers)
