"""GPUs of NVIDIA: device files, what /proc/driver/nvidia says, what NVML says (it may hang with the driver).

None of them uses CUDA: a process that has used it cannot fork ranks that use it.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar
from uuid import UUID

from msgspec.structs import replace

from nccltool.core.text import whole
from nccltool.core.unknown import Unknown
from nccltool.hosts import cuda_mask
from nccltool.hosts.facts import Gpu, Nvidia, NvLink, Setting, Text
from nccltool.hosts.facts.leaves import Count, NotKnown, all_unknown, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

T = TypeVar("T")
U = TypeVar("U")
_COMPUTE_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
_FABRIC_STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
_REMOTE = {0: "gpu", 1: "cpu", 2: "switch"}
_MOST_LINKS = 36
"""More than any GPU has; the first that NVML calls invalid ends the list."""
_DRIVER = "/proc/driver/nvidia"
_CHANNELS = "/dev/nvidia-caps-imex-channels"
_DEVICE = re.compile(r"nvidia\d{1,4}")
_WINDOWS = "/dev/dxg"
"""What WSL2 has in place of a driver's device files."""
_UNCOUNTED = Unknown(f"{_WINDOWS} does not show how many GPUs Windows shares")


def counted(tree: Tree, env: Mapping[str, str]) -> Count:
    """GPUs of NVIDIA that a rank started here would see.

    The devices are /dev/nvidiaN, which is also what a container was given; NVIDIA_VISIBLE_DEVICES speaks to what
    makes containers, not to CUDA. Of a GPU in MIG mode CUDA finds one instance only, and then no other GPU: "CUDA
    Device Enumeration" of the MIG User Guide.
    """
    minors = sorted(int(name[6:]) for name in or_none(tree.names("/dev")) or () if _DEVICE.fullmatch(name))
    if not minors:
        return _lent(tree, env)
    # a driver in trouble may hang whoever reads its files: they are read for masks that need them only
    uuids = _uuids(tree, minors) if cuda_mask.has_uuids(env) else [None] * len(minors)
    seen = [minors[place] for place in cuda_mask.chosen(env, uuids)]
    return min(len(seen), 1) if any(_has_instances(tree, minor) for minor in seen) else len(seen)


def _lent(tree: Tree, env: Mapping[str, str]) -> Count:
    """GPUs that Windows lends."""
    is_masked = not cuda_mask.chosen(env, [None])
    return 0 if is_masked else then(tree.exists(_WINDOWS), lambda there: _UNCOUNTED if there else 0)


def _uuids(tree: Tree, minors: list[int]) -> list[str | None]:
    gpus = _listed(tree)
    told = {gpu.minor: or_none(gpu.uuid) for gpu in gpus} if isinstance(gpus, tuple) else {}
    return [told.get(minor) for minor in minors]


def _has_instances(tree: Tree, minor: int) -> bool:
    names = or_none(tree.names(f"{_DRIVER}/capabilities/gpu{minor}/mig")) or ()
    return any(name.startswith("gi") for name in names)


def nvidia(tree: Tree) -> Nvidia:
    """Driver, parameters, GPUs, and who may reach their memory."""
    driver, flavour = _version(tree)
    return Nvidia(
        driver=driver,
        flavour=flavour,
        params=() if driver == "" else _params(tree),
        gpus=() if driver == "" else _listed(tree),
        memory_peers=tree.names("/sys/kernel/mm/memory_peers", absent=()),
        imex_channels=_channels(tree),
        source=_DRIVER,
    )


def _version(tree: Tree) -> tuple[Text, Text]:
    """(570.124.06, open or proprietary); '' when no driver is loaded."""
    text = tree.text(f"{_DRIVER}/version")
    if isinstance(text, Unknown):
        gone = tree.exists("/proc/self/status") is True and tree.exists(_DRIVER) is False
        return ("", "") if gone and not _is_used(tree) else (text, text)
    # NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (...)
    match = re.search(r"NVIDIA UNIX\b.*?Kernel Module\b.*?\s(\d+(?:\.\d+)+)", text)
    if match is None:
        why = Unknown(f"unexpected format of {_DRIVER}/version: {text[:80]!r}")
        return why, why
    return match[1], "open" if "Open Kernel Module" in text else "proprietary"


def _is_used(tree: Tree) -> bool:
    """There is a driver whose files in /proc may be hidden: in a container, or under Windows."""
    return True in (tree.exists("/dev/nvidiactl"), tree.exists(_WINDOWS))


