"""Memory that torch and the C library keep when a step has freed it."""

import torch

from nccltool.core import processes


def give_back(device: torch.device) -> None:
    """Return it, so that steps do not add up: what one has left in pieces, a larger one cannot use."""
    processes.give_back_free_memory()
    if device.type == "cuda":
        torch.cuda.empty_cache()
