"""Memory of this rank: what is free, what torch and the C library keep when a step has freed it, and its end."""

import zlib

import torch

from nccltool.core import processes
from nccltool.hosts import free_memory
from nccltool.hosts.facts import or_none
from nccltool.hosts.sources import net
from nccltool.hosts.sources.base import Tree

_NO_MEMORY_ON_CPU = "DefaultCPUAllocator"
"""In the text of the RuntimeError that torch raises there."""


def give_back(device: torch.device) -> None:
    """Return it, so that steps do not add up: what one has left in pieces, a larger one cannot use."""
    processes.give_back_free_memory()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def free(device: torch.device, tree: Tree = Tree()) -> int | None:  # noqa: B008 - it is frozen
    """Bytes, also those that torch's allocator holds and nobody uses; None = not known."""
    if device.type != "cuda":
        return or_none(free_memory.of_host(tree))
    unused: int = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + unused


def free_before_start(index: int | None) -> int | None:
    """Bytes of a GPU, after what CUDA itself takes; None = no GPU, or one where CUDA fails, which is said
    elsewhere."""
    if index is None:
        return None
    try:
        return int(torch.cuda.mem_get_info(index)[0])
    except RuntimeError:
        return None


def place(device: torch.device) -> int:
    """The same number for ranks that share this memory."""
    name = net.host_id()
    if device.type == "cuda":
        name += f" {getattr(torch.cuda.get_device_properties(device), 'uuid', device)}"
    return zlib.crc32(name.encode())


def ran_out(error: BaseException) -> bool:
    """Whether it was memory that the program lacked."""
    return isinstance(error, MemoryError | torch.cuda.OutOfMemoryError) or _NO_MEMORY_ON_CPU in str(error)
