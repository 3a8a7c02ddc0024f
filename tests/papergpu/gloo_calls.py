"""What Gloo does for NCCL, in a thread of the device."""

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

_BUFFERED = 1 << 20
"""Bytes of a message that is under way when its receiver has not come yet: NCCL has buffers of some MiB."""
_MOVED_AS_BYTES = (torch.bool, torch.float8_e4m3fn, torch.float8_e5m2)


def wire(tensor: Tensor) -> Tensor:
    """As Gloo takes it."""
    tensor = tensor.detach()
    return tensor.view(torch.uint8) if tensor.dtype in _MOVED_AS_BYTES else tensor


def wires(tensors: Iterable[Tensor]) -> list[Tensor]:
    return [wire(tensor) for tensor in tensors]


def all_reduce(gloo: Any, tensors: list[Tensor], opts: Any) -> None:
    (tensor,) = tensors
    plain = dist.AllreduceOptions()
    plain.reduceOp = opts.reduceOp
    mean = opts.reduceOp == dist.ReduceOp.AVG and not tensor.is_floating_point()
    if mean:
        plain.reduceOp = dist.ReduceOp.SUM
    gloo.allreduce([tensor.detach()], plain).wait()
    if mean:
        tensor.detach().div_(gloo.size(), rounding_mode="trunc")


def reduce_scatter(gloo: Any, output: Tensor, together: Tensor, opts: Any) -> None:
    whole = together.clone()
    all_reduce(gloo, [whole], opts)
    count = output.numel()
    output.detach().view(-1).copy_(whole[gloo.rank() * count : (gloo.rank() + 1) * count])


def exchanged(gloo: Any, calls: Sequence[tuple[bool, Tensor, int]]) -> None:
    """All at once; a small message is on its way when its receiver has not come yet."""
    works = [gloo.recv([wire(tensor)], peer, 0) for is_send, tensor, peer in calls if not is_send]
    for is_send, tensor, peer in calls:
        if is_send and tensor.nbytes <= _BUFFERED:
            copy = [wire(tensor).clone()]
            threading.Thread(target=_sent, args=(gloo.send(copy, peer, 0), copy), daemon=True).start()
        elif is_send:
            works.append(gloo.send([wire(tensor)], peer, 0))
    for work in works:
        work.wait()


def _sent(work: Any, copy: list[Tensor]) -> None:
    """Holds the copy until it is through."""
    try:
        work.wait()
    except RuntimeError:  # nobody is there any more
        del copy
