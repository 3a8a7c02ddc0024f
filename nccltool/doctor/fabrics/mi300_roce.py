"""AMD Instinct MI300 with RoCE: RCCL."""

from nccltool.doctor.fabrics.base import Fabric, gpus, joined, ports, provider, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    active = ports(facts, "Ethernet")
    if not active or provider(facts) is not None:
        return ""
    return joined(iter((gpus(facts, "MI300X", "MI300A", "MI325X"), f"{len(active)} active RoCE ports")))


FABRIC = Fabric(
    title="AMD Instinct MI300, RoCE",
    fits=_fits,
    settings=settings(
        "https://github.com/ROCm/rccl/pull/1683",
        ("HSA_NO_SCRATCH_RECLAIM", "1", "before ROCm 6.4, RCCL cannot use LL128 without it"),
    ),
    advice=(
        "RCCL before ROCm 6.3 needs NCCL_IB_GID_INDEX, often 3",
        "NCCL_IB_TC is the traffic class that the switches do not drop: ask who runs them",
    ),
)
