"""CoreWeave: InfiniBand, adapters called ibp*."""

from nccltool.doctor.fabrics.base import IBP, Fabric, ibp_adapters, in_rack, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    return "" if in_rack(facts) else ibp_adapters(facts, "InfiniBand")


FABRIC = Fabric(
    title="CoreWeave, InfiniBand",
    fits=_fits,
    settings=settings(
        "coreweave/nccl-tests, slurm/nccl-test-distributed-b200-64-enroot.slurm",
        *IBP,
    ),
    advice=("with SHARP, also set NCCL_COLLNET_ENABLE=1; without it, NCCL_NET_PLUGIN=none",),
)
