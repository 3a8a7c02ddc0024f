"""amdgpu: the topology of /sys/class/kfd, and what the driver adds to a PCI device.

Names and units are those of the kernel: drivers/gpu/drm/amd/amdkfd/kfd_topology.c (nodes, links) and "GPU Memory
Usage Information", "GPU Product Information" and "Partitions" of its page on amdgpu.
"""

from tests.captured_hosts.formats.pci import gpu_address, gpu_folder
from tests.captured_hosts.formats.tree import TreeWriter
from tests.captured_hosts.kinds import Kind

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_PCIE, _XGMI = 2, 11
"""Kinds of a link: HSA_IOLINKTYPE_PCIEXPRESS and HSA_IOLINKTYPE_XGMI of hsakmttypes.h."""
_XGMI_MBPS = 64000
"""Of a link of MI300X, each way, as the driver writes it."""
_FIRST_RENDER, _APART = 128, 8
"""A MI300X keeps eight render nodes, one for each partition that it could have."""


def write(tree: TreeWriter, kind: Kind) -> None:
    tree.write("/sys/module/amdgpu/version", f"{kind.driver}\n")
    tree.write("/sys/class/kfd/kfd/topology/generation_id", "2\n")
    tree.device("/dev/kfd")
    for number in range(kind.nodes):
        _cpu(tree, kind, number)
    for number in range(kind.gpus):
        _gpu(tree, kind, number)
        _device(tree, kind, number)


def render_minor(number: int) -> int:
    return _FIRST_RENDER + _APART * number


def _cpu(tree: TreeWriter, kind: Kind, number: int) -> None:
    folder = f"{_NODES}/{number}"
    tree.write(f"{folder}/gpu_id", "0\n")
    tree.write(f"{folder}/name", "\n")
    rows = {"cpu_cores_count": kind.cores // kind.nodes, "simd_count": 0, "vendor_id": 0, "device_id": 0}
    tree.lines(f"{folder}/properties", (f"{name} {value}" for name, value in rows.items()))


def _gpu(tree: TreeWriter, kind: Kind, number: int) -> None:
    node = kind.nodes + number
    folder = f"{_NODES}/{node}"
    tree.write(f"{folder}/gpu_id", f"{4660 + number}\n")
    tree.write(f"{folder}/name", "ip discovery\n")
    rows = {
        "cpu_cores_count": 0,
        "simd_count": 1216,
        "io_links_count": kind.gpus,
        "simd_per_cu": 4,
        "wave_front_size": 64,
        "gfx_target_version": kind.gfx_target_version,
        "vendor_id": 0x1002,
        "device_id": int(kind.gpu_device, 16),
        "location_id": (number * 16 + 3) << 8,
        "domain": 0,
        "drm_render_minor": render_minor(number),
        "hive_id": 99 if kind.nvlink else 0,
        "num_sdma_engines": 2,
        "num_sdma_xgmi_engines": 14,
        "unique_id": kind.unique_id(number),
        "num_xcc": 8,
    }
    tree.lines(f"{folder}/properties", (f"{name} {value}" for name, value in rows.items()))
    others = [other for other in range(kind.gpus) if other != number and kind.nvlink]
    _link(tree, folder, 0, node, number * kind.nodes // kind.gpus, _PCIE)
    for place, other in enumerate(others, 1):
        _link(tree, folder, place, node, kind.nodes + other, _XGMI)


def _link(tree: TreeWriter, folder: str, place: int, start: int, end: int, kind_of: int) -> None:
    speed = _XGMI_MBPS if kind_of == _XGMI else 0
    rows = {
        "type": kind_of,
        "version_major": 0,
        "version_minor": 0,
        "node_from": start,
        "node_to": end,
        "weight": 15 if kind_of == _XGMI else 20,
        "min_latency": 0,
        "max_latency": 0,
        "min_bandwidth": speed,
        "max_bandwidth": speed,
        "recommended_transfer_size": 0,
        "flags": 1,
    }
    tree.lines(f"{folder}/io_links/{place}/properties", (f"{name} {value}" for name, value in rows.items()))


def _device(tree: TreeWriter, kind: Kind, number: int) -> None:
    folder, minor = gpu_folder(number), render_minor(number)
    texts = {
        "product_name": kind.gpu,
        "unique_id": f"{kind.unique_id(number):016x}",
        "mem_info_vram_total": str(kind.gpu_memory_bytes),
        "vbios_version": "113-M3000100-102",
        "current_compute_partition": "SPX",
        "current_memory_partition": "NPS1",
    }
    for name, text in texts.items():
        tree.write(f"{folder}/{name}", f"{text}\n")
    for name in (f"card{number + 1}", f"renderD{minor}"):
        tree.write(f"{folder}/drm/{name}/dev", f"226:{minor}\n")
        tree.raw_link(f"{folder}/drm/{name}/device", f"../../../{gpu_address(number)}")
        tree.link(f"/sys/class/drm/{name}", f"{folder}/drm/{name}")
    if kind.given is None or number in kind.given:
        tree.device(f"/dev/dri/renderD{minor}")
        tree.device(f"/dev/dri/card{number + 1}")
