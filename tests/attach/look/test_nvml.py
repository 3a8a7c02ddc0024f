"""What NVML says, by a library of its functions."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from nccltool.attach.look import nvml


class NVMLError(Exception):
    """As in nvidia-ml-py."""


class FakeLibrary:
    """Two GPUs: one answers, one fell off the bus."""

    NVMLError = NVMLError

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.is_shut = False

    def nvmlInit(self) -> None:
        if "init" in self.answers:
            raise NVMLError(self.answers["init"])

    def nvmlShutdown(self) -> None:
        self.is_shut = True

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index:
            raise NVMLError("GPU is lost")
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> bytes:
        return b"GPU-1"

    def nvmlDeviceGetPciInfo(self, handle: int) -> Any:
        return SimpleNamespace(busId=b"00000000:07:00.0")

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return SimpleNamespace(gpu=100, memory=3)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return 127430

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: int) -> int:
        raise NVMLError("Not Supported")

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:
        assert kind == 1
        return 1980

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: int) -> int:
        return 0x40

    def nvmlDeviceGetTotalEccErrors(self, handle: int, kind: int, counter: int) -> int:
        assert (kind, counter) == (1, 0)
        return 2

    def nvmlDeviceGetNvLinkState(self, handle: int, link: int) -> int:
        if link > 2:
            raise NVMLError("Invalid Argument")
        return int(link != 1)

    def nvmlDeviceGetNvLinkErrorCounter(self, handle: int, link: int, kind: int) -> int:
        if kind:
            raise NVMLError("Not Supported")
        return 5 if link == 2 else 0

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return [SimpleNamespace(pid=4711, usedGpuMemory=1)]


def test_gpus() -> None:
    library = FakeLibrary()
    first, second = nvml.states(library)
    assert (first.uuid, first.bus, first.utilization, first.power_w) == ("GPU-1", "0000:07:00.0", 1.0, 127.43)
    assert (first.clock_mhz, first.slowed_by, first.uncorrected_errors) == (1980, ("hw_thermal_slowdown",), 2)
    assert first.pids == (4711,)
    assert (first.links_up, first.links_down, first.link_errors) == (2, 1, 5)
    # refused, or not in this version of the library
    assert (first.power_limit_w, first.highest_clock_mhz, first.memory_bytes) == (None, None, None)
    assert (second.index, second.uuid, second.utilization, second.pids) == (1, "", None, None)
    assert (second.links_up, second.links_down, second.link_errors) == (None, None, None)
    assert library.is_shut


def test_nvml_that_does_not_start() -> None:
    with pytest.raises(NVMLError):
        list(nvml.states(FakeLibrary(init="Driver Not Loaded")))


def test_as_a_process(tmp_path: Any) -> None:
    (tmp_path / "pynvml.py").write_text(
        "class NVMLError(Exception): pass\ndef nvmlInit(): raise NVMLError('Driver/library version mismatch')\n"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from nccltool.attach.look.nvml import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "NVML: Driver/library version mismatch\n")
