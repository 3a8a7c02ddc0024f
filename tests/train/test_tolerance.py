"""The tolerance of the oracle comes from the types in use, and says so."""

import pytest

from nccltool.train import tolerance
from nccltool.train.job import TrainSpec


@pytest.mark.parametrize(
    ("changes", "first", "reason"),
    [
        ({}, 64 * 2**-23, "step x 64 x 1.19e-07 (float32)"),
        ({"dtype": "float64"}, 64 * 2**-52, "step x 64 x 2.22e-16 (float64)"),
        (
            {"dtype": "bfloat16"},
            64 * 2**-23 + 2 * 2**-7,
            "step x 64 x 1.19e-07 (float32) + 2 x 0.00781 (bfloat16)",
        ),
        (
            {"options": {"comm_hook": "fp16"}},
            64 * 2**-23 + 2 * 2**-10,
            "step x 64 x 1.19e-07 (float32) + 2 x 0.000977 (float16)",
        ),
        (
            {"dtype": "bfloat16", "options": {"comm_hook": "bf16"}},
            64 * 2**-23 + 2 * 2**-7,
            "step x 64 x 1.19e-07 (float32) + 2 x 0.00781 (bfloat16)",
        ),
        (
            {"options": {"param_dtype": "bfloat16", "reduce_dtype": "float32"}},
            64 * 2**-23 + 2 * 2**-7,
            "step x 64 x 1.19e-07 (float32) + 2 x 0.00781 (bfloat16)",
        ),
        (
            {"options": {"param_dtype": "float16", "reduce_dtype": "bfloat16"}},
            64 * 2**-23 + 2 * 2**-10 + 2 * 2**-7,
            "step x 64 x 1.19e-07 (float32) + 2 x 0.000977 (float16) + 2 x 0.00781 (bfloat16)",
        ),
        (
            {"options": {"comm_hook": "powersgd"}},
            1024 * 2**-23,  # sqrt(4 x 64) times as much
            "step x 1024 x 1.19e-07 (float32); the reference compresses its gradients too (PowerSGD): "
            "how far that is from exact is not judged",
        ),
    ],
)
def test_it_is_derived_from_the_types(changes: dict[str, str], first: float, reason: str) -> None:
    allowed = tolerance.of(TrainSpec(strategies=("ddp",), **changes))  # type: ignore[arg-type]
    assert allowed == tolerance.Tolerance(first, reason)
    assert allowed.at(6) == 6 * first
