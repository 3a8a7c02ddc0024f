"""Models, machines, and recipes that tests of plans share."""

from nccltool.plan import run
from nccltool.plan.hardware import Machine
from nccltool.plan.model import Experts, Model
from nccltool.plan.options import PlanOrder
from nccltool.plan.recipe import OPTIMIZERS, PRECISIONS, Recipe
from nccltool.plan.result import Plan
from nccltool.plan.search import Wanted

LLAMA_8B = Model(
    name="llama-3-8b",
    layers=32,
    width=4096,
    heads=32,
    kv_heads=8,
    head_width=128,
    hidden=14336,
    vocabulary=128256,
)
EXPERTS = Model(
    name="experts",
    layers=2,
    width=4,
    heads=2,
    kv_heads=2,
    head_width=2,
    hidden=8,
    vocabulary=10,
    experts=Experts(count=4, active=1, width=5),
)
"""Small enough to count by hand. A layer: attention 4 * 4 * 4 = 64, two norms 8, router 4 * 4 = 16, and 4 experts
of 3 * 4 * 5 = 60. Embedding 40, output 40, last norm 4. Without experts 2 * 88 + 84 = 260."""
H100 = Machine(
    name="h100",
    gpu="NVIDIA H100 80GB HBM3",
    memory_bytes=80 * 10**9,
    memory_bytes_per_s=3.35e12,
    matmul_flop_per_s=795e12,
    peak_flop_per_s=989e12,
    gpus=8,
    inside_bytes_per_s=360e9,
    inside_all_reduce_bytes_per_s=480e9,
    across_bytes_per_s=45e9,
    source="a test",
)


def recipe(global_batch: int, sequence: int = 8192, precision: str = "mixed", **others: object) -> Recipe:
    words = {"optimizer": OPTIMIZERS["adamw-fused"], **others}
    return Recipe(
        precision=PRECISIONS[precision],
        sequence=sequence,
        global_batch=global_batch,
        **words,  # type: ignore[arg-type]
    )


def plan(gpus: int = 64, model: Model = LLAMA_8B, machine: Machine = H100, **others: object) -> Plan:
    """Of four sequences per GPU, with the time for a trillion tokens."""
    order = PlanOrder(
        model=model,
        machine=machine,
        is_assumed=False,
        recipe=recipe(4 * gpus),
        wanted=Wanted(gpus=gpus, **others),  # type: ignore[arg-type]
        mfu=None,
        tokens=10**12,
    )
    return run.plan(order, ("nccltool", "plan"))
