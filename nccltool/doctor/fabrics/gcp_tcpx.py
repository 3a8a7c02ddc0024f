"""Google Cloud A3 High: GPUDirect-TCPX, four interfaces beside the first."""

from nccltool.doctor.fabrics.base import Fabric, gpus, interfaces, joined, provider, settings
from nccltool.hosts.facts import HostFacts

_NICS = 5


def _fits(facts: HostFacts) -> str:
    if provider(facts) != "gcp" or len(interfaces(facts, "gve")) != _NICS:
        return ""
    return joined(iter((gpus(facts, "H100"), f"Google Cloud, {_NICS} gVNIC interfaces")))


FABRIC = Fabric(
    title="Google Cloud A3 High (GPUDirect-TCPX)",
    fits=_fits,
    settings=settings(
        "GoogleCloudPlatform/cluster-toolkit, examples/machine-learning/a3-highgpu-8g/nemo-framework",
        ("NCCL_NET", "GPUDirectTCPX_v7", "a job without the plugin fails instead of falling back to TCP"),
        ("NCCL_SOCKET_IFNAME", "eth0", "the first interface is the one between hosts and services"),
        ("NCCL_GPUDIRECTTCPX_CTRL_DEV", "eth0", "the plugin needs its name"),
        ("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", "eth1,eth2,eth3,eth4", "the interfaces of the GPUs"),
        ("NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX", "/run/tcpx", "where the receive-data-path manager listens"),
        ("NCCL_CROSS_NIC", "0", "each interface is in a network of its own"),
        ("NCCL_NET_GDR_LEVEL", "PIX", "only the interface beside a GPU reaches its memory"),
    ),
    advice=("outside Kubernetes the interfaces are called enp0s12 and enp6s0,enp12s0,enp134s0,enp140s0",),
)
