"""What a rank hands on around the ring, counted."""

from typing import Any

import pytest
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from nccltool.train.job import TrainSpec
from nccltool.worker.probe.comm import TorchComm
from nccltool.worker.train.strategies import build
from nccltool.worker.train.strategies.base import Setup
from tests.worker.train.fake_world import average, rank_of

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("world", [2, 4, 8])
def test_bytes_of_a_step(world: int, prefetch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values to the next rank, n-1 times in each block; gradients as often the other way."""
    handed: list[tuple[int, int]] = []

    def counted(ring: TorchComm, send: Tensor, to: int, recv: Tensor, source: int) -> list[None]:
        assert (to - ring.rank) % world == (ring.rank - source) % world
        handed.append(((to - ring.rank) % world, send.nbytes))
        recv.copy_(send)
        return []

    monkeypatch.setattr(TorchComm, "begin_exchange", counted)
    with rank_of(world - 1, world) as tools:
        asked = TrainSpec(strategies=("ring",), options={"prefetch": prefetch})
        strategy: Any = build(Setup("ring", asked, tools))
        spec = strategy.setup.spec
        assert isinstance(strategy.wrapper, DistributedDataParallel)
        strategy.wrapper.register_comm_hook(None, average)
        strategy.forward_backward(strategy.setup.tokens(1))
    size = 2 * spec.batch * world * spec.width * spec.context // world * 4
    times = spec.layers * (world - 1)
    assert handed == [(1, size)] * times + [(world - 1, size)] * times
