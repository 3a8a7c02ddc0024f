"""Google Cloud A3 Mega: GPUDirect-TCPXO (FasTrak), eight interfaces beside the first."""

from nccltool.doctor.fabrics.base import Fabric, gpus, interfaces, joined, provider, settings
from nccltool.hosts.facts import HostFacts

_NICS = 9


def _fits(facts: HostFacts) -> str:
    if provider(facts) != "gcp" or len(interfaces(facts, "gve")) != _NICS:
        return ""
    return joined(iter((gpus(facts, "H100"), f"Google Cloud, {_NICS} gVNIC interfaces")))


FABRIC = Fabric(
    title="Google Cloud A3 Mega (GPUDirect-TCPXO)",
    fits=_fits,
    settings=settings(
        "GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo/README.md",
        ("NCCL_SOCKET_IFNAME", "eth0", "the first interface is the one between hosts and services"),
        ("NCCL_FASTRAK_CTRL_DEV", "eth0", "the plugin needs its name"),
        ("NCCL_FASTRAK_IFNAME", "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8", "the interfaces of the GPUs"),
        ("NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY", "/dev/aperture_devices", "where the container has the devices"),
        ("NCCL_CROSS_NIC", "0", "each interface is in a network of its own"),
        ("NCCL_NET_GDR_LEVEL", "PIX", "only the interface beside a GPU reaches its memory"),
        ("NCCL_BUFFSIZE", "8388608", "the guest configuration checker asks for it"),
        ("NCCL_P2P_NET_CHUNKSIZE", "524288", "the guest configuration checker asks for it"),
    ),
    advice=("source ${NCCL_LIB_DIR}/nccl-env-profile.sh afterwards: it has what the installed plugin checks",),
)
