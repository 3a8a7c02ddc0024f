"""A planned layout in torch: the model of one rank, spread as plans assume it."""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from nccltool.plan.layout import ParallelLayout
from nccltool.plan.recipe import Recipe
from nccltool.worker.plan import ring
from nccltool.worker.plan.transformer import PlannedStage

CPU = torch.device("cpu")


class Ranks:
    """The ranks of a layout: which of them are groups, of one rank's view."""

    def __init__(self, layout: ParallelLayout) -> None:
        shape = (layout.pipeline, layout.replicate, layout.shard, layout.context, layout.tensor)
        names = ("pipeline", "replicate", "shard", "context", "tensor")
        self.mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
        self.sharers = self._flat("shard", "context")
        self.data = self._flat("replicate", "shard", "context")
        self.hybrid = None
        if layout.replicate > 1:
            self.hybrid = DeviceMesh.from_group(
                [self.mesh["replicate"].get_group(), self.sharers.get_group()],
                "cpu",
                mesh=torch.arange(layout.replicate * layout.sharers).view(layout.replicate, layout.sharers),
                mesh_dim_names=("replicates", "sharers"),
            )

    def _flat(self, *names: str) -> DeviceMesh:
        return self.mesh[names]._flatten("_".join(names))


def spread(stage: PlannedStage, layout: ParallelLayout, recipe: Recipe, ranks: Ranks) -> nn.Module:
    """The stage as this rank has it."""
    if layout.tensor > 1:
        _cut(stage, ranks.mesh["tensor"])
    if layout.context > 1:
        for block in stage.blocks:
            block.attend = ring.attention(ranks.mesh["context"])
    if layout.sharding == "parameters":
        _shard(stage, layout, recipe, ranks)
    elif layout.data * layout.context > 1:
        wrapped = DistributedDataParallel(stage, process_group=ranks.data.get_group())
        wrapped.register_comm_hook(None, _reduce)
        return wrapped
    return stage


def _reduce(_: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """What DDP does by itself, where a group answers: a fake one returns nothing that its C++ part could wait for.

    Annotations of a hook are read at run time.
    """
    dist.all_reduce(bucket.buffer(), group=None)
    done: torch.futures.Future[Tensor] = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


def _cut(stage: PlannedStage, mesh: DeviceMesh) -> None:
    """With sequence parallelism between the products, as torchtitan."""
    whole = PrepareModuleOutput(
        output_layouts=Shard(1), desired_output_layouts=Replicate(), use_local_output=False
    )
    if stage.embedding is not None:
        given = RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))
        parallelize_module(stage.embedding, mesh, {"token": given})
    for block in stage.blocks:
        plan: dict[str, Any] = {name: ColwiseParallel() for name in ("query", "key", "value", "up")}
        if block.gate is not None:
            plan["gate"] = ColwiseParallel()
        plan |= {name: RowwiseParallel(output_layouts=Shard(1)) for name in ("out", "down")}
        plan |= {name: SequenceParallel() for name in ("norm1", "norm2")}
        parallelize_module(block, mesh, plan)
        for name in ("norm1", "norm2"):
            parallelize_module(block.get_submodule(name), mesh, whole)
    if stage.head is not None:
        scores = ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)
        parallelize_module(stage.head, mesh, {"norm": SequenceParallel(), "score": scores})


def _shard(stage: PlannedStage, layout: ParallelLayout, recipe: Recipe, ranks: Ranks) -> None:
    """Each block by itself, and the rest together; in a pipeline, nothing is given back until the step ends."""
    precision = recipe.precision
    types = {2: torch.bfloat16, 4: torch.float32}
    policy = MixedPrecisionPolicy(param_dtype=types[precision.compute], reduce_dtype=types[precision.reduced])
    mesh = ranks.sharers if ranks.hybrid is None else ranks.hybrid
    keep = layout.pipeline == 1
    for block in stage.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=keep)
    fully_shard(stage, mesh=mesh, mp_policy=policy, reshard_after_forward=False)


def lower(layout: ParallelLayout, recipe: Recipe) -> AbstractContextManager[Any]:
    """Arithmetic in a short type, where parameters are in a long one and FSDP does not cast them."""
    return torch.autocast("cpu", torch.bfloat16) if layout.is_autocast(recipe) else contextlib.nullcontext()


@contextlib.contextmanager
def shared_loss(layout: ParallelLayout) -> Iterator[None]:
    """The loss of logits that ranks of tensor parallelism share."""
    with loss_parallel() if layout.tensor > 1 else contextlib.nullcontext():
        yield
