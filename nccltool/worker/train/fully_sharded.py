"""What strategies share whose parameters are those of FSDP2."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch.distributed.fsdp import FSDPModule

from nccltool.worker.train.strategies.base import DataParallel


class FullySharded(DataParallel):
    """FSDP2 reduces the gradients of the last micro-batch only, where it is told so before each."""

    HOLDS = "shards"

    def synchronising(self, is_last: bool) -> AbstractContextManager[Any]:
        assert isinstance(self.model, FSDPModule)
        self.model.set_requires_gradient_sync(is_last)
        return nullcontext()
