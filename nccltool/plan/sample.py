"""A small model of the same kind, to count in a second what torch does for a layout; or why it cannot be. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe

_TOKENS = 128
"""Of a rank and sequence: few, and still many for each number that a layer keeps of a whole sequence."""
_MOST_SHARDS, _MOST_REPLICAS = 8, 2
"""More data-parallel ranks call the same."""


def refused(model: Model, layout: ParallelLayout, recipe: Recipe) -> Iterator[str]:
    """Why torch cannot show what this layout does."""
    if layout.sharding == "gradients":
        yield "torch itself has no ZeRO 2"
    if model.experts or model.latent or model.norms != 2:
        yield "only ordinary attention and MLPs, one after the other, are counted"
    if recipe.precision.master or recipe.optimizer.state_bytes:
        yield "torch itself has neither master weights nor 8-bit optimizers"
    if layout.tensor > 1 and model.kv_heads % layout.tensor:
        yield f"torch cannot split {model.kv_heads} key and value heads over tp {layout.tensor}"
    if layout.tensor > 1 and layout.is_autocast(recipe):
        yield "autocast and tensor parallelism are not counted together: use --training-precision bf16 or fp32"
    if layout.tensor > 1 and model.positions:
        yield "learned positions are not counted with tensor parallelism"
    if layout.context > 1 and layout.sharding != "parameters" and layout.data * layout.context > 1:
        yield "context parallelism is counted with fsdp only"


def sampled(model: Model, layout: ParallelLayout, recipe: Recipe) -> tuple[Model, ParallelLayout, Recipe]:
    """The degrees stay, but those of data-parallel ranks, which are at most 16."""
    replicate = min(layout.replicate, _MOST_REPLICAS if layout.sharding == "parameters" else _MOST_SHARDS)
    small = replace(layout, replicate=replicate, shard=min(layout.shard, _MOST_SHARDS), micro_batch=1)
    count = 2 * small.pipeline if small.pipeline > 1 else min(2, layout.micro_batches(recipe))
    sequence = 2 * _TOKENS * small.context
    batch = replace(recipe, sequence=sequence, global_batch=small.data * count, micro_batch=1)
    return _narrow(model, small, sequence), small, batch


def _narrow(model: Model, layout: ParallelLayout, sequence: int) -> Model:
    group = min(4, model.heads // model.kv_heads)
    kv_heads = max(layout.tensor, 2)
    heads = group * kv_heads
    head_width = 32 if heads <= 16 else 16
    width, unit = heads * head_width, 8 * layout.tensor
    return replace(
        model,
        name=f"a small {model.name}",
        layers=layout.pipeline * layout.stages if layout.pipeline > 2 else 4,
        width=width,
        heads=heads,
        kv_heads=kv_heads,
        head_width=head_width,
        hidden=max(1, round(model.hidden / model.width * width / unit)) * unit,
        vocabulary=64 * max(4, layout.tensor),
        positions=sequence if model.positions else 0,
    )
