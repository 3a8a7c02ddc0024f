"""RoCE of a site, with NVIDIA GPUs."""

from nccltool.doctor.fabrics.base import Fabric, amd, in_rack, ports, provider
from nccltool.hosts.facts import HostFacts, known


def _fits(facts: HostFacts) -> str:
    active = ports(facts, "Ethernet")
    if not active or ports(facts, "InfiniBand") or provider(facts) is not None or amd(facts):
        return ""
    if in_rack(facts) and any(device.name.startswith("ibp") for device in known(facts.rdma.devices)):
        return ""  # CoreWeave
    return f"{len(active)} active RoCE ports, no cloud's mark"


FABRIC = Fabric(
    title="RoCE",
    fits=_fits,
    advice=(
        "NCCL 2.21 and newer finds the GID of RoCE v2; older ones need NCCL_IB_GID_INDEX",
        "NCCL_IB_TC is the traffic class that the switches do not drop: ask who runs them",
        "if rails are not routed to each other, set NCCL_CROSS_NIC=0",
        "if adapters for storage are active, NCCL_IB_HCA names those of the GPUs, as =mlx5_0,mlx5_1",
    ),
)
