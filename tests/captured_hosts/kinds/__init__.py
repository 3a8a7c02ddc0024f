"""Descriptions of hosts: what is in the machine, not how the kernel writes it."""

from tests.captured_hosts.kinds.base import AMD, GIB, NVIDIA, OPEN, PROPRIETARY, WSL, Hca, Kind, Make, Nic
from tests.captured_hosts.kinds.clouds import A3_MEGA, A4, AWS, AZURE, GCP, P5
from tests.captured_hosts.kinds.parts import CONTAINER, MIG, TWO_OF_EIGHT, WSL2
from tests.captured_hosts.kinds.racks import GB200
from tests.captured_hosts.kinds.servers import DGX, DGX_IB_STORAGE, H100_PCIE, IB, LAPTOP, MI300X, ROCE, TCP

KINDS = {
    "ib": IB,
    "roce": ROCE,
    "aws": AWS,
    "gcp": GCP,
    "tcp": TCP,
    "laptop": LAPTOP,
    "container": CONTAINER,
    "h100-pcie": H100_PCIE,
    "dgx": DGX,
    "dgx-ib-storage": DGX_IB_STORAGE,
    "p5": P5,
    "a3-mega": A3_MEGA,
    "a4": A4,
    "azure": AZURE,
    "gb200": GB200,
    "mi300x": MI300X,
    "wsl2": WSL2,
    "mig": MIG,
    "two-of-eight": TWO_OF_EIGHT,
}
__all__ = ["AMD", "GIB", "KINDS", "NVIDIA", "OPEN", "PROPRIETARY", "WSL", "Hca", "Kind", "Make", "Nic"]
