"""Products in float32 are exact while they are compared, and as the user has them otherwise."""

from collections.abc import Iterator

import pytest
import torch

from nccltool.train.tolerance import Products
from nccltool.worker.train import precision

pytestmark = [pytest.mark.torch, pytest.mark.quick]

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(
    ("device", "env", "said", "products"),
    [
        (GPU, {}, "highest", "exact"),
        (GPU, {}, "high", "made exact"),  # as TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1 begins
        (GPU, {"NVIDIA_TF32_OVERRIDE": "0"}, "highest", "exact"),
        (GPU, {"NVIDIA_TF32_OVERRIDE": "1"}, "highest", "tf32"),
        (CPU, {"NVIDIA_TF32_OVERRIDE": "1"}, "highest", "exact"),
    ],
)
def test_how_products_are(device: torch.device, env: dict[str, str], said: str, products: Products) -> None:
    torch.set_float32_matmul_precision(said)
    assert precision.products(device, env) == products


def test_they_are_exact_inside_and_as_before_after_it() -> None:
    torch.set_float32_matmul_precision("high")
    with precision.exact():
        assert (torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32) == ("highest", False)
    assert torch.get_float32_matmul_precision() == "high"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_on_a_gpu() -> None:
    left = torch.randn(512, 512, device=GPU)
    right = (left.double() @ left.double()).float()
    torch.set_float32_matmul_precision("high")
    with precision.exact():
        assert float((left @ left - right).norm() / right.norm()) < 1e-6
