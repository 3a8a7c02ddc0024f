"""What arithmetic GPUs could do at most, and what a training's steps need of it.

Peaks are those of data sheets in FLOP/s, dense: where a sheet gives the figure with sparsity, half of it.
float16 and bfloat16 are those of the tensor cores, which AMD calls matrix cores; float32 is that of the others, as
torch uses no TF32 for it unless it is told to.
"""

import re
from dataclasses import dataclass

from nccltool.train.job import TrainSpec
from nccltool.train.strategies import fsdp
from nccltool.train.strategies.base import ExpertOptions

_TERA = 1e12


@dataclass(frozen=True, slots=True)
class Peak:
    """Of one GPU, in a type of number."""

    flop_per_s: float
    source: str


@dataclass(frozen=True, slots=True)
class _Model:
    pattern: str
    """In the name that the driver gives it; the first that fits counts."""
    half: float
    single: float
    sheet: str
    has_bfloat16: bool = True
    maker: str = "NVIDIA"


_MODELS = (
    _Model(r"\bGB200\b", 2500, 80, "GB200 NVL72"),
    _Model(r"\bB200\b", 2250, 75, "HGX B200"),
    _Model(r"\bH200 NVL\b", 835.5, 60, "H200 NVL"),
    _Model(r"\bG?H200\b", 989.5, 67, "H200, GH200"),
    _Model(r"\bH100 NVL\b", 835.5, 60, "H100 NVL"),
    _Model(r"\bH100 PCIe\b", 756.5, 51, "H100 PCIe"),
    _Model(r"\bH[18]00\b", 989.5, 67, "H100 SXM"),
    _Model(r"\bA[18]00\b", 312, 19.5, "A100"),
    _Model(r"\bA40\b", 149.7, 37.4, "A40"),
    _Model(r"\bA30\b", 165, 10.3, "A30"),
    _Model(r"\bA10\b", 125, 31.2, "A10"),
    _Model(r"\bL40S\b", 362.05, 91.6, "L40S"),
    _Model(r"\bL40\b", 181.05, 90.5, "L40"),
    _Model(r"\bL4\b", 121, 30.3, "L4"),
    _Model(r"\bV100-PCIE\b", 112, 14, "V100 PCIe", has_bfloat16=False),
    _Model(r"\bV100\b", 125, 15.7, "V100 SXM2", has_bfloat16=False),
    _Model(r"\bT4\b", 65, 8.1, "T4", has_bfloat16=False),
    _Model(r"\bMI300X\b", 1307.4, 163.4, "Instinct MI300X", maker="AMD"),
    _Model(r"\bMI325X\b", 1307.4, 163.4, "Instinct MI325X", maker="AMD"),
    _Model(r"\bMI350X\b", 2306.9, 144.2, "Instinct MI350X", maker="AMD"),
    _Model(r"\bMI355X\b", 2516.6, 157.3, "Instinct MI355X", maker="AMD"),
)


def of(gpu_name: str, dtype: str) -> Peak | None:
    """The peak of a GPU in this type; None = it is not in the table."""
    if " MIG " in gpu_name:  # a slice of one
        return None
    model = next((model for model in _MODELS if re.search(model.pattern, gpu_name, re.IGNORECASE)), None)
    if model is None or dtype == "float64" or (dtype == "bfloat16" and not model.has_bfloat16):
        return None
    peak = model.single if dtype == "float32" else model.half
    return Peak(peak * _TERA, f"{model.maker}'s data sheet for {model.sheet}: {peak:g} TFLOP/s (dense, {dtype})")


def flop_per_token(spec: TrainSpec) -> int:
    """Of a forward and a backward pass, counted as in appendix B of the paper on PaLM.

    Six for each weight that a token is multiplied with (four where it has no gradient), and attention with its
    masked half. What activation checkpointing repeats does not count.
    """
    rank = spec.of(fsdp.Options).lora
    fed = spec.of(ExpertOptions).top_k if spec.experts else 1  # a token meets so many experts
    block = (4 + 8 * fed) * spec.width**2 + spec.experts * spec.width
    weights = spec.layers * block + spec.width * spec.vocabulary
    adapters = 4 * spec.layers * rank * spec.width  # two in a block, of two matrices each
    return (4 if rank else 6) * weights + 6 * adapters + 12 * spec.layers * spec.width * spec.context
