"""CoreWeave: InfiniBand, adapters called ibp*."""

from nccltool.doctor.fabrics.base import Fabric, in_rack, ports, provider, settings
from nccltool.hosts.facts import HostFacts, known

INTERFACES = (
    ("NCCL_SOCKET_IFNAME", "eth0", "the other interfaces have no route between hosts"),
    ("NCCL_IB_HCA", "ibp", "the other adapters belong to the front end"),
)


def adapters(facts: HostFacts, link_layer: str) -> str:
    """`InfiniBand, 8 adapters called ibp*, ...`; '' elsewhere. Raises NotKnown."""
    named = [device for device in known(facts.rdma.devices) if device.name.startswith("ibp")]
    if not named or provider(facts) is not None or not ports(facts, link_layer):
        return ""
    return f"{link_layer}, {len(named)} adapters called ibp*, no other cloud's mark"


def _fits(facts: HostFacts) -> str:
    return "" if in_rack(facts) else adapters(facts, "InfiniBand")


FABRIC = Fabric(
    title="CoreWeave, InfiniBand",
    fits=_fits,
    settings=settings(
        "coreweave/nccl-tests, slurm/nccl-test-distributed-b200-64-enroot.slurm",
        *INTERFACES,
    ),
    advice=("with SHARP, also set NCCL_COLLNET_ENABLE=1; without it, NCCL_NET_PLUGIN=none",),
)
