"""AWS p4d to p6: EFA through the plugin aws-ofi-nccl, which sets what an instance type needs."""

from nccltool.doctor.fabrics.base import Fabric, efa_adapters, in_rack, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    return "" if in_rack(facts) else efa_adapters(facts)


FABRIC = Fabric(
    title="AWS with EFA (p4d to p6)",
    fits=_fits,
    settings=settings(
        "aws/aws-ofi-nccl, doc/efa-env-var.md",
        (
            "NCCL_SOCKET_IFNAME",
            "^docker,lo,veth",
            "names of interfaces differ between instance types and containers",
        ),
    ),
    advice=(
        "aws-ofi-nccl sets buffer and chunk sizes, topology, tuner, and protocol, but only where they are unset",
        "with aws-ofi-nccl 1.5 and older, also set FI_PROVIDER=efa",
    ),
)
