"""GPU models with NVLink, and how fast it is: each way, without what protocols add."""

import re
from dataclasses import dataclass

_NVLINK_TABLE = "https://github.com/stas00/ml-engineering/blob/0030e63f5275afee38233676690ce10478647cca/network/README.md#nvlink"


@dataclass(frozen=True, kw_only=True, slots=True)
class NvLinkSpec:
    """The NVLink of a GPU model."""

    names: str
    """A pattern of the names that CUDA gives; the PCIe and MIG forms of a chip are not in it."""
    generation: int
    bytes_per_s: float
    """Of all links of a GPU together, each way."""
    between_hosts: bool = False
    """There are systems in which it connects GPUs of several hosts."""
    source: str = _NVLINK_TABLE


NVLINKS = (
    NvLinkSpec(names=r"Tesla V100-SXM[23]-\d+GB(-LS)?", generation=2, bytes_per_s=150e9),
    NvLinkSpec(names=r"(NVIDIA )?A100-SXM4?-\d+GB", generation=3, bytes_per_s=300e9),
    NvLinkSpec(names=r"NVIDIA H100 \d+GB HBM\w+", generation=4, bytes_per_s=450e9),
    NvLinkSpec(names=r"NVIDIA H200", generation=4, bytes_per_s=450e9),
    NvLinkSpec(names=r"NVIDIA GH200 \w+( HBM\w+)?", generation=4, bytes_per_s=450e9, between_hosts=True),
    NvLinkSpec(names=r"NVIDIA B[23]00( SXM6 AC)?", generation=5, bytes_per_s=900e9),
    NvLinkSpec(names=r"NVIDIA GB[23]00", generation=5, bytes_per_s=900e9, between_hosts=True),
)
"""The source gives the payload rate of each generation and which chips have it."""


def nvlink(gpu_name: str | None) -> NvLinkSpec | None:
    """The NVLink of a GPU model; None = it has none, or is not in the table."""
    return next((link for link in NVLINKS if re.fullmatch(link.names, gpu_name or "")), None)
