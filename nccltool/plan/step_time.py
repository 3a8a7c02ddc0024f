"""How long a step takes: arithmetic, the bubble of a pipeline, and the communication that nothing hides. Pure."""

from dataclasses import dataclass, replace

from nccltool.plan import activations, calls, hardware, parameter_sizes, pipeline_time, stages
from nccltool.plan.calls import CollectiveCalls
from nccltool.plan.hardware import Machine, RankGroup
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe

EFFICIENCY = (0.50, 0.60, 0.71)
"""Least, usual, and most of the fastest product that steps reach, without what they wait for: of published runs
on A100 and H100, Llama 3 8B (torchtitan 2024-12) 0.57, MPT 7B and 70B (llm-foundry) 0.58 and 0.71, GPT-3 175B
(arXiv 2205.05198) 0.61, MPT 13B 0.50."""
HIDDEN = 0.9
"""Of the time of arithmetic, how much communication can hide behind: the first block's gather and the last block's
reduction have nothing to hide behind, and both slow each other down. Primus assumes the same."""
HOST_UPDATE_BYTES_PER_S = 22e9
"""Of host memory, what the processors of a node reach for each of 8 GPUs while they update: Llama 3.1 405B with
FSDP and CPU offload on 64 H100 took 4 s for 14 bytes of each of 6.3 billion weights (Lambda's distributed training
guide, chapter 5)."""
_BANDWIDTH_DOUBT = 0.15
"""Bandwidths of machines with the same parts differ by this much in published tables."""
_FLOAT32_SLOWDOWN = 16
"""Of float32 products without TF32 against bfloat16: 67 of 989 TFLOP/s on H100, 19.5 of 312 on A100."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTime:
    """Calls of one kind, and their time."""

    calls: CollectiveCalls
    group: RankGroup
    seconds: float
    """Of a step, if nothing else ran."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTime:
    """Seconds of a step."""

    compute: float
    bubble: float
    exposed: float
    """Communication that nothing hides."""
    hidden: float
    optimizer: float
    calls: tuple[CallTime, ...]
    transfer: float = 0.0
    """Between GPU and host, as far as nothing hides it."""

    @property
    def total(self) -> float:
        return self.compute + self.bubble + self.exposed + self.optimizer + self.transfer


def of(
    model: Model,
    layout: ParallelLayout,
    recipe: Recipe,
    machine: Machine,
    efficiency: float,
    slower_links: float = 1.0,
) -> StepTime:
    """`efficiency`: share of the fastest product; `slower_links`: communication takes so many times as long."""
    count = layout.micro_batches(recipe)
    compute = _compute(model, layout, recipe, machine, efficiency)
    timed = tuple(_timed(one, layout, machine, slower_links) for one in calls.of(model, layout, recipe))
    of_attention = compute * (1 - model.flop_per_token(0) / model.flop_per_token(recipe.sequence))
    hideable = {
        "compute": 0.0 if machine.is_gloo else HIDDEN * compute,
        "attention": HIDDEN * of_attention,
    }
    exposed = _exposed(timed, hideable, layout)
    exposed += sum(
        _after_backward(one, model, layout, machine, compute * 2 / 3 / count, slower_links)
        for one in timed
        if one.calls.hides == "last backward"
    )
    bubble = 0.0
    if _is_played(layout, machine):
        bubble = _played(model, layout, timed, compute, count)
    elif layout.pipeline > 1:
        bubble = (compute + _critical(timed)) * stages.bubble(layout, count)
        exposed += _filling(timed, layout)
    return StepTime(
        compute=compute,
        bubble=bubble,
        exposed=exposed,
        hidden=max(0.0, sum(one.seconds for one in timed) - exposed),
        optimizer=_optimizer(model, layout, recipe, machine),
        calls=timed,
        transfer=_transfer(model, layout, recipe, machine, compute) if recipe.is_offloaded else 0.0,
    )


def is_measured(model: Model, layout: ParallelLayout, recipe: Recipe, machine: Machine) -> bool:
    """Whether a run measured all that a step calls, on such links."""
    groups = [(one, hardware.group_of(one, layout, machine.gpus)) for one in calls.of(model, layout, recipe)]
    return all(hardware.measured_of(one.operation, group, machine) for one, group in groups)


def interval(
    model: Model, layout: ParallelLayout, recipe: Recipe, machine: Machine, mfu: float | None
) -> tuple[float, float]:
    """From the best that is usual to the worst, for what is not known: how well layers and links are used."""
    known = None if mfu is None else efficiency_of(mfu, layout, machine)
    best, worst = (EFFICIENCY[2], EFFICIENCY[0]) if known is None else (known, known)
    fast = of(model, layout, recipe, machine, best, 1 - _BANDWIDTH_DOUBT).total
    return fast, of(model, layout, recipe, machine, worst, 1 + _BANDWIDTH_DOUBT).total


def efficiency_of(mfu: float, layout: ParallelLayout, machine: Machine) -> float:
    """The share of the fastest product at which arithmetic alone has this model FLOPs utilization."""
    repeated = 1 + activations.RECOMPUTED[layout.recompute] / 3
    return mfu * repeated * machine.peak_flop_per_s / machine.matmul_flop_per_s


