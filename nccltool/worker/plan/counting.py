"""Trains a planned layout for a few steps on one rank of a fake group, and counts the last one."""

import contextlib
import gc
from collections import Counter as Tally
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from nccltool.plan import stages
from nccltool.plan.counted import CountedCalls, CountedRank
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe
from nccltool.worker.plan import assembled, counter, transformer
from nccltool.worker.plan.counter import Counter
from nccltool.worker.plan.transformer import PlannedStage
from nccltool.worker.train.pipeline_stages import CLASSES

STEPS = 3
"""DDP has its buckets from the second step on; one more is counted."""


def count(model: Model, layout: ParallelLayout, recipe: Recipe, rank: int) -> CountedRank:
    """`rank`: of the pipeline; of all other kinds, the first."""
    dist.init_process_group(
        "fake", store=FakeStore(), rank=rank * layout.gpus // layout.pipeline, world_size=layout.gpus
    )
    try:
        ranks = assembled.Ranks(layout)
        # DDP's C++ part needs memory behind its tensors; the ring is for GPUs, and only its shapes are known here
        fake = FakeTensorMode() if layout.context > 1 else contextlib.nullcontext()
        with fake:
            return _Rank(model, layout, recipe, rank, ranks).counted()
    finally:
        dist.destroy_process_group()


class _Alone(PipelineStage):
    """A stage whose neighbors do not answer: all know the shapes of what they exchange."""

    def _warmup_backward_result(self, received_result: Tensor | None = None) -> Tensor:
        return torch.ones(1, dtype=torch.int32)


