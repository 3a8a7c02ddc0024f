"""Counts collectives, and what the forward pass leaves in memory, as torch dispatches operations."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass(frozen=True, slots=True)
class CountedCall:
    """A collective on this rank."""

    operation: str
    ranks: int
    bytes: int
    """Of the whole tensor, as nccl-tests counts them."""


_OPERATIONS = {
    "allreduce_": "all_reduce",
    "all_reduce": "all_reduce",
    "all_reduce_": "all_reduce",
    "_allgather_base_": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "_reduce_scatter_base_": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "broadcast_": "broadcast",
    "send": "send",
    "recv_": "recv",
    "all_to_all_single": "all_to_all",
}
"""Name of an operation of torch -> ours. Others that communicate are an error: they would be missing."""
_SILENT = ("wait_tensor", "_wrap_tensor_autograd", "barrier", "monitored_barrier_")


class UnknownCollective(Exception):
    """torch called a collective that is not counted."""


class Counter(TorchDispatchMode):
    """Counts while it is entered: calls where `is_counting`, tensors that are made where `is_forward`."""

    def __init__(self, frozen: Iterable[Tensor] = ()) -> None:
        """`frozen`: parameters, whose casts count as copies of weights."""
        super().__init__()
        self.calls: list[CountedCall] = []
        self.is_counting = self.is_forward = False
        self._alive: dict[int, StorageWeakRef] = {}
        self._weights = {local(one).untyped_storage()._cdata for one in frozen}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if any(issubclass(one, DTensor) for one in types):
            return NotImplemented  # what it does with the parts comes here then
        name = func.overloadpacket.__name__
        if func.namespace in ("c10d", "_c10d_functional") and name not in _SILENT and self.is_counting:
            self.calls.append(_counted(name, args))
        if name == "_allgather_base_":  # parameters, as FSDP gathers them
            self._weights.add(_key(args[0]))
        made = func(*args, **(kwargs or {}))
        if self.is_forward and func.namespace == "aten":
            self._note(name, args, made)
        return made

    def _note(self, name: str, args: tuple[Any, ...], made: Any) -> None:
        of_weight = name in ("_to_copy", "t", "view", "transpose", "detach", "alias") and any(
            isinstance(one, Tensor) and _key(one) in self._weights for one in args
        )
        for one in tree_leaves(made):
            if isinstance(one, Tensor):
                if of_weight:
                    self._weights.add(_key(one))
                elif (key := _key(one)) not in self._weights:
                    self._alive[key] = StorageWeakRef(local(one).untyped_storage())

    def left(self, but: Iterable[Tensor]) -> int:
        """Bytes of what was made since and is still there, without the storages of `but`."""
        without = {local(one).untyped_storage()._cdata for one in but} | self._weights
        alive = {key: one for key, one in self._alive.items() if not one.expired()}
        self._alive = alive
        return sum(_size(one) for key, one in alive.items() if key not in without)


def _size(one: StorageWeakRef) -> int:
    storage = torch.UntypedStorage._new_with_weak_ptr(one.cdata)
    return 0 if storage is None else int(storage.nbytes())


def _key(tensor: Tensor) -> int:
    return int(local(tensor).untyped_storage()._cdata)


def local(tensor: Any) -> Tensor:
    """A rank's part of a tensor that several share."""
    part: Tensor = getattr(tensor, "_local_tensor", tensor)
    return part


def _counted(name: str, args: tuple[Any, ...]) -> CountedCall:
    operation = _OPERATIONS.get(name)
    if operation is None:
        raise UnknownCollective(name)
    tensors = [one for one in tree_leaves(args) if isinstance(one, Tensor)]
    largest = max((one.numel() * one.element_size() for one in tensors), default=0)
    ranks = _ranks(args)
    if operation in ("all_gather", "reduce_scatter") and len(tensors) == 1:  # the functional ones
        largest *= ranks if operation == "all_gather" else 1
    if operation == "all_to_all":
        splits = [one for one in args if isinstance(one, list)]
        if splits and sum(part > 0 for part in splits[0]) == 1:  # to one rank: a ring
            operation = "send"
    return CountedCall(operation, ranks, largest)


def _ranks(args: tuple[Any, ...]) -> int:
    import torch.distributed as dist

    for one in reversed(args):
        if isinstance(one, str) and one:
            try:
                return int(dist.get_world_size(dist.distributed_c10d._resolve_process_group(one)))
            except (LookupError, RuntimeError, ValueError):
                continue
        if isinstance(one, torch.ScriptObject) and "ProcessGroup" in str(one._type()):
            return int(dist.ProcessGroup.unbox(one).size())
    return 0


def total(tensors: Iterable[Any]) -> int:
    """Bytes of a rank's parts."""
    return sum(math.prod(local(one).shape) * local(one).element_size() for one in tensors)


def states(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    """Of an optimizer, without its counters of steps."""
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, Tensor) and value.dim():
                yield value