def _compute(model: Model, layout: ParallelLayout, recipe: Recipe, machine: Machine, efficiency: float) -> float:
    """Of a rank with the most layers: model FLOPs, and what the backward pass repeats (a third is forward)."""
    repeated = 1 + activations.RECOMPUTED[layout.recompute] / 3
    uneven = -(-model.layers // layout.pipeline) * layout.pipeline / model.layers
    flop = model.flop_per_token(recipe.sequence) * recipe.tokens * repeated * uneven / layout.gpus
    if machine.training_flop_per_s is not None:
        return flop / machine.training_flop_per_s
    slower = _FLOAT32_SLOWDOWN if recipe.precision.compute == 4 else 1
    return flop * slower / (machine.matmul_flop_per_s * efficiency)


def _timed(one: CollectiveCalls, layout: ParallelLayout, machine: Machine, slower: float) -> CallTime:
    group = hardware.group_of(one, layout, machine.gpus)
    return CallTime(calls=one, group=group, seconds=hardware.seconds(one, group, machine) * slower)


def _critical(timed: tuple[CallTime, ...]) -> float:
    """What lengthens each micro-batch, and with it the bubble."""
    once = ("data", "replicate")  # at the end of a step
    return sum(one.seconds for one in timed if one.calls.hides == "nothing" and one.calls.axis not in once)


def _exposed(timed: tuple[CallTime, ...], hideable: dict[str, float], layout: ParallelLayout) -> float:
    waits = sum(one.seconds for one in timed if one.calls.hides == "nothing")
    for behind, most in hideable.items():
        there = [one for one in timed if one.calls.hides == behind]
        # the first gather and the last reduction find nothing to hide behind
        ends = sum(one.seconds / one.calls.count for one in there)
        waits += max(sum(one.seconds for one in there) - most, ends)
    return waits


def _filling(timed: tuple[CallTime, ...], layout: ParallelLayout) -> float:
    """The first micro-batch on its way to the last stage, and back."""
    messages = [one for one in timed if one.calls.hides == "fill"]
    return sum(2 * (layout.pipeline - 1) * one.seconds / one.calls.count for one in messages)


def _after_backward(
    one: CallTime, model: Model, layout: ParallelLayout, machine: Machine, backward_s: float, slower: float
) -> float:
    """Of DDP's buckets: each is reduced once its gradients are there and the one before it is reduced. The
    embedding has the last gradients, and they take no time."""
    tensors = parameter_sizes.reduced(model, layout, 0)
    elements = max(1, sum(tensors))
    element_bytes = one.calls.bytes // elements
    sizes = parameter_sizes.bucket_sizes(tensors, element_bytes)
    products = max(1, elements - model.embedding_weights // layout.tensor) * element_bytes
    end, filled = 0.0, 0
    for size in sizes:
        filled += size
        ready = backward_s * min(1.0, filled / products)
        bucket = replace(one.calls, count=1, bytes=size)
        end = max(ready, end) + hardware.seconds(bucket, one.group, machine) * slower
    return max(0.0, end - backward_s)


def _is_played(layout: ParallelLayout, machine: Machine) -> bool:
    return machine.is_gloo and layout.pipeline > 1 and layout.schedule in pipeline_time.PLAYED


def _played(
    model: Model, layout: ParallelLayout, timed: tuple[CallTime, ...], compute_s: float, count: int
) -> float:
    """What a rank waits, for other stages and for messages."""
    of_stages = [stages.of_rank(model, layout, rank) for rank in range(layout.pipeline)]
    products = [one.total - (model.embedding_weights if rank == 0 else 0) for rank, one in enumerate(of_stages)]
    most = max(products)
    forward = [compute_s / count / 3 * one / most for one in products]
    message = sum(one.seconds / one.calls.count for one in timed if one.calls.hides == "fill")
    return pipeline_time.seconds(layout.schedule, forward, message, count) - compute_s


def _optimizer(model: Model, layout: ParallelLayout, recipe: Recipe, machine: Machine) -> float:
    """Its state, the parameters, and the gradients are read, and all but the gradients written, once."""
    precision = recipe.precision
    state = precision.state * recipe.optimizer.moments + precision.master
    touched = _own(model, layout) * (2 * state + 2 * precision.parameter + precision.gradient)
    return touched / (HOST_UPDATE_BYTES_PER_S if recipe.is_offloaded else machine.memory_bytes_per_s)


def _own(model: Model, layout: ParallelLayout) -> int:
    """Weights that a rank updates."""
    return stages.share(stages.of_rank(model, layout, 0), layout)


def _transfer(model: Model, layout: ParallelLayout, recipe: Recipe, machine: Machine, compute_s: float) -> float:
    """FSDP fetches its parameters before each gather, beside arithmetic; ZeRO its updated ones at the end.
    Gradients go the other way at the same time."""
    assert machine.pcie_bytes_per_s is not None, "options refuse machines without it"
    own, count = _own(model, layout), layout.micro_batches(recipe)
    if layout.sharding != "parameters":
        there = recipe.precision.gradient * (count if layout.sharding == "gradients" else 1)
        return own * (there + recipe.precision.parameter) / machine.pcie_bytes_per_s
    fetched = 2 * count * recipe.precision.parameter
    returned = count * recipe.precision.reduced
    seconds = own * max(fetched, returned) / machine.pcie_bytes_per_s
    return max(seconds - HIDDEN * compute_s, seconds / (2 * count * max(1, model.layers)))
