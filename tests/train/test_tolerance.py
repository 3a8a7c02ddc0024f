"""The tolerance of the oracle comes from the types in use, and says so."""

import pytest

from nccltool.train import tolerance
from nccltool.train.job import TrainSpec
from nccltool.train.tolerance import Products


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
            "step x 1024 x 1.19e-07 (float32); the reference compresses its gradients too (PowerSGD), so "
            "the distance from exact gradients is not checked",
        ),
        (
            {"options": {"comm_hook": "int8"}},
            64 * 2**-23,
            "step x 64 x 1.19e-07 (float32); the reference compresses its gradients too (int8)",
        ),
    ],
)
def test_it_is_derived_from_the_types(changes: dict[str, str], first: float, reason: str) -> None:
    allowed = tolerance.of(TrainSpec(strategies=("ddp",), **changes))  # type: ignore[arg-type]
    assert allowed == tolerance.Tolerance(first, reason)
    assert allowed.at(6) == 6 * first


BF16_HOOK = TrainSpec(strategies=("ddp",), options={"comm_hook": "bf16"})


@pytest.mark.parametrize(
    ("spec", "short"),
    [
        (BF16_HOOK, "bfloat16"),
        (TrainSpec(strategies=("ddp",), options={"comm_hook": "powersgd"}), ""),
        (TrainSpec(strategies=("fsdp",), options={"param_dtype": "float16"}), "float16"),
        (TrainSpec(strategies=("fsdp",), options={"param_dtype": "float16", "reduce_dtype": "float32"}), ""),
        (TrainSpec(strategies=("ddp",), dtype="bfloat16"), ""),
    ],
)
def test_the_short_type_of_a_sum(spec: TrainSpec, short: str) -> None:
    assert tolerance.short_sum(spec) == short


@pytest.mark.parametrize(("ranks", "roundings"), [(1, 2), (8, 2), (64, 5.6), (512, 15.839191898578665)])
def test_a_sum_in_a_short_type_is_off_by_the_root_of_its_ranks(ranks: int, roundings: float) -> None:
    allowed = tolerance.of(BF16_HOOK, ranks)
    assert allowed.of_first_step == pytest.approx(64 * 2**-23 + roundings * 2**-7)
    assert allowed.reason == f"step x 64 x 1.19e-07 (float32) + {roundings:.4g} x 0.00781 (bfloat16)"


@pytest.mark.parametrize(
    ("dtype", "products", "first", "reason"),
    [
        ("float32", "tf32", 64 * 2**-23 + 2 * 2**-10, "step x 64 x 1.19e-07 (float32) + 2 x 0.000977 (tf32)"),
        ("float32", "made exact", 64 * 2**-23, "step x 64 x 1.19e-07 (float32); TF32 is off in these steps"),
        ("float64", "tf32", 64 * 2**-52, "step x 64 x 2.22e-16 (float64)"),
    ],
)
def test_tf32_is_switched_off_or_allowed_for(dtype: str, products: Products, first: float, reason: str) -> None:
    spec = TrainSpec(strategies=("ddp",), dtype=dtype)
    assert tolerance.of(spec, 1, products) == tolerance.Tolerance(first, reason)
