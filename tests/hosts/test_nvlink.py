"""Which GPUs have NVLink."""

import pytest

from nccltool.hosts import nvlink


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("Tesla V100-SXM2-32GB", 150),
        ("Tesla V100-PCIE-32GB", None),
        ("NVIDIA A100-SXM4-80GB", 300),
        ("A100-SXM4-40GB", 300),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
        ("NVIDIA A100 80GB PCIe", None),
        ("NVIDIA A800-SXM4-80GB", None),
        ("NVIDIA H100 80GB HBM3", 450),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA H200", 450),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA GH200 480GB", 450),
        ("NVIDIA GH200 144G HBM3e", 450),
        ("NVIDIA B200", 900),
        ("NVIDIA B300 SXM6 AC", 900),
        ("NVIDIA GB200", 900),
        ("NVIDIA GB10", None),
        ("NVIDIA L40S", None),
        ("AMD Instinct MI300X", None),
        (None, None),
    ],
)
def test_nvlink(name: str | None, gigabytes: float | None) -> None:
    link = nvlink.nvlink(name)
    assert (link and link.bytes_per_s) == (None if gigabytes is None else gigabytes * 1e9)


def test_every_rate_has_a_source() -> None:
    assert all(link.source.startswith("https://") for link in nvlink.NVLINKS)
