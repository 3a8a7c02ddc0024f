"""CoreWeave: InfiniBand, adapters called ibp*."""

from nccltool.doctor.fabrics.base import Fabric, ports, provider, settings
from nccltool.hosts.facts import HostFacts, known


def _fits(facts: HostFacts) -> str:
    named = [device for device in known(facts.rdma.devices) if device.name.startswith("ibp")]
    if not named or provider(facts) is not None or not ports(facts, "InfiniBand"):
        return ""
    return f"InfiniBand, {len(named)} adapters called ibp*, no other cloud's mark"


FABRIC = Fabric(
    title="CoreWeave, InfiniBand",
    fits=_fits,
    settings=settings(
        "coreweave/nccl-tests, slurm/nccl-test-distributed-b200-64-enroot.slurm",
        ("NCCL_SOCKET_IFNAME", "eth0", "the other interfaces have no route between hosts"),
        ("NCCL_IB_HCA", "ibp", "the other adapters belong to the front end"),
    ),
    advice=("with SHARP, also set NCCL_COLLNET_ENABLE=1; without it, NCCL_NET_PLUGIN=none",),
)
