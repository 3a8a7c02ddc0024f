"""The memory that a rank needs: the largest of a few instants of a step, never the sum of all. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nccltool.plan import activations, parameter_sizes, stages
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe, Recompute
from nccltool.plan.stages import StageWeights

RESERVED = 1.06
"""What torch's allocator reserves for each byte that is in use: fitted to four published runs of Llama 3 8B
(peaks of torch's memory tracker against torchtitan's tables), then right within 8 % for seven others
(docs/plan.md)."""
CONTEXT = 805_306_368
"""A CUDA context: 0.47 (lazy loading) to 0.92 GiB are published (ml-engineering); 0.75 GiB is assumed."""
FIRST_GROUP, MORE_GROUPS = 1_073_741_824, 536_870_912
"""Buffers of NCCL for a first communicator and for each other one: 1.6 GB with one and about 6 GB with three and
more are the most that users report (NVIDIA/nccl#864); a ring alone needs 9.2 MiB per channel and connection."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Bytes of the rank that needs most, at the instant of its peak. Terms that are 0 are not there then."""

    parameters: int
    gradients: int
    optimizer: int
    """Moments and master weights."""
    activations: int
    logits: int
    unsharded: int
    """Parameters that were gathered or cast, and gradients that wait to be reduced."""
    temporaries: int
    """Of the optimizer or the loss."""
    allocator: int
    """Reserved and not in use."""
    context: int
    communication: int
    """Buffers of NCCL."""
    instant: str
    pipeline_rank: int
    host: int = 0
    """Of host memory, for each rank: what is offloaded."""

    @property
    def allocated(self) -> int:
        """The peak of what torch has in use."""
        kept = self.parameters + self.gradients + self.optimizer + self.activations
        return kept + self.logits + self.unsharded + self.temporaries

    @property
    def reserved(self) -> int:
        """What torch takes from the device, as published tables show it."""
        return self.allocated + self.allocator

    @property
    def total(self) -> int:
        """Of the device."""
        return self.reserved + self.context + self.communication


@dataclass(frozen=True, kw_only=True, slots=True)
class _State:
    """Bytes that a rank has from the first step on."""

    parameters: int
    gradients: int
    optimizer: int
    temporary: int
    gathered: int
    """In addition between forward and backward pass."""
    working: int
    """In addition while a block is computed backward."""
    copies: int
    """In addition always."""
    unreduced: int
    """Whole gradients in place of the rank's part, until the end of the step."""
    host: int = 0
    """In host memory."""


def of(model: Model, layout: ParallelLayout, recipe: Recipe) -> Memory:
    """Of the rank of the pipeline that needs most."""
    count = layout.micro_batches(recipe)
    ranks = {0, layout.pipeline - 1, min(1, layout.pipeline - 1)}
    return max((of_rank(model, layout, recipe, rank, count) for rank in sorted(ranks)), key=lambda one: one.total)


def states_of(model: Model, layout: ParallelLayout, recipe: Recipe, rank: int) -> tuple[int, int, int]:
    """Bytes of parameters, gradients, and the optimizer that a rank has at the end of a step."""
    state = _state(model, stages.of_rank(model, layout, rank), layout, recipe, rank)
    return state.parameters, state.gradients, state.optimizer


def of_rank(model: Model, layout: ParallelLayout, recipe: Recipe, rank: int, micro_batches: int) -> Memory:
    weights = stages.of_rank(model, layout, rank)
    state = _state(model, weights, layout, recipe, rank)
    in_flight = stages.in_flight(layout, rank, micro_batches)
    peak = max(
        _instants(model, layout, recipe, weights, state, in_flight, micro_batches > 1, rank),
        key=lambda one: one.total,
    )
    blocks = 0 if peak.terms.get("gradients") else state.gradients  # their memory stays with the allocator
    names = ("parameters", "gradients", "optimizer", "activations", "logits", "unsharded", "temporaries")
    return Memory(
        **{name: peak.terms.get(name, 0) for name in names},
        allocator=int((peak.total + blocks) * RESERVED) - peak.total,
        context=CONTEXT,
        communication=_communication(weights, layout),
        instant=peak.name,
        pipeline_rank=rank,
        host=state.host,
    )


def _instants(
    model: Model,
    layout: ParallelLayout,
    recipe: Recipe,
    weights: StageWeights,
    state: "_State",
    in_flight: float,
    has_earlier: bool,
    rank: int,
) -> Iterator["_Instant"]:
    """`has_earlier`: gradients of earlier micro-batches are there from the beginning."""
    tokens = layout.micro_batch * recipe.sequence // layout.context
    is_last = stages.has_head(layout, rank)
    held = of_activations(model, weights, layout, recipe, in_flight, is_last)
    again = _recomputed(model, weights, layout, recipe, tokens)
    of_loss = tokens if is_last else 0
    ends = stages.ends_in_flight(layout, in_flight)
    accumulated = max(state.gradients, state.unreduced)
    earlier = accumulated if has_earlier else 0
    first = max(earlier, accumulated // max(weights.layers, 1))
    kept = {"parameters": state.parameters, "optimizer": state.optimizer}
    loss = {
        "gradients": earlier,
        "activations": held,
        "logits": int(activations.kept_logits(model, recipe) * of_loss * ends / layout.tensor),
        "unsharded": state.copies + state.gathered,
        "temporaries": activations.loss_temporaries(model, recipe) * of_loss // layout.tensor,
    }
    backward = {
        "gradients": first,
        "activations": held + again,
        "unsharded": state.copies + state.gathered + state.working,
    }
    end = {"gradients": accumulated, "activations": again, "unsharded": state.copies + state.working}
    step = {"gradients": state.gradients, "temporaries": state.temporary, "unsharded": state.copies}
    for name, terms in (("loss", loss), ("backward", backward), ("end of backward", end), ("optimizer", step)):
        yield _Instant(name, kept | terms)


@dataclass(frozen=True, slots=True)
class _Instant:
    name: str
    terms: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.terms.values())


def _state(model: Model, weights: StageWeights, layout: ParallelLayout, recipe: Recipe, rank: int) -> _State:
    precision, optimizer = recipe.precision, recipe.optimizer
    is_sharded = layout.sharding == "parameters"
    whole, own = weights.total, stages.share(weights, layout)
    if layout.sharding == "optimizer" and not precision.master:
        # torch deals out whole tensors, and some ranks have more; DeepSpeed and Megatron-LM cut them
        own = parameter_sizes.most_dealt(model, layout, rank)
    moment = precision.state if optimizer.state_bytes is None else optimizer.state_bytes
    # torch's pipelines gather and reduce once per step: whole parameters and gradients stay until its end
    stays = is_sharded and layout.pipeline > 1
    kept_gradients = own if layout.sharding in ("gradients", "parameters") else whole
    # FSDP gathers in the type of the arithmetic: the root for all of the pass, this block, and the next one
    block, root = precision.compute * weights.largest_block, precision.compute * weights.root
    gathered = (precision.compute * whole if stays else root) if is_sharded else 0
    reducing = (precision.compute + precision.reduced) * weights.largest_block
    casts = 0 if is_sharded or precision.parameter == precision.compute else precision.compute * whole
    state = _State(
        parameters=precision.parameter * (own if is_sharded else whole),
        gradients=precision.gradient * kept_gradients,
        optimizer=int((moment * optimizer.moments + precision.master) * own),
        temporary=int(precision.state * optimizer.temporary * own),
        gathered=gathered,
        working=(0 if stays else 3 * block) + reducing if is_sharded else 0,
        unreduced=precision.reduced * whole if stays else 0,
        copies=casts + _buckets(weights, layout, recipe),
    )
    return _offloaded(state, layout) if recipe.is_offloaded else state


def _offloaded(state: _State, layout: ParallelLayout) -> _State:
    """The optimizer's state, the gradients that a rank alone has, and with FSDP its parameters are on the host."""
    parameters = state.parameters if layout.sharding == "parameters" else 0
    gradients = state.gradients if layout.sharding in ("gradients", "parameters") else 0
    return replace(
        state,
        parameters=state.parameters - parameters,
        gradients=state.gradients - gradients,
        optimizer=0,
        temporary=0,
        host=state.optimizer + parameters + gradients,
    )


def _buckets(weights: StageWeights, layout: ParallelLayout, recipe: Recipe) -> int:
    """DDP has a second copy of the gradients, unless gradient_as_bucket_view is set; ZeRO 2 two buckets."""
    if layout.sharding == "gradients":
        return (
            2 * min(weights.total, 500_000_000) * recipe.precision.reduced
        )  # DeepSpeed's default reduce_bucket_size
    if layout.sharding == "parameters":
        return 0
    experts = stages.apart(weights, layout)
    dense = weights.total - experts if layout.data * layout.context > 1 else 0
    return recipe.precision.gradient * (dense + (experts if layout.expert_replicas > 1 else 0))


def of_activations(
    model: Model, weights: StageWeights, layout: ParallelLayout, recipe: Recipe, in_flight: float, is_last: bool
) -> int:
    """At the end of a forward pass, without logits. With tensor parallelism, sequence parallelism splits the rest
    of a layer too."""
    tokens = layout.micro_batch * recipe.sequence // layout.context
    with_experts = weights.expert_layers * _saved(model, layout, recipe, layout.recompute, True)
    plain = (weights.layers - weights.expert_layers) * _saved(model, layout, recipe, layout.recompute, False)
    end = 0.0
    if is_last:
        saved = activations.saved_at_the_end(model, recipe.precision, layout.is_autocast(recipe))
        end = saved.of(layout.tensor) * stages.ends_in_flight(layout, in_flight)
    return int(((with_experts + plain) * in_flight + end) * tokens)


def _saved(model: Model, layout: ParallelLayout, recipe: Recipe, recompute: Recompute, has_experts: bool) -> float:
    """Bytes per token of a layer on a rank."""
    is_autocast = layout.is_autocast(recipe)
    return activations.saved_by_layer(model, recipe.precision, recompute, has_experts, is_autocast).of(
        layout.tensor
    )


def _recomputed(model: Model, weights: StageWeights, layout: ParallelLayout, recipe: Recipe, tokens: int) -> int:
    """A block that is run forward again has all of its activations for a moment."""
    if layout.recompute == "none":
        return 0
    return int(_saved(model, layout, recipe, "none", bool(weights.expert_layers)) * tokens)


def _communication(weights: StageWeights, layout: ParallelLayout) -> int:
    degrees = (layout.replicate, layout.sharers if layout.sharding != "none" else layout.data * layout.context)
    same = layout.expert_sharers if layout.sharding != "none" else layout.expert_replicas
    experts = (layout.expert, same if stages.apart(weights, layout) else 1)
    groups = sum(one > 1 for one in (*degrees, layout.tensor, layout.pipeline, *experts))
    return FIRST_GROUP + (groups - 1) * MORE_GROUPS if groups else 0
