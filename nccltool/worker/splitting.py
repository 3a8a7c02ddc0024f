"""Cutting the model: into stages of a pipeline, and linear layers for tensor parallelism."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from nccltool.worker import transformer
from nccltool.worker.trainings.base import Setup

COMPUTING = "computing a micro-batch"


def cut(model: nn.Sequential, mesh: DeviceMesh) -> None:
    """Share every block over a mesh of one dimension: by columns on the way in, by rows on the way out."""
    columns, rows = ("query", "key", "value", "up"), ("out", "down")
    for block in model:
        if isinstance(block, transformer.Block):
            plan = {name: ColwiseParallel() for name in columns} | {name: RowwiseParallel() for name in rows}
            parallelize_module(block, mesh, plan)


def stage(parts: Sequence[nn.Module], index: int, stages: int) -> nn.Sequential:
    """The parts of one stage, under the names that they have in the whole model."""
    first, last = (len(parts) * (index + end) // stages for end in (0, 1))
    return nn.Sequential(OrderedDict((str(number), parts[number]) for number in range(first, last)))


def note_computing(part: nn.Module, setup: Setup, phase: str) -> None:
    """While a stage computes, within a phase in which it otherwise waits, its rank waits for nobody."""

    def begin(module: nn.Module, inputs: Any) -> None:
        setup.outside(COMPUTING)

    def end(module: nn.Module, inputs: Any, output: Any) -> None:
        setup.waiting(phase)

    part.register_forward_pre_hook(begin)
    part.register_forward_hook(end)
