"""Which collectives a step calls on a rank, how often, with how many bytes, and what they can hide behind. Pure.

Counts are those of torch 2.13 (docs/plan.md says how they were checked). Bytes are those of the whole tensor
that is handed over or gathered, on one rank, as nccl-tests counts them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nccltool.plan import parameter_sizes, stages
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe
from nccltool.plan.stages import StageWeights

Operation = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv"]
Axis = Literal["tensor", "context", "expert", "shard", "replicate", "data", "pipeline"]
Hides = Literal["compute", "attention", "last backward", "nothing", "fill"]
"""Behind what: all arithmetic of the step, that of attention, the backward pass of the last micro-batch,
nothing; or it only delays the first micro-batches of a pipeline."""
_LOSS_REDUCTIONS = 3
"""Of a loss whose logits are split: the largest of each token, the sum, and the target's."""
_SAME = ", between ranks that have the same ones"


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveCalls:
    """Calls of one kind in a step."""

    operation: Operation
    axis: Axis
    """Which ranks take part."""
    ranks: int
    count: int
    bytes: int
    """Of all calls together."""
    hides: Hides
    why: str
    of_experts: bool = False
    """Of FSDP: the ranks are those that have the same experts."""


def of(model: Model, layout: ParallelLayout, recipe: Recipe, rank: int = 0) -> tuple[CollectiveCalls, ...]:
    """`rank`: in the pipeline; the first has the most layers."""
    weights = stages.of_rank(model, layout, rank)
    count = layout.micro_batches(recipe)
    tokens = layout.micro_batch * recipe.sequence // layout.context
    activation = tokens * model.width * recipe.precision.compute
    # autocast leaves residuals, which travel between stages, in float32
    between = tokens * model.width * (4 if layout.is_autocast(recipe) else recipe.precision.compute)
    made = (
        *_data_parallel(model, weights, layout, recipe, count, rank),
        *_tensor(model, weights, layout, recipe, count, activation, rank),
        *_pipeline(layout, count, between, rank),
        *_context(model, weights, layout, recipe, count),
        *_experts(model, weights, layout, count, activation),
    )
    return tuple(calls for calls in made if calls.ranks > 1 and calls.count)


def _data_parallel(
    model: Model, weights: StageWeights, layout: ParallelLayout, recipe: Recipe, count: int, rank: int
) -> Iterator[CollectiveCalls]:
    """Experts that are split travel only between the ranks that have the same ones, as in Megatron-Core's expert
    data parallelism, DeepSpeed-MoE (arXiv 2201.05596), and torchtitan."""
    experts = stages.apart(weights, layout)
    if layout.sharding == "parameters":
        yield from _fully_sharded(weights, layout, recipe, count)
        return
    if layout.sharding == "gradients":
        yield from _split_gradients(weights, layout, recipe, count, of_experts=False)
        if experts:
            yield from _split_gradients(weights, layout, recipe, count, of_experts=True)
        return
    ranks = layout.data * layout.context
    reduced = parameter_sizes.reduced(model, layout, rank)
    yield CollectiveCalls(
        operation="all_reduce",
        axis="data",
        ranks=ranks,
        count=parameter_sizes.buckets(reduced, recipe.precision.gradient),
        bytes=recipe.precision.reduced * (weights.total - experts),
        hides="last backward",
        why="gradients, in buckets",
    )
    if experts:
        yield CollectiveCalls(
            operation="all_reduce",
            axis="replicate",
            ranks=layout.expert_replicas,
            count=1,
            bytes=recipe.precision.reduced * experts,
            hides="nothing",
            why=f"gradients of experts{_SAME}",
        )
    if layout.sharding == "optimizer":
        updated = "updated parameters, each from the rank that has its optimizer's state"
        yield _updated(recipe, "data", ranks, len(reduced), weights.total - experts, updated)
        of_experts = parameter_sizes.of_experts(model, layout, rank)
        why = f"updated parameters of experts{_SAME}"
        yield _updated(recipe, "replicate", layout.expert_replicas, len(of_experts), experts, why)


