"""AWS p4d to p6: EFA through the plugin aws-ofi-nccl, which sets what an instance type needs."""

from nccltool.doctor.fabrics.base import Fabric, in_rack, provider, settings
from nccltool.hosts.facts import HostFacts, known, or_none


def adapters(facts: HostFacts) -> str:
    """`p5.48xlarge, 32 EFA devices`; '' elsewhere. Raises NotKnown."""
    if provider(facts) != "aws":
        return ""
    devices = [device for device in known(facts.rdma.devices) if or_none(device.driver) == "efa"]
    return f"{or_none(facts.cloud.product_name) or 'AWS'}, {len(devices)} EFA devices" if devices else ""


def _fits(facts: HostFacts) -> str:
    return "" if in_rack(facts) else adapters(facts)


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
