"""What is free for this rank before anything is measured, of its GPU and of its host."""

import torch

from nccltool.core.unknown import Unknown
from nccltool.hosts import free_memory
from nccltool.hosts.sources.base import Tree


def of_gpu(index: int | None) -> int | None:
    """Bytes, after what CUDA itself takes; None = no GPU, or one where CUDA fails, which is said elsewhere."""
    if index is None:
        return None
    try:
        return int(torch.cuda.mem_get_info(index)[0])
    except RuntimeError:
        return None


def of_host(tree: Tree = Tree()) -> int | None:  # noqa: B008 - it is frozen
    found = free_memory.of_host(tree)
    return None if isinstance(found, Unknown) else found