@or_unknown
def _params(tree: Tree) -> tuple[Setting, ...]:
    rows = (line.partition(":") for line in known(tree.lines(f"{_DRIVER}/params")))
    return tuple(Setting(name=name.strip(), value=value.strip().strip('"')) for name, _, value in rows)


@or_unknown
def _listed(tree: Tree) -> tuple[Gpu, ...]:
    return tuple(_described(tree, address) for address in known(tree.names(f"{_DRIVER}/gpus")))


def _described(tree: Tree, address: str) -> Gpu:
    rows = tree.rows(f"{_DRIVER}/gpus/{address}/information")
    if isinstance(rows, Unknown):
        return all_unknown(Gpu, rows.reason, pci=address)
    minor = whole(rows.get("Device Minor", ""))
    return all_unknown(
        Gpu,
        "only NVML reports it",
        pci=address,
        minor=Unknown(f"{_DRIVER}/gpus has no Device Minor") if minor is None else minor,
        uuid=_told(rows, "GPU UUID"),
        name=_told(rows, "Model"),
        vbios=_told(rows, "Video BIOS"),
        gsp_firmware=_told(rows, "GPU Firmware"),
        numa_node=tree.number(f"/sys/bus/pci/devices/{address}/numa_node"),
    )


def _told(rows: Mapping[str, str], name: str) -> Text:
    """The driver writes question marks for what it has not asked the GPU yet."""
    value = rows.get(name, "")
    return value if value and "??" not in value and value != "N/A" else Unknown(f"{_DRIVER}/gpus has no {name}")


@or_unknown
def _channels(tree: Tree) -> tuple[str, ...]:
    paths = [f"{_CHANNELS}/{name}" for name in known(tree.names(_CHANNELS, absent=()))]
    if paths and not tree.live:
        raise NotKnown(CAPTURED)
    return tuple(path for path in paths if os.access(path, os.R_OK | os.W_OK))


def nvml(tree: Tree, env: Mapping[str, str]) -> Nvidia:
    """What NVML says; without a driver it is not even imported. In WSL2 only NVML knows how many there are."""
    if not tree.live:
        return _cannot(CAPTURED)
    if tree.exists(f"{_DRIVER}/version") is not True and not _is_used(tree):
        return _cannot("no NVIDIA driver loaded")
    try:
        library = import_module("pynvml")
    except ImportError:
        return _cannot("nvidia-ml-py is not installed")
    told = ask_nvml(library)
    return counted_by_nvml(told, env) if tree.exists(_WINDOWS) is True else told


def counted_by_nvml(told: Nvidia, env: Mapping[str, str]) -> Nvidia:
    """With the number of GPUs that a rank would see."""
    if isinstance(told.gpus, Unknown):
        return told
    return replace(told, visible_gpus=len(cuda_mask.chosen(env, [or_none(gpu.uuid) for gpu in told.gpus])))


def _cannot(why: str) -> Nvidia:
    return Nvidia(nvml=Unknown(why), cuda=Unknown(why))


