"""HPE Slingshot: libfabric through the plugin aws-ofi-nccl."""

from nccltool.doctor.fabrics.base import Fabric, settings
from nccltool.hosts.facts import HostFacts, known


def _fits(facts: HostFacts) -> str:
    named = [one for one in known(facts.network.interfaces) if one.name.startswith("hsn")]
    return f"{len(named)} interfaces called hsn*" if named else ""


FABRIC = Fabric(
    title="HPE Slingshot",
    fits=_fits,
    settings=(
        *settings(
            "eth-cscs/cscs-docs, docs/software/communication/nccl.md",
            ("NCCL_NET", "AWS Libfabric", "a job without the plugin fails instead of falling back to TCP"),
        ),
        *settings(
            "olcf/olcf-user-docs, software/analytics/pytorch_frontier.rst",
            ("NCCL_SOCKET_IFNAME", "hsn", "the other interfaces have no route between hosts"),
            ("NCCL_CROSS_NIC", "1", "the network connects every adapter with every other"),
            ("NCCL_NET_GDR_LEVEL", "PHB", "adapters reach the memory of GPUs of their NUMA node"),
            ("FI_MR_CACHE_MONITOR", "kdreg2", "the default monitor of registered memory can deadlock with GPUs"),
            ("FI_CXI_DISABLE_HOST_REGISTER", "1", "registering in the driver can deadlock with NCCL"),
            ("FI_CXI_DEFAULT_CQ_SIZE", "131072", "the default queue overflows in large jobs"),
        ),
    ),
    advice=("inside one node, set NCCL_NET=Socket instead",),
)
