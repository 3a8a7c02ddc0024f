"""GPUs of AMD: the topology of /sys/class/kfd, which is what ROCm's runtime reads, and files of amdgpu."""

from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts import hip_mask
from nccltool.hosts.facts import Amd, AmdGpu, Text
from nccltool.hosts.facts.leaves import Count, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import Source, Tree

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_DRM = "/sys/class/drm"
_MODULE = "/sys/module/amdgpu"
_XGMI = "11"
"""HSA_IOLINKTYPE_XGMI of hsakmttypes.h."""
_BUILT_IN = frozenset((
    "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1103", "gfx1150", "gfx1151",
    "gfx1152", "gfx1153",
))  # fmt: skip
"""Of processors for laptops and desktops ("APU" in LLVM's "User Guide for AMDGPU Backend"): a torch that uses them
is the exception."""


def counted(tree: Tree, env: Mapping[str, str]) -> Count:
    """GPUs of AMD that a rank started here would see."""
    if tree.exists("/dev/kfd") is not True:
        return 0
    gpus = [_unique_id(rows) for rows in _nodes(tree)]
    return len(hip_mask.chosen(env, gpus))


def _nodes(tree: Tree) -> Iterator[Mapping[str, str]]:
    """The properties of each node that is a GPU and is given to us."""
    for name in or_none(tree.names(_NODES, absent=())) or ():
        rows = or_none(tree.rows(f"{_NODES}/{name}/properties", " ")) or {}
        is_gpu = _number(rows, "simd_count") > 0 and _gfx(rows) not in _BUILT_IN
        if is_gpu and tree.exists(f"/dev/dri/renderD{_number(rows, 'drm_render_minor')}") is True:
            yield {**rows, "node": name}


def _number(rows: Mapping[str, str], name: str) -> int:
    """0 where the kernel does not tell; it writes numbers of up to 64 bits."""
    text = rows.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else 0


def _unique_id(rows: Mapping[str, str]) -> str:
    return f"GPU-{_number(rows, 'unique_id'):016x}"


def _gfx(rows: Mapping[str, str]) -> str:
    """90402 -> gfx942, 90010 -> gfx90a: two digits each of which the last two are written as one."""
    number = _number(rows, "gfx_target_version")
    return f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"


def amd(tree: Tree) -> Amd:
    """The driver and its GPUs."""
    driver = _driver(tree)
    return Amd(driver=driver, gpus=() if driver == "" else _gpus(tree))


def _driver(tree: Tree) -> Text:
    """The driver of a kernel has no version of its own; AMD's package gives it one."""
    loaded = tree.exists(_MODULE)
    if loaded is False:
        return ""
    return then(loaded, lambda _: tree.text(f"{_MODULE}/version"))


@or_unknown
def _gpus(tree: Tree) -> tuple[AmdGpu, ...]:
    known(tree.names(_NODES, absent=()))
    return tuple(_gpu(tree, rows) for rows in _nodes(tree))


def _gpu(tree: Tree, rows: Mapping[str, str]) -> AmdGpu:
    minor = _number(rows, "drm_render_minor")
    device = f"{_DRM}/renderD{minor}/device"
    return AmdGpu(
        pci=_address(rows),
        render_minor=minor,
        unique_id=_unique_id(rows) if _number(rows, "unique_id") else Unknown("the driver reports none"),
        name=tree.text(f"{device}/product_name"),
        gfx=_gfx(rows),
        memory_bytes=tree.number(f"{device}/mem_info_vram_total"),
        vbios=tree.text(f"{device}/vbios_version"),
        numa_node=tree.number(f"{device}/numa_node"),
        xgmi_peers=_xgmi_peers(tree, rows["node"]),
        compute_partition=_mode(tree, f"{device}/current_compute_partition"),
        memory_partition=_mode(tree, f"{device}/current_memory_partition"),
    )


def _address(rows: Mapping[str, str]) -> str:
    """location_id is the bus, the device and the function: 0x0528 -> 05:05.0."""
    domain, place = _number(rows, "domain"), _number(rows, "location_id")
    return f"{domain:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 0x7}"


@or_unknown
def _xgmi_peers(tree: Tree, node: str) -> int:
    folder = f"{_NODES}/{node}/io_links"
    links = (tree.row(f"{folder}/{name}/properties", "type", " ") for name in known(tree.names(folder, absent=())))
    return sum(known(kind) == _XGMI for kind in links)


def _mode(tree: Tree, path: str) -> Text:
    return tree.text(path) if tree.exists(path) is not False else ""


SOURCES = (
    Source("amd-visible", "amd", lambda tree, env, seconds: Amd(visible_gpus=counted(tree, env))),
    Source.quick("amd", "amd", amd),
)
