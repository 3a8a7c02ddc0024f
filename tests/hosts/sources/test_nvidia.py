"""What NVML says, from a library that answers like it; and where it is asked."""

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Gpu, NvLink, known
from nccltool.hosts.sources import nvidia
from nccltool.hosts.sources.base import Tree
from tests.hosts.sources.test_sources import tree


class NVMLError(Exception):
    """As in pynvml: str() is NVML's word for the code."""


class NotSupported(NVMLError):
    def __str__(self) -> str:
        return "Not Supported"


class FabricInfo(ctypes.Structure):
    _fields_ = (
        ("clusterUuid", ctypes.c_uint8 * 16),
        ("status", ctypes.c_uint),
        ("cliqueId", ctypes.c_uint32),
        ("state", ctypes.c_uint8),
    )


class Nvml:
    """Two GPUs with two links each."""

    NVMLError, NVMLError_NotSupported = NVMLError, NotSupported
    c_nvmlGpuFabricInfo_v2_t = FabricInfo
    byref = staticmethod(lambda struct: struct)

    def __init__(self) -> None:
        self.open = 0

    def nvmlInit(self) -> None:
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return "570.124.06"

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return 12080

    def nvmlSystemGetNVMLVersion(self) -> bytes:
        return b"12.570.124.06"

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetPciInfo(self, handle: int) -> Any:
        return SimpleNamespace(busId=f"00000000:{0x2B - handle * 0x10:02X}:00.0")

    def nvmlDeviceGetMinorNumber(self, handle: int) -> int:
        return handle

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"

    def nvmlDeviceGetName(self, handle: int) -> bytes:
        return b"NVIDIA H200"

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:
        return 9, 0

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(total=141 << 30)

    def nvmlDeviceGetPersistenceMode(self, handle: int) -> int:
        return 1

    def nvmlDeviceGetEccMode(self, handle: int) -> list[int]:
        return [1, 1]

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        raise NotSupported

    def nvmlDeviceGetComputeMode(self, handle: int) -> int:
        return 3

    def nvmlDeviceGetVbiosVersion(self, handle: int) -> str:
        return "96.00.bc"

    def nvmlDeviceGetGspFirmwareVersion(self, handle: int) -> str:
        raise NotSupported

    def nvmlDeviceGetRemappedRows(self, handle: int) -> tuple[int, int, int, int]:
        return 0, 1, 1, 0

    def nvmlDeviceGetTotalEccErrors(self, handle: int, error: int, counter: int) -> int:
        assert (error, counter) == (1, 0)  # uncorrected, volatile
        return 4

    def nvmlDeviceGetNumaNodeId(self, handle: int) -> int:
        return 1

    def nvmlDeviceGetNvLinkState(self, handle: int, link: int) -> int:
        if link > 1:
            raise NVMLError("Invalid Argument")
        return int(link == 0)

    def nvmlDeviceGetNvLinkVersion(self, handle: int, link: int) -> int:
        return 4

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, handle: int, link: int) -> int:
        return 2

    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle: int, link: int) -> Any:
        return SimpleNamespace(busId=b"00000000:05:00.0")

    def nvmlDeviceGetGpuFabricInfoV(self, handle: int, info: FabricInfo) -> int:
        info.state, info.status, info.cliqueId = 3, 0, 7
        info.clusterUuid[0] = 0xAB
        return 0


class NoDriver(Nvml):
    def nvmlInit(self) -> None:
        raise NVMLError("Driver Not Loaded")


class FellOff(Nvml):
    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index == 1:
            raise NVMLError("GPU is lost")
        return index


def test_a_gpu() -> None:
    library = Nvml()
    found = nvidia.ask_nvml(library)
    assert library.open == 0
    assert (found.driver, found.cuda, found.nvml, found.source) == ("570.124.06", "12.8", "12.570.124.06", "nvml")
    gpus = known(found.gpus)
    assert [gpu.pci for gpu in gpus] == ["0000:1b:00.0", "0000:2b:00.0"]
    assert gpus[1] == Gpu(
        pci="0000:2b:00.0",
        minor=0,
        uuid="GPU-0",
        name="NVIDIA H200",
        compute_capability=9.0,
        memory_bytes=141 << 30,
        persistence=True,
        ecc=True,
        mig=None,
        compute_mode="exclusive process",
        vbios="96.00.bc",
        gsp_firmware=Unknown("NVML: Not Supported"),
        row_remap_pending=True,
        uncorrected_ecc=4,
        nvlinks=(
            NvLink(number=0, active=True, version=4, remote="switch", remote_pci="0000:05:00.0"),
            NvLink(number=1, active=False),
        ),
        fabric_state="completed",
        fabric_status="success",
        cluster_uuid="ab000000-0000-0000-0000-000000000000",
        clique_id=7,
        numa_node=1,
    )


def test_no_driver_is_a_reason() -> None:
    found = nvidia.ask_nvml(NoDriver())
    assert found.nvml == found.cuda == Unknown("NVML: Driver Not Loaded")


def test_a_gpu_that_fell_off_the_bus_leaves_the_others() -> None:
    first, second = known(nvidia.ask_nvml(FellOff()).gpus)
    assert (first.pci, second.pci, second.name) == ("0000:2b:00.0", "GPU 1 of NVML", Unknown("NVML: GPU is lost"))


def test_the_functions_are_those_of_the_package() -> None:
    pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    ours = {name for name in vars(Nvml) if name.startswith(("nvml", "c_nvml"))}
    assert {name for name in ours if not hasattr(pynvml, name)} == set()
    assert {name for name, _ in pynvml.c_nvmlGpuFabricInfo_v2_t._fields_} >= {
        name for name, _ in FabricInfo._fields_
    }


def test_a_captured_tree_does_not_ask_the_library_of_this_host(tmp_path: Any) -> None:
    assert nvidia.nvml(Tree.at(tmp_path), {}).nvml == Unknown("not in a captured tree")


@pytest.mark.parametrize(
    ("mask", "count"), [(None, 2), ("0", 1), ("GPU-1", 1), ("GPU-", 0), ("GPU-1,GPU-0", 2), ("", 0)]
)
def test_where_no_file_tells_nvml_counts(mask: str | None, count: int) -> None:
    env = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    assert nvidia.counted_by_nvml(nvidia.ask_nvml(Nvml()), env).visible_gpus == count
    assert isinstance(nvidia.counted_by_nvml(nvidia.ask_nvml(NoDriver()), env).visible_gpus, Unknown)


@pytest.mark.parametrize("device", ["dev/dxg", "dev/nvidiactl"])
def test_a_driver_whose_files_in_proc_are_hidden_is_not_none(tmp_path: Path, device: str) -> None:
    """Under Windows, and in a container that masks them: NVML is asked."""
    host = tree(tmp_path, {"proc/self/status": "x", device: ""})
    found = nvidia.nvidia(host)
    assert isinstance(found.driver, Unknown)
    assert isinstance(found.gpus, Unknown)
    assert nvidia.nvidia(tree(tmp_path / "bare", {"proc/self/status": "x"})).driver == ""
