"""What a rank of a pipeline has: its layers, its share of the weights, and the micro-batches in flight. Pure."""

from dataclasses import dataclass

from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.train import pipeline_schedules


@dataclass(frozen=True, kw_only=True, slots=True)
class StageWeights:
    """Weights of one rank after tensor, pipeline, and expert parallelism, before data-parallel ranks split
    them."""

    blocks: int
    """Of its layers, without routed experts."""
    largest_block: int
    root: int
    """Embedding, output projection, and last norm, as far as it has them."""
    routed: int
    """Of the experts that it has."""
    layers: int
    expert_layers: int

    @property
    def total(self) -> int:
        return self.blocks + self.root + self.routed


def apart(weights: StageWeights, layout: ParallelLayout) -> int:
    """Of the weights those of experts, if not all data-parallel ranks have the same ones."""
    return weights.routed if layout.has_expert_groups else 0


def share(weights: StageWeights, layout: ParallelLayout) -> int:
    """Weights whose optimizer state a rank has. Experts are split over the ranks that have the same ones."""
    experts = apart(weights, layout)
    if layout.sharding == "none":
        return weights.total
    return -(-(weights.total - experts) // layout.sharers) + -(-experts // layout.expert_sharers)


def of_rank(model: Model, layout: ParallelLayout, rank: int) -> StageWeights:
    """`rank` in the pipeline. Layers that do not divide go to the first ranks."""
    each, rest = divmod(model.layers, layout.pipeline)
    layers = each + (rank < rest)
    dense_layers = model.layers - model.expert_layers
    before = rank * each + min(rank, rest)
    with_experts = layers - max(0, min(dense_layers, before + layers) - before)
    dense = (layers - with_experts) * _split(model, model.dense_layer_weights, layout)
    shared = with_experts * _split(model, model.shared_layer_weights, layout)
    routed = model.routed_layer_weights // layout.expert
    is_first, is_last = rank == 0, has_head(layout, rank)
    root = model.embedding_weights // layout.tensor if is_first else 0
    if is_last:
        root += (model.head_weights - model.norm_weights) // layout.tensor + model.norm_weights
        if model.is_tied and not is_first:  # both ends have the table
            root += model.vocabulary * model.width // layout.tensor
    largest = _split(model, model.shared_layer_weights, layout) + routed if with_experts else 0
    return StageWeights(
        blocks=dense + shared,
        largest_block=max(
            largest, _split(model, model.dense_layer_weights, layout) if layers > with_experts else 0
        ),
        root=root,
        routed=with_experts * routed,
        layers=layers,
        expert_layers=with_experts,
    )


def numbers(layout: ParallelLayout, rank: int) -> tuple[int, ...]:
    """Of the stages that a rank has, in the order of the layers."""
    last = layout.pipeline * layout.stages - 1
    if layout.schedule == "zbv" and layout.pipeline > 1:  # the second is on the way back
        return rank, last - rank
    return tuple(turn * layout.pipeline + rank for turn in range(layout.stages))


def has_head(layout: ParallelLayout, rank: int) -> bool:
    """Whether the last stage is a rank's: that of a V is the first rank's."""
    return layout.pipeline * layout.stages - 1 in numbers(layout, rank)


def messages(layout: ParallelLayout, rank: int) -> int:
    """What a rank sends for each micro-batch: each stage to the next one, and back, where another rank has it."""
    mine, last = numbers(layout, rank), layout.pipeline * layout.stages - 1
    to = [other for one in mine for other in (one - 1, one + 1) if 0 <= other <= last]
    return sum(other not in mine for other in to) if layout.pipeline > 1 else 0


def _split(model: Model, weights: int, layout: ParallelLayout) -> int:
    """Of a layer's weights, a rank's part of tensor parallelism: norms stay whole."""
    norms = model.norms * model.norm_weights
    return (weights - norms) // layout.tensor + norms


def in_flight(layout: ParallelLayout, rank: int, micro_batches: int) -> float:
    """Micro-batches whose activations of all its layers a rank has at once, at most.

    Counted in torch's own schedules (pipeline_order of torch 2.13).
    """
    ranks, chunks = layout.pipeline, layout.stages
    if ranks == 1:
        return 1
    if layout.schedule == "gpipe":
        return micro_batches
    if layout.schedule == "1f1b":
        return min(micro_batches, ranks - rank)
    if layout.schedule == "zbv":
        return min(micro_batches * chunks, 2 * ranks) / chunks
    if layout.schedule == "zero-bubble":  # a rank keeps each until the gradients of its weights are computed
        return min(micro_batches, ranks)
    return min(micro_batches * chunks, (chunks - 1) * ranks + 2 * (ranks - rank - 1) + 1) / chunks


def ends_in_flight(layout: ParallelLayout, in_flight: float) -> float:
    """Micro-batches whose logits the rank with the head has at once: of one stage, as many as of its layers; of
    several, the backward pass of the last one follows at once."""
    return in_flight if layout.stages == 1 else 1


def bubble(layout: ParallelLayout, micro_batches: int) -> float:
    """Time that a rank is idle, as a share of the time that it computes."""
    share = pipeline_schedules.bubble(layout.schedule, layout.pipeline, micro_batches, layout.stages)
    assert share is not None, "layouts whose micro-batches do not fill a schedule are left out"
    return share / (1 - share)
