"""Peaks of GPUs by the names that drivers give them, and what a step needs of arithmetic."""

from dataclasses import replace

import pytest

from nccltool.train import peak_flops
from nccltool.train.job import TrainSpec


@pytest.mark.parametrize(
    ("name", "dtype", "tera"),
    [
        ("NVIDIA H200", "bfloat16", 989.5),
        ("NVIDIA H200 NVL", "bfloat16", 835.5),
        ("NVIDIA GH200 480GB", "float16", 989.5),
        ("NVIDIA H100 80GB HBM3", "bfloat16", 989.5),
        ("NVIDIA H100 80GB HBM3", "float32", 67),
        ("NVIDIA H100 PCIe", "bfloat16", 756.5),
        ("AMD Instinct MI300X", "bfloat16", 1307.4),
        ("AMD Instinct MI300X", "float32", 163.4),
        ("AMD Instinct MI325X", "float16", 1307.4),
        ("AMD Instinct MI350X", "bfloat16", 2306.9),
        ("AMD Instinct MI355X", "bfloat16", 2516.6),
        ("AMD Instinct MI355X", "float32", 157.3),
        ("NVIDIA H100 NVL", "bfloat16", 835.5),
        ("NVIDIA A100-SXM4-80GB", "bfloat16", 312),
        ("NVIDIA A100 80GB PCIe", "float32", 19.5),
        ("NVIDIA B200", "bfloat16", 2250),
        ("NVIDIA GB200", "bfloat16", 2500),
        ("NVIDIA L4", "bfloat16", 121),
        ("NVIDIA L40", "bfloat16", 181.05),
        ("NVIDIA L40S", "bfloat16", 362.05),
        ("NVIDIA A10", "bfloat16", 125),
        ("Tesla V100-SXM2-32GB", "float16", 125),
        ("Tesla V100-PCIE-16GB", "float16", 112),
        ("Tesla T4", "float16", 65),
    ],
)
def test_a_gpu_that_is_known(name: str, dtype: str, tera: float) -> None:
    found = peak_flops.of(name, dtype)
    assert found is not None
    assert found.flop_per_s == tera * 1e12
    assert found.source.startswith(f"{'AMD' if name.startswith('AMD') else 'NVIDIA'}'s data sheet for ")
    assert found.source.endswith(f": {tera:g} TFLOP/s (dense, {dtype})")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("Tesla T4", "bfloat16"),
        ("NVIDIA H100 80GB HBM3", "float64"),
        ("NVIDIA A10G", "bfloat16"),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "bfloat16"),
        ("NVIDIA GeForce RTX 4090", "bfloat16"),
        ("AMD Instinct MI210", "bfloat16"),
        ("AMD Instinct MI300X", "float64"),
        ("", "float32"),
    ],
)
def test_what_is_not_in_the_table_is_not_known(name: str, dtype: str) -> None:
    assert peak_flops.of(name, dtype) is None


def test_what_a_token_needs() -> None:
    spec = TrainSpec(strategies=("ddp",), layers=2, width=8, heads=2, context=16, vocabulary=32)
    assert peak_flops.flop_per_token(spec) == 6 * (2 * 12 * 64 + 8 * 32) + 12 * 2 * 8 * 16
    adapted = replace(spec, options={"lora": 4})  # of 2 layers: 2 adapters of (4, 8) and (8, 4) each
    assert peak_flops.flop_per_token(adapted) == 4 * (2 * 12 * 64 + 8 * 32) + 6 * 256 + 12 * 2 * 8 * 16
    # 6 N of a GPT of 124 million parameters, N without the table of places, and attention
    large = TrainSpec(strategies=("ddp",), layers=12, width=768, heads=12, context=1024, vocabulary=50304)
    assert peak_flops.flop_per_token(large) == pytest.approx(6 * 123.6e6 + 113.2e6, rel=0.001)
