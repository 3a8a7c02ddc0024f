"""Answers of NVML for the GPUs of a paper machine, in the shape of the package nvidia-ml-py."""

import ctypes
import time
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from tests.captured_hosts.formats.pci import gpu_address
from tests.captured_hosts.kinds import WSL, Kind
from tests.papergpu.machine import PaperMachine

_LINKS = 18
T = TypeVar("T")


class NVMLError(Exception):
    """str() is NVML's word."""


class NVMLError_NotSupported(NVMLError):
    def __init__(self) -> None:
        super().__init__("Not Supported")


class _FabricInfo(ctypes.Structure):
    _fields_ = (
        ("clusterUuid", ctypes.c_uint8 * 16),
        ("status", ctypes.c_uint),
        ("cliqueId", ctypes.c_uint32),
        ("state", ctypes.c_uint8),
    )


def library(machine: PaperMachine, kind: Kind) -> ModuleType:
    """A module that answers as NVML does on such a machine. A handle is the number of a GPU."""
    module = ModuleType("pynvml")
    answers = _Answers(machine, kind)
    for name in (name for name in dir(answers) if name.startswith("nvml")):
        setattr(module, name, getattr(answers, name))
    module.NVMLError, module.NVMLError_NotSupported = NVMLError, NVMLError_NotSupported  # type: ignore[attr-defined]
    module.c_nvmlGpuFabricInfo_v2_t, module.byref = _FabricInfo, lambda info: info  # type: ignore[attr-defined]
    return module


class _Answers:
    def __init__(self, machine: PaperMachine, kind: Kind) -> None:
        self._machine, self._kind = machine, kind
        self._given = tuple(range(kind.gpus)) if kind.given is None else kind.given

    def nvmlInit(self) -> None:
        if self._machine.torch_usable is False or isinstance(self._machine.torch_usable, str):
            return  # the driver works; torch does not

    def nvmlShutdown(self) -> None:
        """Nothing is held."""

    def nvmlSystemGetDriverVersion(self) -> str:
        return self._kind.driver

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return 12080

    def nvmlSystemGetNVMLVersion(self) -> str:
        return f"12.{self._kind.driver}"

    def nvmlDeviceGetCount(self) -> int:
        return len(self._given)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if self._given[index] == self._machine.dead_gpu:
            raise NVMLError("GPU is lost")
        return self._given[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:
        for index, number in enumerate(self._given):
            if self._kind.uuid(number) == uuid:
                return self.nvmlDeviceGetHandleByIndex(index)
        raise NVMLError("Not Found")

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> int:
        """Of a GPU that takes 500 W: millijoules."""
        return round(time.monotonic() * 500_000)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return SimpleNamespace(gpu=97, memory=20)

    def nvmlDeviceGetPciInfo(self, handle: int) -> Any:
        address = f"0000:{0xC1 + handle:02x}:00.0" if self._kind.make is WSL else gpu_address(handle)
        return SimpleNamespace(busId=f"0000{address}".upper())

    def nvmlDeviceGetMinorNumber(self, handle: int) -> int:
        return handle

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return self._kind.uuid(handle)

    def nvmlDeviceGetName(self, handle: int) -> str:
        return self._kind.gpu

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:
        return divmod(round(self._kind.compute_capability * 10), 10)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        total = self._kind.gpu_memory_bytes
        free = self._machine.free_bytes[handle] if self._machine.free_bytes else total
        return SimpleNamespace(total=total, free=free, used=total - free)

    def nvmlDeviceGetPersistenceMode(self, handle: int) -> int:
        return 1

    def nvmlDeviceGetEccMode(self, handle: int) -> list[int]:
        return self._of_a_server([1, 1])

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        return [1, 1] if self._kind.mig_instances else self._of_a_server([0, 0])

    def nvmlDeviceGetComputeMode(self, handle: int) -> int:
        return 0

    def nvmlDeviceGetVbiosVersion(self, handle: int) -> str:
        return "96.00.BC.00.01"

    def nvmlDeviceGetGspFirmwareVersion(self, handle: int) -> str:
        return self._kind.driver

    def nvmlDeviceGetRemappedRows(self, handle: int) -> tuple[int, int, int, int]:
        return self._of_a_server((0, 0, 0, 0))

    def nvmlDeviceGetTotalEccErrors(self, handle: int, error: int, counter: int) -> int:
        return self._of_a_server(0)

    def nvmlDeviceGetNumaNodeId(self, handle: int) -> int:
        return handle * self._kind.nodes // self._kind.gpus

    def nvmlDeviceGetNvLinkState(self, handle: int, link: int) -> int:
        if not self._kind.nvlink or link >= _LINKS:
            raise NVMLError("Invalid Argument")
        return 1

    def nvmlDeviceGetNvLinkVersion(self, handle: int, link: int) -> int:
        return self._kind.nvlink_version

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, handle: int, link: int) -> int:
        return 2

    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle: int, link: int) -> Any:
        return SimpleNamespace(busId="00000000:01:00.0")

    def nvmlDeviceGetGpuFabricInfoV(self, handle: int, info: _FabricInfo) -> None:
        if not self._kind.nvlink:
            raise NVMLError_NotSupported
        info.state, info.status, info.cliqueId = 3, 0, 0
        info.clusterUuid[:] = UUID(self._kind.cluster_uuid).bytes

    def _of_a_server(self, answer: T) -> T:
        if not self._kind.nvlink:
            raise NVMLError_NotSupported
        return answer