def ask_nvml(nvml: ModuleType | Any) -> Nvidia:
    """Ask a library of NVML's functions. NVML's error at the start makes all of it unknown."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return _cannot(f"NVML: {error}")
    try:
        version = nvml.nvmlSystemGetCudaDriverVersion_v2
        return Nvidia(
            driver=_asked(nvml, nvml.nvmlSystemGetDriverVersion, _text),
            cuda=_asked(nvml, version, lambda number: f"{number // 1000}.{number % 1000 // 10}"),
            gpus=_asked(nvml, nvml.nvmlDeviceGetCount, lambda count: _gpus(nvml, count)),
            nvml=_asked(nvml, nvml.nvmlSystemGetNVMLVersion, _text),
            source="nvml",
        )
    finally:
        nvml.nvmlShutdown()


def _asked(nvml: Any, function: Callable[..., T], change: Callable[[T], U], *given: Any) -> U | Unknown:
    """The changed answer of one function; its refusal is the reason."""
    try:
        return change(function(*given))
    except nvml.NVMLError as error:
        return Unknown(f"NVML: {error}")


def _mode(nvml: Any, function: Callable[..., T], change: Callable[[T], U], handle: Any) -> U | Unknown | None:
    """As above; None for a mode that the GPU does not have."""
    try:
        return change(function(handle))
    except nvml.NVMLError_NotSupported:
        return None
    except nvml.NVMLError as error:
        return Unknown(f"NVML: {error}")


def _text(value: str | bytes) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def _gpus(nvml: Any, count: int) -> tuple[Gpu, ...]:
    return tuple(sorted((_gpu(nvml, index) for index in range(count)), key=lambda gpu: gpu.pci))


def _gpu(nvml: Any, index: int) -> Gpu:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        address = _pci(nvml.nvmlDeviceGetPciInfo(handle))
    except nvml.NVMLError as error:  # it fell off the bus
        return all_unknown(Gpu, f"NVML: {error}", pci=f"GPU {index} of NVML")
    return Gpu(
        pci=address,
        minor=_asked(nvml, nvml.nvmlDeviceGetMinorNumber, int, handle),
        uuid=_asked(nvml, nvml.nvmlDeviceGetUUID, _text, handle),
        name=_asked(nvml, nvml.nvmlDeviceGetName, _text, handle),
        compute_capability=_asked(
            nvml, nvml.nvmlDeviceGetCudaComputeCapability, lambda pair: pair[0] + pair[1] / 10, handle
        ),
        memory_bytes=_asked(nvml, nvml.nvmlDeviceGetMemoryInfo, lambda info: int(info.total), handle),
        persistence=_asked(nvml, nvml.nvmlDeviceGetPersistenceMode, bool, handle),
        ecc=_mode(nvml, nvml.nvmlDeviceGetEccMode, lambda pair: bool(pair[0]), handle),
        mig=_mode(nvml, nvml.nvmlDeviceGetMigMode, lambda pair: bool(pair[0]), handle),
        compute_mode=_asked(nvml, nvml.nvmlDeviceGetComputeMode, lambda n: _COMPUTE_MODES.get(n, str(n)), handle),
        vbios=_asked(nvml, nvml.nvmlDeviceGetVbiosVersion, _text, handle),
        gsp_firmware=_asked(nvml, nvml.nvmlDeviceGetGspFirmwareVersion, _text, handle),
        row_remap_pending=_mode(nvml, nvml.nvmlDeviceGetRemappedRows, lambda rows: bool(rows[2]), handle),
        uncorrected_ecc=_mode(nvml, lambda device: nvml.nvmlDeviceGetTotalEccErrors(device, 1, 0), int, handle),
        nvlinks=tuple(_nvlinks(nvml, handle)),
        numa_node=_asked(nvml, nvml.nvmlDeviceGetNumaNodeId, int, handle),
        **_fabric(nvml, handle),
    )


def _pci(info: Any) -> str:
    """NVML writes 00000000:18:00.0, sysfs 0000:18:00.0."""
    return _text(info.busId).lower().removeprefix("0000")


def _nvlinks(nvml: Any, handle: Any) -> Iterator[NvLink]:
    for number in range(_MOST_LINKS):
        try:
            active = bool(nvml.nvmlDeviceGetNvLinkState(handle, number))
        except nvml.NVMLError:  # the GPU has no more links
            return
        if not active:
            yield NvLink(number=number, active=False)
            continue
        yield NvLink(
            number=number,
            active=True,
            version=_asked(nvml, nvml.nvmlDeviceGetNvLinkVersion, int, handle, number),
            remote=_asked(
                nvml,
                nvml.nvmlDeviceGetNvLinkRemoteDeviceType,
                lambda kind: _REMOTE.get(kind, "unknown"),
                handle,
                number,
            ),
            remote_pci=_asked(nvml, nvml.nvmlDeviceGetNvLinkRemotePciInfo, _pci, handle, number),
        )


def _fabric(nvml: Any, handle: Any) -> dict[str, Any]:
    names = ("fabric_state", "fabric_status", "cluster_uuid", "clique_id")
    info = nvml.c_nvmlGpuFabricInfo_v2_t()
    done = _asked(nvml, nvml.nvmlDeviceGetGpuFabricInfoV, lambda _: True, handle, nvml.byref(info))
    if isinstance(done, Unknown):
        return dict.fromkeys(names, done)
    state = _FABRIC_STATES.get(info.state, f"state {info.state}")
    status = "success" if info.status == 0 else str(nvml.NVMLError(info.status))
    uuid = str(UUID(bytes=bytes(info.clusterUuid)))
    return dict(zip(names, (state, status, uuid, int(info.cliqueId)), strict=True))


SOURCES = (
    Source("visible", "nvidia", lambda tree, env, seconds: Nvidia(visible_gpus=counted(tree, env))),
    Source.quick("nvidia", "nvidia", nvidia),
    Source("nvml", "nvidia", lambda tree, env, seconds: nvml(tree, env)),
)
