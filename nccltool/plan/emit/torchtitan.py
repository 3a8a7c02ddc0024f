"""The sections of a torchtitan configuration that a plan decides."""

import math

from nccltool.core.errors import BadInput
from nccltool.plan.emit import base
from nccltool.plan.result import Plan

_SCHEDULES = {
    "1f1b": "1F1B",
    "gpipe": "GPipe",
    "interleaved": "Interleaved1F1B",
    "zbv": "ZBVZeroBubble",
    "zero-bubble": "InterleavedZeroBubble",
}


def emit(plan: Plan) -> str:
    one = base.chosen(plan)
    layout = one.layout
    if layout.sharding in ("optimizer", "gradients"):
        raise BadInput(
            f"torchtitan has no {layout.strategy}", "use --strategy ddp, fsdp, or hsdp, or --emit deepspeed"
        )
    if plan.model.kv_heads % layout.tensor:
        raise BadInput(
            f"torchtitan cannot split {plan.model.kv_heads} key and value heads over tp {layout.tensor}",
            f"use --tp {math.gcd(plan.model.kv_heads, layout.tensor)}",
        )
    in_pipeline = layout.micro_batches(plan.recipe) if layout.pipeline > 1 else 1
    mode = {"none": '"none"', "selective": '"selective"', "full": '"full"'}[layout.recompute]
    return (
        f"{base.comment(plan)}\n"
        "[training]\n"
        f"local_batch_size = {layout.micro_batch * in_pipeline}\n"
        f"global_batch_size = {plan.recipe.global_batch}\n"
        f"seq_len = {plan.recipe.sequence}\n\n"
        "[parallelism]\n"
        f"data_parallel_replicate_degree = {layout.replicate}\n"
        f"data_parallel_shard_degree = {layout.shard}\n"
        f"tensor_parallel_degree = {layout.tensor}\n"
        f"context_parallel_degree = {layout.context}\n"
        f"pipeline_parallel_degree = {layout.pipeline}\n"
        f"expert_parallel_degree = {layout.expert}\n"
        f'pipeline_parallel_schedule = "{_SCHEDULES[layout.schedule]}"\n'
        f"{_layers_of_a_stage(plan)}"
        f"pipeline_parallel_microbatch_size = {layout.micro_batch}\n\n"
        "[activation_checkpoint]\n"
        f"mode = {mode}\n"
    )


def _layers_of_a_stage(plan: Plan) -> str:
    """torchtitan makes as many stages as there are so many layers."""
    layout = base.chosen(plan).layout
    if layout.pipeline == 1:
        return ""
    layers = -(-plan.model.layers // (layout.pipeline * layout.stages))
    return f"pipeline_parallel_layers_per_stage = {layers}\n"
