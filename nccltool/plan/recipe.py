"""How a model is trained: precision, optimizer, batch, and recomputation. Frozen."""

from dataclasses import dataclass
from typing import Literal

Recompute = Literal["none", "selective", "full"]
"""selective: as torchtitan's per-operation choice, which keeps attention and every second product; full: only the
input of a layer is saved."""
RECOMPUTE: tuple[Recompute, ...] = ("none", "selective", "full")


@dataclass(frozen=True, kw_only=True, slots=True)
class Precision:
    """Bytes of each kind of number per parameter, and of an activation."""

    name: str
    about: str
    parameter: int
    gradient: int
    master: int
    """A copy for the optimizer, beside the parameters; 0: none."""
    state: int
    """Of each moment of the optimizer."""
    compute: int
    """Of activations, and of parameters that are gathered."""
    reduced: int
    """Of gradients that travel."""


PRECISIONS = {
    one.name: one
    for one in (
        Precision(
            name="mixed",
            about="float32 parameters, bfloat16 arithmetic (FSDP2's mixed precision policy, autocast)",
            parameter=4,
            gradient=4,
            master=0,
            state=4,
            compute=2,
            reduced=4,
        ),
        Precision(
            name="amp",
            about="16-bit parameters and gradients with float32 master weights (ZeRO paper, DeepSpeed)",
            parameter=2,
            gradient=2,
            master=4,
            state=4,
            compute=2,
            reduced=2,
        ),
        Precision(
            name="megatron",
            about="bfloat16 parameters, float32 gradients and master weights (Megatron-LM)",
            parameter=2,
            gradient=4,
            master=4,
            state=4,
            compute=2,
            reduced=4,
        ),
        Precision(
            name="bf16",
            about="everything in bfloat16, without master weights",
            parameter=2,
            gradient=2,
            master=0,
            state=2,
            compute=2,
            reduced=2,
        ),
        Precision(
            name="fp32",
            about="everything in float32",
            parameter=4,
            gradient=4,
            master=0,
            state=4,
            compute=4,
            reduced=4,
        ),
    )
}
"""Sources: planning of memory in Megatron-LM (docs/user-guide/features/dist_optimizer.md), DeepSpeed
(runtime/zero/stage3.py), and the ZeRO paper (arXiv 1910.02054)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Optimizer:
    """What an optimizer has of each parameter."""

    name: str
    moments: float
    """States of the precision's size. adamw-8bit has two of one byte each."""
    temporary: float
    """Copies of what it updates while it works, of the precision's size of a state (foreach); fused: none."""
    state_bytes: int | None = None
    """Of a moment, whatever the precision says."""


OPTIMIZERS = {
    one.name: one
    for one in (
        Optimizer(name="adamw", moments=2, temporary=1),
        Optimizer(name="adamw-fused", moments=2, temporary=0),
        Optimizer(name="adamw-8bit", moments=2, temporary=0, state_bytes=1),
        Optimizer(name="sgd-momentum", moments=1, temporary=1),
        Optimizer(name="sgd", moments=0, temporary=0),
    )
}
"""Measured with torch's memory tracker; `foreach` is torch's default on GPUs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What every strategy has to do alike."""

    precision: Precision
    optimizer: Optimizer
    sequence: int
    """Tokens of a sequence."""
    global_batch: int
    """Sequences of a step, over all GPUs."""
    recompute: Recompute | None = None
    """None: the least that fits."""
    micro_batch: int | None = None
    """Sequences of a forward pass on a GPU; None: what is fastest of what fits."""
    is_loss_compiled: bool = False
    """A compiled (or chunked) loss keeps no float32 logits."""
    is_offloaded: bool = False
    """Ranks that split their state have it in host memory, and update it there: parameters too with FSDP."""

    @property
    def tokens(self) -> int:
        """Of a step."""
        return self.global_batch * self.sequence
