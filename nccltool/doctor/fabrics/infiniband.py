"""InfiniBand of a site, with NVIDIA GPUs."""

from nccltool.doctor.fabrics.base import Fabric, amd, ports, provider
from nccltool.hosts.facts import HostFacts, known


def _fits(facts: HostFacts) -> str:
    if any(device.name.startswith("ibp") for device in known(facts.rdma.devices)):
        return ""
    active = ports(facts, "InfiniBand")
    if not active or provider(facts) is not None or amd(facts):
        return ""
    return f"{len(active)} active InfiniBand ports, no cloud's mark"


FABRIC = Fabric(
    title="InfiniBand",
    fits=_fits,
    advice=(
        "NCCL finds InfiniBand by itself; no variable is needed",
        "if several interfaces have addresses, NCCL_SOCKET_IFNAME names the one that reaches all hosts",
        "if adapters for storage are active, NCCL_IB_HCA names those of the GPUs, as =mlx5_0,mlx5_1",
    ),
)
