"""DistributedDataParallel: every rank has the whole model, gradients are averaged by all_reduce in buckets."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from nccltool.worker.train import powersgd
from nccltool.worker.train.strategies.base import CannotTrain, DataParallel, Setup


class Training(DataParallel):
    COLLECTIVES: ClassVar = {"forward": "broadcast of buffers", "backward": "all_reduce of the gradients"}

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        spec = setup.spec
        if spec.static_graph and spec.accumulate > 1:  # an assertion inside of torch 2.13
            raise CannotTrain("DDP cannot leave out synchronisation (--accumulate) with --static-graph")
        self._ddp = DistributedDataParallel(
            self.whole_model(),
            device_ids=[setup.device] if setup.device.type == "cuda" else None,
            bucket_cap_mb=spec.bucket_mib,
            gradient_as_bucket_view=spec.gradient_as_bucket_view,
            static_graph=spec.static_graph,
        )
        self.model: nn.Module = self._ddp.module
        self.optimizer = self.sgd()
        self._register_hook()

    def _register_hook(self) -> None:
        setup, name = self.setup, self.setup.spec.comm_hook
        if name == "fp16":
            self._ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
        elif name == "bf16":
            if setup.device.type != "cuda":
                raise CannotTrain("--comm-hook bf16 needs NCCL: torch refuses it on CPUs")
            self._ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)
        elif name == "powersgd":
            powersgd.register(self._ddp, None)

    def scores(self, inputs: Tensor) -> Tensor:
        scores: Tensor = self._ddp(inputs)
        return scores

    def synchronising(self, is_last: bool) -> AbstractContextManager[Any]:
        return nullcontext() if is_last else self._ddp.no_sync()
