"""Cases of nccltool/doctor/rules/gdr.py."""

from typing import Any

from msgspec.structs import replace

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Container, Cpu, DeviceFile, Kernel, KernelModule, Nvidia, NvLink, Rdma
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import EFA, HIDDEN, NONE, gpus, hca, pci, rdma

_GPU, _OTHER, _NIC = "0000:18:00.0", "0000:19:00.0", "0000:10:00.0"
_SWITCH = "0000:00:01.0 0000:01:00.0"
_NEAR = pci(f"{_GPU} {_SWITCH} 0000:02:00.0", f"{_NIC} {_SWITCH} 0000:02:01.0")
_FAR = pci(f"{_GPU} 0000:00:01.0 0000:02:00.0", f"{_NIC} 0000:80:01.0")
_IB = rdma("mlx5_0")
_PEERMEM = Kernel(
    release="5.15.0-1058-generic", arch="x86_64", cmdline="ro", modules=(KernelModule(name="nvidia_peermem"),)
)
_BARE = replace(_PEERMEM, modules=())
_METAL, _VM = Cpu(hypervisor=False), Cpu(hypervisor=True)
_HOPPER = gpus(_GPU)


def _on(env: dict[str, str] | None = None, **given: Any) -> JudgedHost:
    """A host with a GPU and a NIC behind one switch."""
    parts = {"rdma": _IB, "nvidia": _HOPPER, "kernel": _PEERMEM, "pci": _NEAR, "cpu": _METAL}
    return host(env, **{**parts, **given})


def _level(value: str, **given: Any) -> JudgedHost:
    return _on({"NCCL_NET_GDR_LEVEL": value}, **given)


def _acs(word: int | Unknown | None, **given: Any) -> JudgedHost:
    return _on(pci=pci(f"{_GPU} {_SWITCH} 0000:02:00.0", f"{_NIC} {_SWITCH} 0000:02:01.0", acs=word, **given))


def _driver(**given: Any) -> Nvidia:
    return replace(_HOPPER, **given)


def _without(**given: Any) -> JudgedHost:
    """Without peer memory: what dma-buf needs decides."""
    nvidia = {name: given.pop(name) for name in ("flavour", "cuda", "memory_peers") if name in given}
    return _on(kernel=replace(_BARE, **given), nvidia=_driver(**nvidia))


_GDRCOPY = {"NCCL_GDRCOPY_ENABLE": "1"}
_GDRDRV = Container(devices=(DeviceFile(path="/dev/gdrdrv", readable=True, writable=True),))
_LINK = rdma(gdrapi_link="/usr/lib/libgdrapi.so", gdrapi="/usr/lib/libgdrapi.so.2")
_NO_LINK = rdma(gdrapi_link="", gdrapi="/usr/lib/libgdrapi.so.2")
_FLUSH, _READ, _C2C = (
    {f"NCCL_{name}": value}
    for name, value in (("GDR_FLUSH_DISABLE", "1"), ("NET_GDR_READ", "0"), ("NET_GDR_C2C", "0"))
)
_GRACE = replace(_PEERMEM, arch="aarch64")
_LINKED = NvLink(number=0, active=True, remote="cpu")
_NV_PEER = replace(_BARE, modules=(KernelModule(name="nv_peer_mem"),))

