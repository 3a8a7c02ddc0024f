"""Google Cloud VMs whose GPUs have no network of their own: TCP over gVNIC."""

from nccltool.doctor.fabrics.base import Fabric, gpus, interfaces, provider
from nccltool.hosts.facts import HostFacts

_FEWEST_OF_TCPX = 5


def _fits(facts: HostFacts) -> str:
    if provider(facts) != "gcp" or gpus(facts, "H200", "B200", "GB200", "GB300"):
        return ""
    nics = interfaces(facts, "gve")
    return f"Google Cloud, {len(nics)} gVNIC interfaces" if 0 < len(nics) < _FEWEST_OF_TCPX else ""


FABRIC = Fabric(
    title="Google Cloud, TCP over gVNIC",
    fits=_fits,
    advice=("NCCL knows gVNIC and opens several sockets by itself; no variable is needed",),
)
