"""torch.distributed as the collectives see it (collectives.base.Comm), over the names of several releases."""

from typing import Any

import torch.distributed as dist
from torch import Tensor

REDUCE_OPS = {
    "sum": dist.ReduceOp.SUM,
    "prod": dist.ReduceOp.PRODUCT,
    "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX,
    "avg": dist.ReduceOp.AVG,
}

# 2.13 renamed these two; the old names still work there but warn.
_all_gather: Any = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
_reduce_scatter: Any = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


class TorchComm:
    """A process group; None = that of all ranks. On CUDA the calls return when the work is queued, on CPUs when it
    is done."""

    def __init__(self, reduce_op: str, group: "dist.ProcessGroup | None" = None) -> None:
        self.rank = dist.get_rank(group)
        self.world_size = dist.get_world_size(group)
        self._group, self._reduce_op = group, REDUCE_OPS[reduce_op]
        # torch 2.4 takes the numbers that ranks have in the job
        self._number = list(range(self.world_size)) if group is None else dist.get_process_group_ranks(group)
        # NCCL must queue both directions as one group or ranks wait for each other; Gloo needs no group.
        self._grouped = dist.get_backend(group) == "nccl"

    def all_reduce(self, tensor: Tensor) -> None:
        """Reduce in place, on all ranks."""
        dist.all_reduce(tensor, self._reduce_op, group=self._group)

    def all_gather(self, recv: Tensor, send: Tensor) -> None:
        _all_gather(recv, send, group=self._group)

    def reduce_scatter(self, recv: Tensor, send: Tensor) -> None:
        """Reduce `send`, keep this rank's chunk in `recv`."""
        _reduce_scatter(recv, send, self._reduce_op, group=self._group)

    def broadcast(self, tensor: Tensor, root: int) -> None:
        dist.broadcast(tensor, self._number[root], group=self._group)

    def reduce(self, tensor: Tensor, root: int) -> None:
        """Reduce in place, on the root."""
        dist.reduce(tensor, self._number[root], self._reduce_op, group=self._group)

    def gather(self, send: Tensor, parts: list[Tensor] | None, root: int) -> None:
        dist.gather(send, parts, self._number[root], group=self._group)

    def scatter(self, recv: Tensor, parts: list[Tensor] | None, root: int) -> None:
        dist.scatter(recv, parts, self._number[root], group=self._group)

    def all_to_all(self, recv: Tensor, send: Tensor) -> None:
        dist.all_to_all_single(recv, send, group=self._group)

    def all_to_all_v(self, recv: Tensor, send: Tensor, recv_counts: list[int], send_counts: list[int]) -> None:
        dist.all_to_all_single(recv, send, recv_counts, send_counts, group=self._group)

    def send(self, tensor: Tensor, to: int) -> None:
        dist.send(tensor, self._number[to], group=self._group)

    def recv(self, tensor: Tensor, source: int) -> None:
        dist.recv(tensor, self._number[source], group=self._group)

    def exchange(self, send: Tensor, to: int, recv: Tensor, source: int) -> None:
        """Send and receive at the same time."""
        for work in self.begin_exchange(send, to, recv, source):
            if work is not None:
                work.wait()

    def begin_exchange(self, send: Tensor, to: int, recv: Tensor, source: int) -> list[dist.Work | None]:
        """The same, while something else is computed: what to wait for in the end."""
        to, source, group = self._number[to], self._number[source], self._group
        if self._grouped:
            ops = [dist.P2POp(dist.isend, send, to, group), dist.P2POp(dist.irecv, recv, source, group)]
            return list(dist.batch_isend_irecv(ops))
        # the receive first: Gloo tells the peer that it may send on the same connection, and behind a message
        # of our own that would come when it is through: one direction after the other
        return [dist.irecv(recv, source, group), dist.isend(send, to, group)]
