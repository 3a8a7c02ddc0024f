"""AWS p6e: EFA through the plugin aws-ofi-nccl between racks, NVLink between the hosts of a rack."""

from nccltool.doctor.fabrics import aws_efa
from nccltool.doctor.fabrics.base import Fabric, in_rack, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    return aws_efa.adapters(facts) if in_rack(facts) else ""


FABRIC = Fabric(
    title="AWS with EFA and NVLink between hosts (p6e)",
    fits=_fits,
    settings=aws_efa.FABRIC.settings
    + settings(
        "awslabs/awsome-distributed-training, micro-benchmarks/nccl-tests/kubernetes/nccl-tests-gb200.yaml",
        ("NCCL_MNNVL_ENABLE", "1", "a job without NVLink between hosts fails instead of taking EFA"),
    ),
    advice=aws_efa.FABRIC.advice[:1],
)