CASES = (
    of(
        "GDR001",
        fires=[_level("pix"), _level("NEAR"), _level("-1"), _level(" PIX")],
        silent=[host(), _level("PIX"), _level("P2C"), _level("2"), _level("")],
    ),
    of(
        "GDR002",
        fires=[_level("2"), _level("5"), _level("0")],
        silent=[host(), _level("PXB"), _level("pix"), _level("")],
    ),
    of(
        "GDR003",
        fires=[
            _level("LOC"),
            _level("0"),
            _level("NVL"),
            _level("LOC", pci=pci(f"{_GPU} {_SWITCH}", f"{_NIC} {_SWITCH}")),
            host({"NCCL_NET_GDR_LEVEL": "0"}),
        ],
        silent=[
            _on(),
            _level("PIX"),
            _level("LOC", pci=_FAR),
            _level("LOC", rdma=NONE),
            _level("LOC", nvidia=gpus()),
            host({"NCCL_NET_GDR_LEVEL": "LOC"}, nodes=1),
        ],
        unknown=[
            UNREAD,
            host({"NCCL_NET_GDR_LEVEL": "LOC"}, nodes=None),
            _level("LOC", rdma=rdma(hca("mlx5_0", pci=HIDDEN)), nodes=None),
        ],
    ),
    of(
        "GDR004",
        fires=[_level("SYS"), _level("PHB"), _level("3"), _level("9")],
        silent=[host(), _level("PXB"), _level("SYS", kernel=_GRACE), _level("2"), _level("sys")],
        unknown=[UNREAD, host({"NCCL_NET_GDR_LEVEL": "SYS"})],
    ),
    of(
        "GDR005",
        fires=[
            _without(release="5.4.0-100-generic"),
            _without(flavour="proprietary"),
            _without(cuda="11.6", release=HIDDEN),
            _without(flavour="proprietary", memory_peers=("other",)),
        ],
        silent=[
            _on(),
            _without(),
            _without(flavour="proprietary", memory_peers=("nv_mem",)),
            _on(kernel=replace(_BARE, release="5.4.0"), rdma=NONE),
            _on(kernel=replace(_BARE, release="5.4.0"), rdma=EFA),
            _on(kernel=replace(_BARE, release="5.4.0"), nvidia=gpus()),
            _on({"NCCL_DMABUF_ENABLE": "0"}, kernel=_BARE),
        ],
        unknown=[
            UNREAD,
            host(),
            _without(release=HIDDEN),
            _without(release="4.18.0-553.el8_10.x86_64"),
            _without(memory_peers=HIDDEN, flavour="proprietary"),
            _without(cuda=HIDDEN),
            _without(release="six"),
        ],
    ),
    of(
        "GDR006",
        fires=[_on({"NCCL_DMABUF_ENABLE": "0"}, kernel=_BARE)],
        silent=[
            _on(),
            _on({"NCCL_DMABUF_ENABLE": "0"}),
            _on({"NCCL_DMABUF_ENABLE": "1"}, kernel=_BARE),
            _on({"NCCL_DMABUF_ENABLE": "0"}, kernel=_BARE, rdma=NONE),
        ],
        unknown=[UNREAD, host({"NCCL_DMABUF_ENABLE": "0"}), _on({"NCCL_DMABUF_ENABLE": "0"}, kernel=Kernel())],
    ),
    of(
        "GDR007",
        fires=[
            host(_GDRCOPY, rdma=_LINK, container=Container(devices=())),
            host(_GDRCOPY, rdma=_NO_LINK, container=_GDRDRV),
            host(_GDRCOPY, rdma=rdma(gdrapi_link=""), container=Container(devices=())),
        ],
        silent=[host(), host(_GDRCOPY, rdma=_LINK, container=_GDRDRV), host({"NCCL_GDRCOPY_ENABLE": "0"})],
        unknown=[UNREAD, host(_GDRCOPY), host(_GDRCOPY, rdma=_LINK), host(_GDRCOPY, container=_GDRDRV)],
    ),
    of(
        "GDR008",
        fires=[
            host(_FLUSH),
            _on(_FLUSH),
            _on(_FLUSH, nvidia=gpus(_GPU, capability=8.0)),
            _on(_FLUSH, kernel=_GRACE),
            host({"OFI_NCCL_GDR_FLUSH_DISABLE": "true"}),
        ],
        silent=[host(), host({"NCCL_GDR_FLUSH_DISABLE": "0"}), host({"OFI_NCCL_GDR_FLUSH_DISABLE": "false"})],
    ),
    of(
        "GDR009",
        fires=[
            _on(_READ),
            _on(_READ, nvidia=gpus(_GPU, capability=7.0, nvlinks=(_LINKED,))),
            _on(_READ, nvidia=gpus(_GPU, capability=HIDDEN, nvlinks=(_LINKED,))),
            host(_READ),
        ],
        silent=[
            host(),
            _on({"NCCL_NET_GDR_READ": "1"}),
            _on(_READ, nvidia=gpus(_GPU, capability=7.5, nvlinks=())),
            _on(_READ, nvidia=gpus()),
        ],
        unknown=[
            UNREAD,
            host(_READ, nodes=None),
            host(_READ, nodes=1),
            _on(_READ, nvidia=gpus(_GPU, capability=7.0)),
            _on(_READ, nvidia=gpus(_GPU, capability=HIDDEN, nvlinks=())),
        ],
    ),
    of(
        "GDR010",
        fires=[
            _acs(0x1D),
            _acs(0x01),
            _acs(0x04),
            _acs(0, iommu_types=("DMA-FQ",)),
            _acs(0, iommu_types=("DMA", "identity")),
            _on(pci=pci(iommu_types=HIDDEN), kernel=replace(_PEERMEM, cmdline="ro intel_iommu=on"), rdma=NONE),
            _on(
                pci=pci(f"{_GPU} {_SWITCH}", f"{_OTHER} {_SWITCH}", acs=0x1D),
                nvidia=gpus(_GPU, _OTHER),
                rdma=rdma(),
            ),
            _on(
                pci=pci(f"{_GPU} {_SWITCH}", f"{_OTHER} {_SWITCH}", acs=0x1D),
                nvidia=gpus(_GPU, _OTHER),
                rdma=Rdma(),
            ),
        ],
        silent=[
            _on(),
            _acs(None),
            _acs(0x02),
            _acs(0, iommu_types=("identity",)),
            _on(pci=pci(f"{_GPU} 0000:00:01.0", f"{_NIC} 0000:80:01.0", acs=0x1D)),
            _on(pci=pci(iommu_types=HIDDEN), kernel=replace(_PEERMEM, cmdline="intel_iommu=on iommu=pt")),
            _on(pci=pci(iommu_types=("DMA",)), kernel=_GRACE),
            _on(pci=pci(iommu_types=("DMA",)), cpu=_VM),
            host(nvidia=gpus()),
        ],
        unknown=[
            UNREAD,
            host(),
            _acs(HIDDEN),
            _on(cpu=Cpu()),
            _on(pci=pci(iommu_types=HIDDEN), kernel=Kernel(arch="x86_64")),
        ],
    ),
    of(
        "GDR011",
        fires=[
            _on(_C2C, kernel=_GRACE, nvidia=gpus(_GPU, name="NVIDIA GB200")),
            _on(_C2C, kernel=_GRACE, nvidia=gpus(_GPU, name="NVIDIA GH200 480GB")),
            _on(_C2C, kernel=_GRACE, nvidia=gpus(_GPU, nvlinks=(_LINKED,))),
        ],
        silent=[
            host(),
            _on(_C2C),
            _on(_C2C, kernel=_GRACE, nvidia=gpus(_GPU, name="NVIDIA H100 PCIe")),
            _on({"NCCL_NET_GDR_C2C": "1"}, kernel=_GRACE),
        ],
        unknown=[UNREAD, host(_C2C), _on(_C2C, kernel=_GRACE)],
    ),
    of(
        "GDR012",
        fires=[_on(kernel=_NV_PEER), _on(kernel=_NV_PEER, nvidia=_driver(driver="470.57.02"))],
        silent=[
            _on(),
            _on(kernel=_NV_PEER, nvidia=_driver(driver="460.91.03")),
            _on(kernel=_NV_PEER, nvidia=_driver(driver="")),
        ],
        unknown=[UNREAD, host(), _on(kernel=_NV_PEER, nvidia=Nvidia())],
    ),
)
