"""All ways to spread a model over a number of GPUs, without those that cannot be. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nccltool.plan.layout import ParallelLayout, Sharding, impossible
from nccltool.plan.model import Model
from nccltool.plan.recipe import RECOMPUTE, Recipe
from nccltool.train import pipeline_schedules

MICRO_BATCHES = (1, 2, 4, 8, 16)
LEAST_SLICE = 8192
"""Tokens: a shorter part of a sequence is no work for a GPU. Megatron-Bridge and torchtitan begin with context
parallelism at 16 to 32 Ki tokens."""
MOST_CONTEXT = 64
_SPLIT: tuple[Sharding, ...] = ("optimizer", "gradients", "parameters")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Degrees that are fixed; None: any."""

    gpus: int
    strategies: tuple[str, ...] = ()
    """Words such as ddp and fsdp; (): all."""
    tensor: int | None = None
    context: int | None = None
    pipeline: int | None = None
    expert: int | None = None
    schedule: str = "1f1b"


def shapes(model: Model, wanted: Wanted, sequence: int, gpus_per_node: int) -> Iterator[ParallelLayout]:
    """Degrees, whatever the batch. Tensor parallelism stays inside a node unless it is asked for."""
    for tensor, context, pipeline in _degrees(model, wanted, sequence, gpus_per_node):
        data = wanted.gpus // (tensor * context * pipeline)
        for stages in _stages(model, wanted.schedule, pipeline):
            base = ParallelLayout(
                tensor=tensor,
                context=context,
                pipeline=pipeline,
                schedule=wanted.schedule,
                stages_per_rank=stages,
            )
            for layout in _data_parallel(model, base, data, wanted, gpus_per_node):
                if not wanted.strategies or wanted.gpus == 1 or layout.strategy in wanted.strategies:
                    yield layout


def _stages(model: Model, schedule: str, pipeline: int) -> list[int | None]:
    """Of each rank: where a schedule takes any number, those that give all ranks as many layers as fewer would."""
    known = pipeline_schedules.SCHEDULES[schedule]
    if pipeline == 1 or known.least_stages < 2 or known.most_stages is not None:
        return [None]
    each = -(-model.layers // pipeline)
    even = [one for one in range(2, each + 1) if each % one == 0 and one * pipeline <= model.layers]
    return [*even] or [None]


def batches(shape: ParallelLayout, model: Model, recipe: Recipe) -> Iterator[tuple[ParallelLayout, ...]]:
    """Of a shape, each size of micro-batch from the smallest, with the ways to recompute from the least."""
    for micro_batch in [recipe.micro_batch] if recipe.micro_batch else MICRO_BATCHES:
        sized = replace(shape, micro_batch=micro_batch)
        if next(impossible(sized, model, recipe), None) is None:
            ways = [recipe.recompute] if recipe.recompute else RECOMPUTE
            yield tuple(replace(sized, recompute=recompute) for recompute in ways)


def _degrees(model: Model, wanted: Wanted, sequence: int, gpus_per_node: int) -> Iterator[tuple[int, int, int]]:
    slices = min(MOST_CONTEXT, max(1, sequence // LEAST_SLICE))
    for tensor in [wanted.tensor] if wanted.tensor else _divisors(wanted.gpus, gpus_per_node):
        for context in [wanted.context] if wanted.context else _powers(slices):
            for pipeline in [wanted.pipeline] if wanted.pipeline else _divisors(wanted.gpus, model.layers):
                if wanted.gpus % (tensor * context * pipeline) == 0:
                    yield tensor, context, pipeline


def _data_parallel(
    model: Model, base: ParallelLayout, data: int, wanted: Wanted, gpus_per_node: int
) -> Iterator[ParallelLayout]:
    """Ways to split the state; also replicas of shards that fit a node, where there is more than one node."""
    in_node = max(1, gpus_per_node // base.tensor)
    hybrid = [in_node] if 1 < in_node < data and data % in_node == 0 else []
    for expert in _expert_degrees(model, data * base.context, wanted):
        yield replace(base, replicate=data, expert=expert)
    if data * base.context == 1:
        return
    for sharding in _SPLIT:
        # ZeRO 2 reduces every micro-batch, and a pipeline has many of them
        if sharding == "gradients" and base.pipeline > 1:
            continue
        for shard in [data, *(hybrid if sharding == "parameters" else [])]:
            for expert in _expert_degrees(model, shard * base.context, wanted):
                yield replace(base, replicate=data // shard, shard=shard, sharding=sharding, expert=expert)


def _expert_degrees(model: Model, sharers: int, wanted: Wanted) -> list[int]:
    if wanted.expert:
        return [wanted.expert]
    return _divisors(sharers, model.experts.count) if model.experts else [1]


def _divisors(number: int, most: int) -> list[int]:
    return [one for one in range(1, min(number, most) + 1) if number % one == 0]


def _powers(most: int) -> list[int]:
    return [2**power for power in range(most.bit_length()) if 2**power <= most]
