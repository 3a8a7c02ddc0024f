"""How far a training over many ranks may be from the same run in a single process, and why.

Both do the same sums in another order, and each sum of n terms is rounded in each addition. The part that a rank
sees of a step (its losses, its gradients, its parameters) may so be off by some roundings of the type in which it
was summed; an error of one step is carried into the next one. So, relative to the norm of the reference:

    tolerance at step s = s x the sum over the types in use of (roundings x unit of the last place)

What was measured (torch 2.13, Gloo, 2 and 4 ranks, float32): losses within 1e-6, parameters within 1.2e-7 after
six steps. The number of roundings leaves some ten times that, and a wrong share of one micro-batch in sixteen is
still a thousand times above it.
"""

import math
from dataclasses import dataclass
from typing import Literal

from nccltool.train.job import TrainSpec
from nccltool.train.strategies import ddp, fsdp

Products = Literal["exact", "made exact", "tf32"]
"""Of matrices in float32: as they are, made so for the comparison, or with TF32, which cannot be switched off."""

_BITS = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7, "tf32": 10}
_LAST_PLACE = {name: 2.0**-bits for name, bits in _BITS.items()}
"""TF32 has the 10 bits of float16 (NVIDIA A100 Tensor Core GPU Architecture, 2020)."""
_ROUNDINGS = {"float64": 64, "float32": 64, "float16": 2, "bfloat16": 2, "tf32": 2}
"""Of a short type: what is added in it is summed in float32; it is rounded when stored, on either side."""
_OF_A_SUM = 0.7
"""Times sqrt(ranks): roundings of a sum over ranks in a short type where each partial sum is rounded, as in a
ring. Their errors go either way, so that they grow by the square root. With the gradients of the smoke model they
were 1.3 at 64 ranks, 3.0 at 256 and 8.2 at 512 (bfloat16, test_rounded_sums.py): half of this."""
SHARE = 0.25
"""How far from 1 a micro-batch may count in a gradient that was added up in a short type: one that was lost counts
0, one that was doubled 2. The tolerance of the whole gradient would hide either among hundreds of ranks."""
SHARE_ERRORS = 6
"""And so many standard errors of that weight: among ten thousand, chance exceeds that once in 50,000 runs."""
_OF_HOOKS = {"fp16": "float16", "bf16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Relative to the reference."""

    of_first_step: float
    reason: str

    def at(self, number: int) -> float:
        """At the end of a step, counted from 1."""
        return number * self.of_first_step


_COMPRESSED = (
    "; the reference compresses its gradients too (PowerSGD), so the distance from exact gradients is not checked"
)
_COMPARED_TOO = "; the reference compresses its gradients too ({})"


def short_sum(spec: TrainSpec) -> str:
    """The short type in which gradients are added up over ranks; empty = none."""
    own = spec.of(fsdp.Options)
    name = _OF_HOOKS.get(spec.of(ddp.Options).comm_hook, "") or own.reduce_dtype or own.param_dtype
    return name if name in ("float16", "bfloat16") else ""


def of(spec: TrainSpec, ranks: int = 1, products: Products = "exact") -> Tolerance:
    sums = "float64" if spec.dtype == "float64" else "float32"
    hook, own = spec.of(ddp.Options).comm_hook, spec.of(fsdp.Options)
    used = (sums, spec.dtype, _OF_HOOKS.get(hook, ""), own.param_dtype, own.reduce_dtype)
    roundings = {name: float(_ROUNDINGS[name]) for name in used if name}
    if summed := short_sum(spec):
        roundings[summed] = max(roundings[summed], _OF_A_SUM * math.sqrt(ranks))
    if products == "tf32" and spec.dtype == "float32":
        roundings["tf32"] = _ROUNDINGS["tf32"]
    if hook == "powersgd":
        roundings[sums] = round(roundings[sums] * _amplified(spec))
    parts = [f"{count:.4g} x {_LAST_PLACE[name]:.3g} ({name})" for name, count in roundings.items()]
    value = sum(count * _LAST_PLACE[name] for name, count in roundings.items())
    note = _COMPRESSED if hook == "powersgd" else _COMPARED_TOO.format(hook) if hook in ddp.COMPRESSED else ""
    if products == "made exact":
        note += "; TF32 is off in these steps"
    return Tolerance(value, f"step x {' + '.join(parts)}{note}")


def _amplified(spec: TrainSpec) -> float:
    """How much longer the roundings of a gradient are beside what PowerSGD leaves of it.

    It multiplies a matrix by a vector in a random direction, which leaves one in sqrt(n) of its norm, n the length
    of a row; the longest rows are those of the second layer of a feed-forward part.
    """
    return math.sqrt(4 * spec.width)
