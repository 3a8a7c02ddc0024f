"""GPUs as NVML sees them: NVLink, fabric, ECC, persistence. It may hang with the driver: mind the deadline."""

from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar
from uuid import UUID

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Gpu, Nvidia, NvLink
from nccltool.hosts.facts.leaves import all_unknown
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

T = TypeVar("T")
U = TypeVar("U")

_COMPUTE_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
_FABRIC_STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
_REMOTE = {0: "gpu", 1: "cpu", 2: "switch"}
_MOST_LINKS = 36
"""More than any GPU has; the first that NVML calls invalid ends the list."""


def read(tree: Tree) -> Nvidia:
    """What NVML says; without a driver it is not even imported."""
    if not tree.live:
        return _cannot(CAPTURED)
    if tree.exists("/proc/driver/nvidia/version") is not True:
        return _cannot("no NVIDIA driver is loaded")
    try:
        nvml = import_module("pynvml")
    except ImportError:
        return _cannot("the Python package nvidia-ml-py is not installed")
    return ask(nvml)


def _cannot(why: str) -> Nvidia:
    return Nvidia(nvml=Unknown(why), cuda=Unknown(why))


def ask(nvml: ModuleType | Any) -> Nvidia:
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
            remote=_asked(nvml, nvml.nvmlDeviceGetNvLinkRemoteDeviceType, _remote, handle, number),
            remote_pci=_asked(nvml, nvml.nvmlDeviceGetNvLinkRemotePciInfo, _pci, handle, number),
        )


def _remote(kind: int) -> str:
    return _REMOTE.get(kind, "unknown")


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


SOURCES = (Source.quick("nvml", "nvidia", read),)
