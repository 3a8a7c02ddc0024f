"""Cutting the model: into stages of a pipeline, and linear layers for tensor parallelism."""

from collections import OrderedDict
from collections.abc import Sequence

from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Placement, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from nccltool.worker.train import transformer
from nccltool.worker.train.strategies.base import CannotTrain, Setup


def cut(model: nn.Sequential, mesh: DeviceMesh, share_tokens: bool = False) -> None:
    """Share every block over a mesh of one dimension: by columns on the way in, by rows on the way out.

    `share_tokens`: between them, where every rank would do the same, each has some of the tokens instead.
    """
    columns, rows = ("query", "key", "value", "up"), ("out", "down")
    out = Shard(1) if share_tokens else Replicate()
    for part in model:
        if isinstance(part, transformer.Block):
            plan: dict[str, ParallelStyle] = {name: ColwiseParallel() for name in columns}
            plan |= {name: RowwiseParallel(output_layouts=out) for name in rows}
            there = dict(part.named_children())  # a block with experts feeds forward elsewhere
            parallelize_module(part, mesh, {name: style for name, style in plan.items() if name in there})
        if share_tokens:
            _share_tokens(part, mesh)


def _share_tokens(part: nn.Module, mesh: DeviceMesh) -> None:
    """The first part gives each rank its tokens; norms put them together again, for what follows them."""
    if isinstance(part, transformer.Embed):
        parallelize_module(part, mesh, _redistributed(Replicate(), Shard(1), is_local=True))
        return
    is_last = isinstance(part, transformer.Head)
    for name in ("norm",) if is_last else ("norm1", "norm2"):
        norm = part.get_submodule(name)
        parallelize_module(norm, mesh, SequenceParallel())
        parallelize_module(norm, mesh, _redistributed(Shard(1), Replicate(), is_local=is_last))


def _redistributed(of: Placement, to: Placement, is_local: bool) -> ParallelStyle:
    return PrepareModuleOutput(output_layouts=of, desired_output_layouts=to, use_local_output=is_local)


def stage(parts: Sequence[nn.Module], index: int, stages: int) -> nn.Sequential:
    """The parts of one stage, under the names that they have in the whole model."""
    first, last = (len(parts) * (index + end) // stages for end in (0, 1))
    return nn.Sequential(OrderedDict((str(number), parts[number]) for number in range(first, last)))


def mesh_of_shards(setup: Setup, share: int) -> DeviceMesh:
    """So many ranks share the parameters: two, or every rank has all. Raises CannotTrain."""
    if setup.world % share:
        raise CannotTrain(f"--shard hybrid needs an even number of ranks, not {setup.world}")
    shape = (setup.world // share, share)
    return init_device_mesh(setup.device.type, shape, mesh_dim_names=("replicate", "shard"))
