"""Azure ND A100 v4: InfiniBand of a VM that hides its PCI tree."""

from nccltool.doctor.fabrics.base import Fabric, gpus, joined, ports, provider, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    if provider(facts) != "azure" or not ports(facts, "InfiniBand"):
        return ""
    return joined(iter((gpus(facts, "A100"), "Azure, InfiniBand")))


FABRIC = Fabric(
    title="Azure ND A100 v4",
    fits=_fits,
    settings=settings(
        "https://github.com/Azure/azhpc-images",
        ("NCCL_TOPO_FILE", "/opt/microsoft/ndv4/topo.xml", "the VM hides which adapter is beside which GPU"),
        ("NCCL_IB_PCI_RELAXED_ORDERING", "1", "the VM needs it for the full rate of GPUDirect RDMA"),
        (
            "NCCL_IGNORE_CPU_AFFINITY",
            "1",
            "ranks may use the cores beside their GPU although the launcher bound them elsewhere",
        ),
    ),
    advice=("in containers, mount /opt/microsoft",),
)
