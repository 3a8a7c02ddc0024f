"""A laptop or a workstation: no network for GPUs, and one interface at most."""

from nccltool.doctor.fabrics.base import Fabric, provider
from nccltool.hosts.facts import HostFacts, known


def _fits(facts: HostFacts) -> str:
    if provider(facts) is not None or known(facts.rdma.devices):
        return ""
    wired = [one for one in known(facts.network.interfaces) if known(one.virtual) is False]
    return f"no RDMA device, {len(wired)} network interfaces" if len(wired) <= 1 else ""


FABRIC = Fabric(
    title="one network interface, no RDMA",
    fits=_fits,
    advice=("NCCL takes the only interface by itself; no variable is needed",),
)
