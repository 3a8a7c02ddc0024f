"""Hosts of many kinds: `captured(name)` out of a tree like /proc and /sys, `healthy(name)` as if looked at live.

The trees are made from the descriptions in `kinds`; `build` knows the formats of the kernel.
"""

import ipaddress
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from nccltool.hosts import reader
from nccltool.hosts.facts import Address, Gpu, HostFacts, KernelClock, Library, Nvidia, NvLink, Services
from tests.captured_hosts.build import build
from tests.captured_hosts.formats.addresses import ipv4_of
from tests.captured_hosts.kinds import AMD, KINDS, NVIDIA, WSL, Kind

NCCL = "/opt/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"
_LIBNCCL = Library(path=NCCL, real_path=NCCL, origin="wheel", version="2.27.3", size_bytes=417_000_000)
_TORCH: dict[str, Any] = {
    "torch": "2.8.0+cu128",
    "torch_cuda": "12.8",
    "torch_hip": "",
    "nccl": "2.27.3",
    "nccl_source": f"{NCCL} (wheel)",
    "libnccl": (_LIBNCCL,),
}
_TORCH_OF_AMD: dict[str, Any] = {
    "torch": "2.8.0+rocm6.4",
    "torch_cuda": "",
    "torch_hip": "6.4.43482-0f2d60242",
    "rccl": "2.22.3",
    "nccl": "",
    "libnccl": (),
}
_MEMORY = "/dev/shm"
"""Hundreds of small files are written there in a fraction of the time that a disk takes."""
__all__ = ["KINDS", "Kind", "build", "captured", "healthy"]


@cache
def captured(name: str) -> HostFacts:
    """What a captured tree of this kind of host tells."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as folder:
        root = Path(folder) / name
        build(root, KINDS[name])
        return reader.take(root)


@cache
def healthy(name: str) -> HostFacts:
    """The same host looked at live: with what no file tells (free space, NVML, the clock)."""
    host, kind = captured(name), KINDS[name]
    size = kind.shm_bytes
    shm = replace(host.shm, size_bytes=size, free_bytes=size, writable=True, device=26, nccl_files=())
    four = [("lo", ipaddress.IPv4Interface("127.0.0.1/8")), *ipv4_of(kind)]
    addresses = (
        *(_address(name, own, "AF_INET") for name, own in four),
        _address("lo", ipaddress.IPv6Interface("::1/128"), "AF_INET6"),
    )
    return replace(
        host,
        root="/",
        network=replace(host.network, addresses=addresses, addresses_source="getifaddrs"),
        env_source="process",
        shm=shm,
        nvidia=_nvidia(kind, host.nvidia) if kind.gpus and kind.make in (NVIDIA, WSL) else host.nvidia,
        container=replace(host.container, mempolicy=True),
        clock=KernelClock(time_s=1.79e9, synchronised=True, max_error_s=0.002, offset_s=1e-6),
        services=Services(running=kind.daemons),
        versions=replace(
            host.versions,
            python="3.12.3",
            glibc="2.39",
            **(_TORCH_OF_AMD if kind.make is AMD else _TORCH),
        ),
    )


def _address(name: str, own: ipaddress.IPv4Interface | ipaddress.IPv6Interface, family: str) -> Address:
    return Address(interface=name, address=str(own.ip), prefix_len=own.network.prefixlen, family=family)


def _nvidia(kind: Kind, nvidia: Nvidia) -> Nvidia:
    """With what NVML tells, which is asked under Windows too."""
    listed = nvidia.gpus if isinstance(nvidia.gpus, tuple) else ()
    found = listed or tuple(_of_windows(kind, number) for number in range(kind.gpus))
    return replace(
        nvidia,
        driver=kind.driver,
        gpus=tuple(_gpu(kind, gpu) for gpu in found),
        cuda="12.8",
        nvml=f"12.{kind.driver}",
        visible_gpus=kind.gpus if kind.make is WSL else nvidia.visible_gpus,
        source="nvml",
        imex_channels=tuple(f"/dev/nvidia-caps-imex-channels/{channel}" for channel in kind.imex_channels),
    )


def _of_windows(kind: Kind, number: int) -> Gpu:
    return Gpu(pci=f"0000:{0xC1 + number:02x}:00.0", minor=number, uuid=kind.uuid(number), name=kind.gpu)


def _gpu(kind: Kind, gpu: Gpu) -> Gpu:
    links = tuple(
        NvLink(number=n, active=True, version=kind.nvlink_version, remote="switch", remote_pci="0000:01:00.0")
        for n in range(18)
    )
    return replace(
        gpu,
        compute_capability=kind.compute_capability,
        memory_bytes=kind.gpu_memory_bytes,
        persistence=True,
        ecc=kind.nvlink or None,
        mig=True if kind.mig_instances else False if kind.nvlink else None,
        compute_mode="default",
        row_remap_pending=False if kind.nvlink else None,
        uncorrected_ecc=0 if kind.nvlink else None,
        nvlinks=links if kind.nvlink else (),
        fabric_state="completed" if kind.nvlink else "not supported",
        fabric_status="success",
        cluster_uuid=kind.cluster_uuid,
        clique_id=0,
    )
