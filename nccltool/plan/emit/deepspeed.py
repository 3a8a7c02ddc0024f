"""The configuration of DeepSpeed's ZeRO."""

import json

from nccltool.core.errors import BadInput
from nccltool.plan.emit import base
from nccltool.plan.result import Plan

_STAGES = {"none": 0, "optimizer": 1, "gradients": 2, "parameters": 3}


def emit(plan: Plan) -> str:
    layout = base.chosen(plan).layout
    for word, degree in (("tensor", layout.tensor), ("context", layout.context), ("pipeline", layout.pipeline)):
        if degree > 1:
            raise BadInput(
                f"DeepSpeed's configuration has no {word} parallelism",
                "fix --tp 1 --cp 1 --pp 1, or use --emit torchtitan",
            )
    precision = plan.recipe.precision
    if precision.name not in ("amp", "fp32"):
        raise BadInput(
            f"DeepSpeed has 16-bit parameters with float32 master weights, or only float32, not {precision.name}",
            "use --training-precision amp or fp32",
        )
    config: dict[str, object] = {
        "train_batch_size": plan.recipe.global_batch,
        "train_micro_batch_size_per_gpu": layout.micro_batch,
        "gradient_accumulation_steps": layout.micro_batches(plan.recipe),
        "bf16": {"enabled": precision.compute == 2},
        "zero_optimization": {"stage": _STAGES[layout.sharding], "overlap_comm": True},
    }
    if layout.replicate > 1 and layout.sharding == "parameters":
        config["zero_optimization"] = {"stage": 3, "overlap_comm": True, "zero_hpz_partition_size": layout.shard}
    return json.dumps(config, indent=2) + "\n"
