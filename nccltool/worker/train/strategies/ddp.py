"""DistributedDataParallel: every rank has the whole model, gradients are averaged by all_reduce in buckets.

A step of the default model on rank 0 of 4: 1 all_reduce, 939,520 bytes: 4 for each of the
234,880 gradients, in one bucket.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from nccltool.train.strategies.ddp import Options
from nccltool.worker.train import batch_norm, compression, gradients, halving
from nccltool.worker.train.compression import Compression
from nccltool.worker.train.strategies.base import CannotTrain, DataParallel, Setup


class Training(DataParallel):
    COLLECTIVES: ClassVar = {"forward": "broadcast of buffers", "backward": "all_reduce of the gradients"}

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        options = setup.spec.of(Options)
        if options.static_graph and options.accumulate > 1:  # an assertion inside of torch 2.13
            raise CannotTrain("DDP cannot skip synchronization (--accumulate) with --static-graph")
        # torch begins with a small bucket where no size is given
        as_torch_does = options.small_first and options.bucket_mib == Options().bucket_mib
        sized = {} if as_torch_does else {"bucket_cap_mb": options.bucket_mib}
        ddp = self.wrap_in_ddp(
            **sized,
            gradient_as_bucket_view=options.gradient_as_bucket_view,
            static_graph=options.static_graph,
        )
        self.optimizer = self.chosen_optimizer()
        if options.comm_hook == "fp16":
            ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
        elif options.comm_hook == "bf16":
            if setup.device.type != "cuda":
                raise CannotTrain("--comm-hook bf16 needs NCCL: torch refuses it on CPUs")
            ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)
        elif options.comm_hook == "powersgd":
            gradients.compress(ddp, None)
        elif options.comm_hook in compression.FORMS:
            self.compression = Compression(compression.FORMS[options.comm_hook], setup.world)
            ddp.register_comm_hook(self.compression, compression.exchange)

    def whole_model(self) -> nn.Sequential:
        return batch_norm.synchronized(super().whole_model(), self.setup.device)

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        if halving.is_asked_for(self.setup):
            return halving.forward_backward(self, tokens)
        return super().forward_backward(tokens)

    def has_whole_gradients(self) -> bool:
        """Only if they are what the average adds up: not compressed, halved on OOM, or normalized across ranks."""
        options = self.setup.spec.of(Options)
        return options.comm_hook == "none" and not options.halve_on_oom and not options.sync_batch_norm

    def reduce_gradients(self) -> None:
        if halving.is_asked_for(self.setup):
            halving.average(self)

    def waits(self) -> Mapping[str, str]:
        packed = {"backward": "all_gather of compressed gradients"} if self.compression else {}
        batch = (
            {"forward": "all_reduce of batch statistics"} if self.setup.spec.of(Options).sync_batch_norm else {}
        )
        return self.COLLECTIVES | packed | batch

    def carried(self) -> Mapping[str, Tensor]:
        kept = self.compression.residuals if self.compression else {}
        residuals = {name: kept[parameter] for name, parameter in self.named_parameters() if parameter in kept}
        running = {name: buffer for name, buffer in self.model.named_buffers() if buffer.is_floating_point()}
        return residuals | running
