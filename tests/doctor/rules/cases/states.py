"""Cases of rules about states of a host: rules/gpus.py, and later ones of limits.py, gdr, and interfaces."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Amd, AmdGpu, Container, Cpu, DeviceFile, Kernel, KernelModule, NvLink, Versions
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import ETHERNET, NONE, net, nic, rdma
from tests.doctor.rules.parts import A100, NO_GPUS, gpu, nvidia


def _of(**given: Any) -> Any:
    return nvidia(gpus=(gpu(0), gpu(1, **given)))


def _links(active: int) -> tuple[NvLink, ...]:
    return tuple(NvLink(number=number, active=number < active, remote="switch") for number in range(12))


_MODULES = Kernel(release="5.4.0", modules=(KernelModule(name="nvidia_peermem"),))
_OLD: dict[str, Any] = {
    "nccl": (2, 22, 3),
    "rdma": rdma("mlx5_0"),
    "kernel": _MODULES,
    "nvidia": nvidia(2, A100, memory_peers=(), flavour="proprietary"),
}
_MI300 = Amd(driver="6.12", gpus=(AmdGpu(pci="0000:05:00.0", gfx="gfx942"),))
_KFD = DeviceFile(path="/dev/kfd", readable=True, writable=True)
_NO_KFD = DeviceFile(path="/dev/kfd", readable=True, writable=False)
_PUBLIC = net(nic("enp141s0", "1.1.203.7/24"), nic("bond0", "10.25.229.7/24"))
_PRIVATE = net(nic("bond0", "10.25.117.11/24"))
_SHARED = net(nic("eno1", "192.168.3.8/20"), nic("enp37s0f0", "192.168.0.8/20"))
_APART = net(nic("eno1", "192.168.3.8/24"), nic("enp37s0f0", "192.168.0.8/24"))
_RAILS = net(*(nic(f"eth{number}", f"10.0.0.{number + 1}/24") for number in range(8)))
_VETH_FIRST = net(nic("cali7", "172.20.0.1/16"), nic("eno1", "192.168.3.8/24"))
_BRIDGES = net(nic("bond0", "192.168.1.161/24"), nic("br-05ab", "172.19.0.1/16"), nic("veth6163", "172.20.0.1/16"))

CASES = (
    of(
        "NV016",
        fires=[host(nvidia=_of(compute_mode="prohibited"))],
        silent=[host(nvidia=_of(compute_mode="default")), host(nvidia=_of())],
        unknown=[host()],
    ),
    of(
        "NV017",
        fires=[host(nvidia=_of(mig=True))],
        silent=[host(nvidia=_of(mig=False)), host(nvidia=_of(mig=True), local_ranks=1), host(nvidia=_of())],
        unknown=[host()],
    ),
    of(
        "NV018",
        fires=[host(nvidia=_of(row_remap_pending=True)), host(nvidia=_of(uncorrected_ecc=3))],
        silent=[
            host(nvidia=_of(row_remap_pending=False, uncorrected_ecc=0)),
            host(nvidia=_of(uncorrected_ecc=None)),
        ],
        unknown=[host()],
    ),
    of(
        "NV019",
        fires=[host(nvidia=nvidia(gpus=(gpu(0, nvlinks=_links(12)), gpu(1, nvlinks=_links(9)))))],
        silent=[
            host(nvidia=nvidia(gpus=(gpu(0, nvlinks=_links(12)), gpu(1, nvlinks=_links(12))))),
            host(nvidia=nvidia(gpus=(gpu(0, nvlinks=_links(9)), gpu(1, nvlinks=_links(9))))),
            host(nvidia=nvidia(gpus=(gpu(0, nvlinks=_links(12)), gpu(1, name="other", nvlinks=_links(6))))),
        ],
        unknown=[host(), host(nvidia=_of(nvlinks=Unknown("not asked")))],
    ),
    of(
        "CUD015",
        fires=[host(nvidia=nvidia(cuda="11.4"), versions=Versions(torch_cuda="12.8"))],
        silent=[
            host(nvidia=nvidia(cuda="12.2"), versions=Versions(torch_cuda="12.8")),
            host(nvidia=nvidia(cuda="13.0"), versions=Versions(torch_cuda="12.8")),
            host(nvidia=nvidia(cuda="11.4"), versions=Versions(torch_cuda="")),
            host(
                {"LD_LIBRARY_PATH": "/usr/local/cuda/compat"},
                nvidia=nvidia(cuda="11.4"),
                versions=Versions(torch_cuda="12.8"),
            ),
        ],
        unknown=[host()],
    ),
    of(
        "GDR013",
        fires=[host(**_OLD), host({"NCCL_DMABUF_ENABLE": "0"}, **_OLD)],
        silent=[
            host(**{**_OLD, "nccl": (2, 23, 4)}),
            host(**{**_OLD, "nvidia": nvidia(2, A100, memory_peers=("nv_mem",), flavour="proprietary")}),
            host(**{**_OLD, "rdma": NONE}),
            host(**{**_OLD, "kernel": Kernel(release="5.4.0", modules=())}),
        ],
        unknown=[host(), host(**{**_OLD, "nccl": None})],
    ),
    of(
        "LIM012",
        fires=[
            host(amd=_MI300, container=Container(devices=())),
            host(amd=_MI300, container=Container(devices=(_NO_KFD,))),
            host(amd=Amd(driver="6.16.6"), nvidia=NO_GPUS, container=Container(devices=(_NO_KFD,))),
        ],
        silent=[
            host(amd=_MI300, container=Container(devices=(_KFD,))),
            host(amd=Amd(driver="6.16.6"), nvidia=NO_GPUS, container=Container(devices=())),
            host(amd=Amd(driver="", gpus=()), container=Container(devices=())),
        ],
        unknown=[host(), host(amd=_MI300)],
    ),
    of(
        "NETIF045",
        fires=[(host(network=_PUBLIC), host(network=_PRIVATE, host="n2"))],
        silent=[
            (host(network=_PUBLIC), host(network=_PUBLIC, host="n2")),
            (host(network=_PRIVATE), host(network=_PRIVATE, host="n2")),
            (host({"NCCL_SOCKET_IFNAME": "bond0"}, network=_PUBLIC), host(network=_PRIVATE, host="n2")),
            (host(network=net(nic("eth0", "1.1.203.7/24"))), host(network=_PRIVATE, host="n2")),
        ],
        unknown=[(host(), host(network=_PRIVATE, host="n2"))],
    ),
    of(
        "NETIF040",
        fires=[host({"NCCL_SOCKET_IFNAME": "enp37s0f0"}, network=_SHARED), host(network=_SHARED)],
        silent=[host(network=_APART), host(network=_RAILS), host(network=_SHARED, nodes=1)],
        unknown=[UNREAD, host(), host(network=_SHARED, nodes=None)],
    ),
    of(
        "NETIF042",
        fires=[host(network=_BRIDGES, rdma=NONE), host(network=_VETH_FIRST)],
        silent=[
            host({"NCCL_SOCKET_IFNAME": "bond0"}, network=_BRIDGES, rdma=NONE),
            host(network=_BRIDGES, rdma=ETHERNET),
            host(network=_BRIDGES, rdma=NONE, nodes=1),
            host(network=_APART, rdma=NONE),
        ],
        unknown=[UNREAD, host(), host(network=_BRIDGES)],
    ),
    of(
        "CON008",
        fires=[(host(cpu=Cpu(vendor="GenuineIntel")), host(cpu=Cpu(vendor="AuthenticAMD"), host="n2"))],
        silent=[
            (host(cpu=Cpu(vendor="GenuineIntel")), host(cpu=Cpu(vendor="GenuineIntel"), host="n2")),
            (
                host({"NCCL_NET_OVERHEAD": "1000"}, cpu=Cpu(vendor="GenuineIntel")),
                host({"NCCL_NET_OVERHEAD": "1000"}, cpu=Cpu(vendor="AuthenticAMD"), host="n2"),
            ),
        ],
        unknown=[(host(), host(host="n2"))],
    ),
)
