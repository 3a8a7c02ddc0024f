"""AWS p6e: EFA through the plugin aws-ofi-nccl between racks, NVLink between the hosts of a rack."""

from nccltool.doctor.fabrics.base import Fabric, efa_adapters, in_rack, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    return efa_adapters(facts) if in_rack(facts) else ""


FABRIC = Fabric(
    title="AWS with EFA and NVLink between hosts (p6e)",
    fits=_fits,
    settings=settings(
        "aws/aws-ofi-nccl, doc/efa-env-var.md",
        ("NCCL_SOCKET_IFNAME", "^docker,lo,veth", "names of interfaces differ between containers"),
    )
    + settings(
        "awslabs/awsome-distributed-training, micro-benchmarks/nccl-tests/kubernetes/nccl-tests-gb200.yaml",
        ("NCCL_MNNVL_ENABLE", "1", "a job without NVLink between hosts fails instead of taking EFA"),
    ),
    advice=("aws-ofi-nccl sets buffer and chunk sizes, tuner, and protocol, but only where they are unset",),
)
