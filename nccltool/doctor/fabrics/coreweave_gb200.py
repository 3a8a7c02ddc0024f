"""CoreWeave GB200 and GB300 on InfiniBand: NVLink between the hosts of a rack, InfiniBand between racks."""

from nccltool.doctor.fabrics.base import IBP, Fabric, ibp_adapters, in_rack, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    return ibp_adapters(facts, "InfiniBand") if in_rack(facts) else ""


FABRIC = Fabric(
    title="CoreWeave GB200 and GB300, InfiniBand",
    fits=_fits,
    settings=settings(
        "coreweave/nccl-tests, slurm/nccl-test-distributed-gb200-nvl72-enroot.slurm",
        *IBP,
        ("NCCL_MNNVL_ENABLE", "1", "a job without NVLink between hosts fails instead of taking InfiniBand"),
    ),
    advice=("in containers, also set NVIDIA_IMEX_CHANNELS=0", "without SHARP, NCCL_NET_PLUGIN=none"),
)
