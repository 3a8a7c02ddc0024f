"""Products of matrices in float32 that are not quite in float32: TF32, which variables and images switch on.

It rounds what is multiplied to 10 bits. Two sums of the same products in another order then differ by more than an
order of additions explains, and a real fault would be allowed as much.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping

import torch

from nccltool.train.tolerance import Products


def products(device: torch.device, env: Mapping[str, str] = os.environ) -> Products:
    """How the user has them: NVIDIA_TF32_OVERRIDE is for the libraries and cannot be undone in a process;
    TORCH_ALLOW_TF32_CUBLAS_OVERRIDE, which NGC's images set, only changes what torch begins with."""
    if device.type == "cuda" and env.get("NVIDIA_TF32_OVERRIDE", "0") not in ("", "0"):
        return "tf32"
    return "exact" if torch.get_float32_matmul_precision() == "highest" else "made exact"


@contextlib.contextmanager
def exact() -> Iterator[None]:
    """Products in float32 proper, as far as torch decides it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
