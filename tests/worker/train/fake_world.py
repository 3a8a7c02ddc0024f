"""A world of thousands of ranks in one process: torch's fake process group, in which calls return at once.

Their results are no sums, so that a training is not right in it; but it builds, steps, and makes the calls that
one of the ranks makes, which are counted.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import _redistribute
from torch.distributed.tensor.debug import _clear_sharding_prop_cache
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train.strategies.base import Strategy

CPU = torch.device("cpu")
_OPERATIONS = {
    "allreduce_": "all_reduce",
    "allgather_": "all_gather",
    "_allgather_base_": "all_gather",
    "_reduce_scatter_base_": "reduce_scatter",
    "alltoall_base_": "all_to_all",
    "broadcast_": "broadcast",
    "scatter_": "scatter",
    "recv_": "recv",
    "_wrap_tensor_autograd": "",
    "wait_tensor": "",
}
"""Names of c10d and of its functional form -> operation; empty = no call. Others are called as they are there."""


@contextlib.contextmanager
def rank_of(rank: int, world: int) -> Iterator[RankTools]:
    """This process as one rank of such a world."""
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield RankTools(CPU, ProgressPage(), Channel(-1, None), FaultInjector(None, 0))
    finally:
        dist.destroy_process_group()
        _clear_sharding_prop_cache()  # torch keeps the names of groups in these
        _redistribute._gen_transform_infos.cache_clear()


class Calls(TorchDispatchMode):  # type: ignore[misc]
    """Counts calls, and the bytes of their whole tensors, by operation."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()

    def __torch_dispatch__(self, call: Any, types: Any, words: Any = (), options: Any = None) -> Any:
        came = call(*words, **(options or {}))
        if call.namespace in ("c10d", "_c10d_functional"):
            name = call.name().partition("::")[2]
            operation = _OPERATIONS.get(name, name)
            if operation:
                self.counts[operation] += 1
                self.sizes[operation] += max(map(_size, (*words, came)))
            if operation == "all_to_all" and words[0].dtype == torch.int64:
                words[0].fill_(words[1].sum() // words[0].numel())  # lengths: all choose each expert as often
            if operation == "recv":
                for tensor in words[0]:  # stages vote by ones whether all know their shapes
                    tensor.fill_(1 if tensor.dtype == torch.int32 else 0)
        return came


def calls_of_a_step(strategy: Strategy) -> Calls:
    """The first step of a rank."""
    if isinstance(strategy.wrapper, DistributedDataParallel):
        strategy.wrapper.register_comm_hook(None, average)
    tokens = strategy.setup.tokens(1)
    strategy.clear()
    calls = Calls()
    with calls:
        strategy.forward_backward(tokens)
        strategy.reduce_gradients()
        strategy.unscale()
        strategy.update()
    return calls


def _size(part: Any) -> int:
    return sum(one.numel() * one.element_size() for one in tree_leaves(part) if isinstance(one, torch.Tensor))


def average(state: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A hook for DDP, whose own one waits for a future that the fake group does not have."""
    dist.all_reduce(bucket.buffer())
    done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done