def _updated(recipe: Recipe, axis: Axis, ranks: int, count: int, weights: int, why: str) -> CollectiveCalls:
    """ZeRO 1: one call for each tensor."""
    return CollectiveCalls(
        operation="broadcast",
        axis=axis,
        ranks=ranks,
        count=count,
        bytes=recipe.precision.parameter * weights,
        hides="nothing",
        why=why,
    )


def _split_gradients(
    weights: StageWeights, layout: ParallelLayout, recipe: Recipe, count: int, *, of_experts: bool
) -> Iterator[CollectiveCalls]:
    """ZeRO 2: each micro-batch reduces its gradients to the ranks that have their optimizer's state."""
    experts = stages.apart(weights, layout)
    parts, elements = (
        (weights.expert_layers, experts) if of_experts else (weights.layers + 1, weights.total - experts)
    )
    axis: Axis = "replicate" if of_experts else "data"
    ranks = layout.expert_replicas if of_experts else layout.data * layout.context
    yield CollectiveCalls(
        operation="reduce_scatter",
        axis=axis,
        ranks=ranks,
        count=count * parts,
        bytes=count * recipe.precision.reduced * elements,
        hides="compute",
        why=f"gradients of experts in each micro-batch{_SAME}"
        if of_experts
        else "gradients of each micro-batch, to the rank that has them",
    )
    yield CollectiveCalls(
        operation="all_gather",
        axis=axis,
        ranks=ranks,
        count=parts,
        bytes=recipe.precision.parameter * elements,
        hides="nothing",
        why=f"updated parameters of experts{_SAME}" if of_experts else "updated parameters",
    )