class _Rank:
    def __init__(
        self, model: Model, layout: ParallelLayout, recipe: Recipe, rank: int, ranks: assembled.Ranks
    ) -> None:
        self._model, self._layout, self._recipe, self._rank, self._ranks = model, layout, recipe, rank, ranks
        self._batches = layout.micro_batches(recipe)
        self._tokens = recipe.sequence // layout.context
        self._last = last = layout.pipeline * layout.stages - 1
        self._numbers = stages.numbers(layout, rank)
        layers = stages.of_rank(model, layout, rank).layers
        each, rest = divmod(layers, len(self._numbers))
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32 if recipe.precision.parameter == 4 else torch.bfloat16)
        self._stages = [
            PlannedStage(model, each + (place < rest), number == 0, number == last, layout.recompute)
            for place, number in enumerate(self._numbers)
        ]
        torch.set_default_dtype(before)
        self._spread = [assembled.spread(stage, layout, recipe, ranks) for stage in self._stages]
        self._kept = 0

    def counted(self) -> CountedRank:
        parameters = [one for stage in self._stages for one in stage.parameters()]
        optimizer = self._optimizer(parameters)
        self._counter = Counter(parameters)
        for stage in self._stages:
            stage.register_forward_pre_hook(self._begin, prepend=True)
            # of the last stage before the logits
            if stage.head is None:
                stage.register_forward_hook(self._look)
            else:
                stage.head.score.register_forward_pre_hook(self._look)
        step = self._pipelined() if self._layout.pipeline > 1 else self._plain
        gradients = 0
        with self._counter, assembled.shared_loss(self._layout):
            for number in range(STEPS):
                self._counter.is_counting = number == STEPS - 1
                with assembled.lower(self._layout, self._recipe):  # it has its casts until it is left
                    step()
                _settle(parameters)
                gradients = counter.total(one.grad for one in parameters if one.grad is not None)
                optimizer.step()
                optimizer.zero_grad()
        inner = getattr(optimizer, "optim", optimizer)
        return CountedRank(
            calls=_together(self._counter),
            parameters=counter.total(parameters),
            gradients=gradients,
            optimizer=counter.total(counter.states(inner)),
            activations=self._kept,
        )

    def _begin(self, *_: Any) -> None:
        self._counter.is_forward = self._counter.is_counting

    def _look(self, *_: Any) -> None:
        """At the end of the forward pass of a micro-batch, before the logits."""
        self._counter.is_forward = False
        gc.collect()  # recomputation leaves circles behind, whose tensors are freed at any time
        now = [one for stage in self._stages for one in stage.parameters()]
        gradients = [one.grad for one in now if one.grad is not None]
        self._kept = max(self._kept, self._counter.left([*now, *gradients]))

    def _optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        name = self._recipe.optimizer.name
        kind: Any = torch.optim.AdamW if name.startswith("adamw") else torch.optim.SGD
        words: dict[str, Any] = {"lr": 1e-3, "foreach": False}
        if name == "sgd-momentum":
            words["momentum"] = 0.9
        if self._layout.sharding == "optimizer":
            group = self._ranks.data.get_group()
            return ZeroRedundancyOptimizer(parameters, kind, process_group=group, **words)
        made: torch.optim.Optimizer = kind(parameters, **words)
        return made

    def _plain(self) -> None:
        (model,) = self._spread
        for number in range(self._batches):
            is_last = number == self._batches - 1
            with contextlib.nullcontext() if is_last or not hasattr(model, "no_sync") else model.no_sync():
                tokens, targets = self._made(self._layout.micro_batch)
                transformer.loss_of(model(tokens), targets).backward()

    def _made(self, sequences: int) -> tuple[Tensor, Tensor]:
        shape = (sequences, self._tokens)
        return torch.zeros(shape, dtype=torch.int64), torch.zeros(shape, dtype=torch.int64)

    def _pipelined(self) -> Any:
        layout = self._layout
        group = self._ranks.mesh["pipeline"].get_group()
        made = [
            _Alone(model, number, self._last + 1, assembled.CPU, (self._example(number),),
                   (self._example(number + 1),), group=group)
            for number, model in zip(self._numbers, self._spread, strict=True)
        ]  # fmt: skip
        kind: Any = getattr(torch.distributed.pipelining, CLASSES[layout.schedule])
        is_single = layout.schedule in ("gpipe", "1f1b")
        schedule = kind(made[0] if is_single else made, self._batches, loss_fn=transformer.loss_of)

        def step() -> None:
            tokens, targets = self._made(layout.micro_batch * self._batches)
            words: dict[str, Any] = {"target": targets} if self._last in self._numbers else {}
            schedule.step(*((tokens,) if 0 in self._numbers else ()), return_outputs=False, **words)

        return step

    def _example(self, number: int) -> Tensor:
        """What goes into a stage, without numbers."""
        layout, precision = self._layout, self._recipe.precision
        if number == 0:
            return torch.empty(layout.micro_batch, self._tokens, dtype=torch.int64, device="meta")
        is_autocast = layout.is_autocast(self._recipe)
        is_end = number > self._last
        dtype = torch.float32 if precision.compute == 4 or (is_autocast and not is_end) else torch.bfloat16
        tokens = self._tokens // (1 if is_end else layout.tensor)
        width = self._model.vocabulary if is_end else self._model.width
        shape = (layout.micro_batch, tokens, width)
        return torch.empty(shape, dtype=dtype, device="meta", requires_grad=True)


def _settle(parameters: list[nn.Parameter]) -> None:
    """Gradients of parameters that ranks of tensor parallelism have whole are sums of what each of them has."""
    for one in parameters:
        if isinstance(one, DTensor) and isinstance(one.grad, DTensor):
            one.grad = one.grad.redistribute(placements=one.placements)


def _together(counted: Counter) -> tuple[CountedCalls, ...]:
    counts: Tally[tuple[str, int]] = Tally()
    sizes: Tally[tuple[str, int]] = Tally()
    for call in counted.calls:
        counts[call.operation, call.ranks] += 1
        sizes[call.operation, call.ranks] += call.bytes
    return tuple(
        CountedCalls(operation=operation, ranks=ranks, count=count, bytes=sizes[operation, ranks])
        for (operation, ranks), count in sorted(counts.items())
    )
