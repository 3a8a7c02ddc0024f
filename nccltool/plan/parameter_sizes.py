"""The parameters of a rank one by one, as torch has them: what DDP puts into buckets, and ZeRO 1 deals out. Pure.

Exact for layers without experts and latent attention; of others, each layer is one matrix.
"""

import heapq
from collections.abc import Iterator
from functools import lru_cache

from nccltool.plan import stages
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model

FIRST_BUCKET, BUCKET = 2**20, 25 * 2**20
"""Bytes at which DDP closes its first and each other bucket (torch.nn.parallel.DistributedDataParallel)."""


def reduced(model: Model, layout: ParallelLayout, rank: int) -> tuple[int, ...]:
    """Of each tensor that all data-parallel ranks have: of experts that are split, they have different ones."""
    return _of(model, layout, rank, has_routed=not layout.has_expert_groups)


def of_experts(model: Model, layout: ParallelLayout, rank: int) -> tuple[int, ...]:
    """Of each tensor that only the ranks with the same experts have."""
    weights = stages.of_rank(model, layout, rank)
    experts = stages.apart(weights, layout)
    return (experts // weights.expert_layers,) * weights.expert_layers if experts else ()


def most_dealt(model: Model, layout: ParallelLayout, rank: int) -> int:
    """Elements of the rank that has most in ZeRO 1, where the ranks with the same experts deal those out."""
    experts = max(dealt(of_experts(model, layout, rank), layout.expert_sharers))
    return max(dealt(reduced(model, layout, rank), layout.sharers)) + experts


def of_rank(model: Model, layout: ParallelLayout, rank: int) -> tuple[int, ...]:
    """Elements of each tensor, in the order of their use in the forward pass."""
    return _of(model, layout, rank, has_routed=True)


def _of(model: Model, layout: ParallelLayout, rank: int, *, has_routed: bool) -> tuple[int, ...]:
    weights = stages.of_rank(model, layout, rank)
    is_first, is_last = rank == 0, stages.has_head(layout, rank)
    made: list[int] = []
    if is_first:
        made.append(model.vocabulary * model.width // layout.tensor)
        if model.positions:
            made.append(model.positions * model.width // layout.tensor)
    dense_layers = weights.layers - weights.expert_layers
    dense = [one for _ in range(dense_layers) for one in _layer(model, layout)]
    made += dense
    if weights.expert_layers:
        others = weights.blocks - sum(dense) + weights.routed * has_routed
        made += [others // weights.expert_layers] * weights.expert_layers
    if is_last:
        made += _norm(model)
        if not (model.is_tied and is_first):
            made.append(model.vocabulary * model.width // layout.tensor)
    return tuple(made)


def _norm(model: Model) -> list[int]:
    return [model.width] * (model.norm_weights // model.width)


def _layer(model: Model, layout: ParallelLayout) -> Iterator[int]:
    if model.latent or model.norms != 2:
        yield model.dense_layer_weights // layout.tensor
        return
    has_biases = model.block == "gpt"
    yield from _norm(model)
    for columns in (model.query_width, model.kv_width, model.kv_width):
        yield from _product(model.width, columns, has_biases, layout.tensor)
    yield from _product(model.query_width, model.width, has_biases, layout.tensor, splits_rows=True)
    yield from _norm(model)
    for _ in range(2 if model.is_gated else 1):
        yield from _product(model.width, model.hidden, has_biases, layout.tensor)
    yield from _product(model.hidden, model.width, has_biases, layout.tensor, splits_rows=True)


def _product(rows: int, columns: int, has_bias: bool, tensor: int, splits_rows: bool = False) -> Iterator[int]:
    yield rows * columns // tensor
    if has_bias:
        yield columns if splits_rows else columns // tensor


def buckets(elements: tuple[int, ...], element_bytes: int) -> int:
    """How many all-reduces DDP calls."""
    return len(bucket_sizes(elements, element_bytes))


@lru_cache(maxsize=256)
def bucket_sizes(elements: tuple[int, ...], element_bytes: int) -> tuple[int, ...]:
    """Bytes of each all-reduce of DDP: it fills buckets in the order in which gradients are ready, the last
    layer's first, and closes one that has reached its size. Of a product, the bias is ready before the weight."""
    closed: list[int] = []
    filled, most = 0, FIRST_BUCKET
    for one in reversed(elements):
        filled += one * element_bytes
        if filled >= most:
            closed.append(filled)
            filled, most = 0, BUCKET
    return (*closed, filled) if filled else tuple(closed)


@lru_cache(maxsize=256)
def dealt(elements: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    """Elements of each rank in ZeroRedundancyOptimizer: the largest first, each to the rank that has least."""
    heap = [(0, rank) for rank in range(ranks)]
    for one in sorted(elements, reverse=True):
        least, rank = heap[0]
        heapq.heapreplace(heap, (least + one, rank))
    return tuple(size for size, _ in sorted(heap, key=lambda pair: pair[1]))