def _fully_sharded(
    weights: StageWeights, layout: ParallelLayout, recipe: Recipe, count: int
) -> Iterator[CollectiveCalls]:
    """In a pipeline once per step; else each micro-batch gathers blocks twice, the root once, and reduces."""
    once = 0 if layout.ends_apart else 1  # the root, which is gathered once
    experts = stages.apart(weights, layout)
    parts, dense = weights.layers + 2 - once, weights.total - experts
    if layout.pipeline > 1:
        gathered = _Amount(count=parts, elements=dense)
    else:
        gathered = _Amount(count=2 * parts - once, elements=2 * dense - once * weights.root)
    yield from _sharded(layout, recipe, count, gathered, _Amount(count=parts, elements=dense), of_experts=False)
    if experts:
        parts = weights.expert_layers
        passes = 1 if layout.pipeline > 1 else 2
        gathered = _Amount(count=passes * parts, elements=passes * experts)
        each = _Amount(count=parts, elements=experts)
        yield from _sharded(layout, recipe, count, gathered, each, of_experts=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Amount:
    """How many calls for a micro-batch, and the elements of all of them."""

    count: int
    elements: int


def _sharded(
    layout: ParallelLayout,
    recipe: Recipe,
    count: int,
    gathered: _Amount,
    reduced: _Amount,
    *,
    of_experts: bool,
) -> Iterator[CollectiveCalls]:
    times = 1 if layout.pipeline > 1 else count
    ranks = layout.expert_sharers if of_experts else layout.sharers
    block = f"experts{_SAME}" if of_experts else "each block"
    passes = "their forward and their backward pass" if of_experts else "its forward and its backward pass"
    yield CollectiveCalls(
        operation="all_gather",
        axis="shard",
        ranks=ranks,
        count=times * gathered.count,
        bytes=times * recipe.precision.compute * gathered.elements,
        hides="compute",
        why=f"parameters of {block}, before {passes}",
        of_experts=of_experts,
    )
    yield CollectiveCalls(
        operation="reduce_scatter",
        axis="shard",
        ranks=ranks,
        count=times * reduced.count,
        bytes=times * recipe.precision.reduced * reduced.elements,
        hides="compute",
        why=f"gradients of {block}",
        of_experts=of_experts,
    )
    yield CollectiveCalls(
        operation="all_reduce",
        axis="replicate",
        ranks=layout.replicate,
        count=times * reduced.count,
        bytes=times * recipe.precision.reduced * reduced.elements // ranks,
        hides="compute",
        why="sharded gradients of experts, between replicas"
        if of_experts
        else "sharded gradients, between replicas",
        of_experts=of_experts,
    )


def _tensor(
    model: Model,
    weights: StageWeights,
    layout: ParallelLayout,
    recipe: Recipe,
    count: int,
    activation: int,
    rank: int,
) -> Iterator[CollectiveCalls]:
    """With sequence parallelism: two of each in a layer's forward pass, two in its backward pass; one of each
    around the embedding, and around the output projection."""
    is_last = stages.has_head(layout, rank)
    ends = (rank == 0) + is_last
    again = layout.recompute == "full"
    gathers, scatters = (6, 5) if again else (4, 4)
    for operation, each in (("all_gather", gathers), ("reduce_scatter", scatters)):
        calls = (each * weights.layers + ends) * count
        yield CollectiveCalls(
            operation="all_gather" if operation == "all_gather" else "reduce_scatter",
            axis="tensor",
            ranks=layout.tensor,
            count=calls,
            bytes=calls * activation,
            hides="nothing",
            why="activations around attention and the MLP of each layer",
        )
    tokens = activation // (model.width * recipe.precision.compute)
    vectors = model.norms * weights.layers + is_last
    # FSDP reduces gradients of each micro-batch, if it is in no pipeline
    times = count if layout.sharding == "parameters" and layout.pipeline == 1 else 1
    of_loss = _LOSS_REDUCTIONS * count if is_last else 0
    yield CollectiveCalls(
        operation="all_reduce",
        axis="tensor",
        ranks=layout.tensor,
        count=vectors * (model.norm_weights // model.width) * times + of_loss,
        bytes=vectors * model.norm_weights * times * recipe.precision.compute + of_loss * tokens * 4,
        hides="nothing",
        why="gradients of norms, and the loss",
    )


def _pipeline(layout: ParallelLayout, count: int, activation: int, rank: int) -> Iterator[CollectiveCalls]:
    calls = stages.messages(layout, rank) * count
    yield CollectiveCalls(
        operation="send_recv",
        axis="pipeline",
        ranks=layout.pipeline,
        count=calls,
        bytes=calls * activation // layout.tensor,
        hides="fill",
        why="activations to the next stage, and their gradients back",
    )


def _context(
    model: Model, weights: StageWeights, layout: ParallelLayout, recipe: Recipe, count: int
) -> Iterator[CollectiveCalls]:
    """Keys and values go round the ring: forward once, backward again, and their gradients all the way home."""
    tokens = layout.micro_batch * recipe.sequence // layout.context
    wide = model.kv_width if not model.latent else model.latent.key_value_rank + model.latent.rotary
    elements = 2 * tokens * wide // layout.tensor * weights.layers * count
    data, gradients = 2 * (layout.context - 1), layout.context  # rounds; gradients are in float32
    yield CollectiveCalls(
        operation="send_recv",
        axis="context",
        ranks=layout.context,
        count=(data + gradients) * weights.layers * count,
        bytes=elements * (data * recipe.precision.compute + gradients * 4),
        hides="attention",
        why="keys and values, around the ring",
    )


def _experts(
    model: Model, weights: StageWeights, layout: ParallelLayout, count: int, activation: int
) -> Iterator[CollectiveCalls]:
    """Lengths, tokens to their experts and back; backward, gradients; recomputation does the forward ones again.

    `nccltool train moe` calls the same. Experts are whole, and each rank of tensor parallelism sends its share of
    the tokens (`train tp+moe` splits experts instead, and each sends all).
    """
    if model.experts:
        forwards = (2 if layout.recompute == "full" else 1) * weights.expert_layers * count
        exchanges = 2 * forwards + 2 * weights.expert_layers * count
        yield CollectiveCalls(
            operation="all_to_all",
            axis="expert",
            ranks=layout.expert,
            count=forwards + exchanges,
            bytes=8 * model.experts.count * forwards
            + exchanges * activation * model.experts.active // layout.tensor,
            hides="nothing",
            why="tokens to their experts and back",
        )
