"""CoreWeave GB300 on RoCE (Spectrum-X): NVLink between the hosts of a rack, RoCE over IPv6 between racks."""

from nccltool.doctor.fabrics.base import IBP, Fabric, ibp_adapters, in_rack, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    return ibp_adapters(facts, "Ethernet") if in_rack(facts) else ""


FABRIC = Fabric(
    title="CoreWeave GB300, RoCE",
    fits=_fits,
    settings=settings(
        "coreweave/nccl-tests, slurm/nccl-test-distributed-gb300-roce-nvl72-enroot.slurm",
        *IBP,
        ("NCCL_IB_ADDR_FAMILY", "AF_INET6", "the adapters are routed by their IPv6 addresses"),
        ("NCCL_IB_ADDR_RANGE", "fd02::/16", "the addresses of the network between GPUs"),
        ("NCCL_IB_TC", "96", "the traffic class that the switches do not drop"),
        ("NCCL_IB_ADAPTIVE_ROUTING", "1", "the switches spread packets over all paths"),
    ),
    advice=("NCCL_NET_PLUGIN=none; with 10,000 GPUs or more, NCCL_NET_PLUGIN=spcx",),
)
