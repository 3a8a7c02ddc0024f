"""AMD Instinct MI300 with InfiniBand: RCCL."""

from nccltool.doctor.fabrics.base import Fabric, gpus, joined, ports, provider, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    active = ports(facts, "InfiniBand")
    if not active or provider(facts) is not None:
        return ""
    return joined(iter((gpus(facts, "MI300X", "MI300A", "MI325X"), f"{len(active)} active InfiniBand ports")))


FABRIC = Fabric(
    title="AMD Instinct MI300, InfiniBand",
    fits=_fits,
    settings=settings(
        "https://github.com/ROCm/rccl/pull/1683",
        ("HSA_NO_SCRATCH_RECLAIM", "1", "before ROCm 6.4, RCCL cannot use LL128 without it"),
    ),
    advice=("RCCL finds InfiniBand by itself",),
)
