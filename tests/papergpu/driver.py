"""The driver as one process meets it: which devices it sees, may use, and what is queued on them."""

import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from tests.papergpu.machine import PaperMachine, uuid_of, visible
from tests.papergpu.streams import Stream

ASYNC = """
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be \
incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""
BUSY = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"
_NVML_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"
_MIB = 1 << 20


def cuda_error(text: str) -> RuntimeError:
    """As torch raises what a CUDA call returned."""
    error: RuntimeError = torch.AcceleratorError(text + ASYNC)
    return error


@dataclass
class Device:
    """One GPU, as this process uses it."""

    number: int
    """Of the machine."""
    default: Stream = field(default_factory=Stream)
    allocated: int = 0
    peak: int = 0


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.current = 0
        self.streams: dict[int, Stream] = {}


class Driver:
    """What is visible, in use, and queued."""

    def __init__(self, machine: PaperMachine) -> None:
        self.machine = machine
        self.initialised = False
        self._touched = self._used_before_fork = False
        self._devices: tuple[Device, ...] = ()
        self._mine = _OfThread()
        self.failed: Callable[[], BaseException] | None = None
        """Makes the exception of each call, once a kernel has failed: the context is lost."""
        self.nodes: list[Callable[[], object]] | None = None
        """What a graph that is being captured replays; None = no capture."""
        self.on_start: list[Callable[[], None]] = []
        self.kernels: list[tuple[str, str, int, int]] | None = None
        """What a profiler has seen of the device; None = none looks."""
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self._used_before_fork = self._used_before_fork or self._touched
        self.initialised = self._touched = False

    def _sees(self) -> bool:
        ranks = self.machine.usable_ranks
        return ranks is None or "RANK" not in os.environ or int(os.environ["RANK"]) in ranks

    def counted(self) -> int:
        """By NVML, which touches no device; where it cannot answer, by CUDA."""
        if self.machine.torch_usable is False or not self._sees():
            return 0
        seen = len(visible(os.environ, self.machine))
        if seen and (self.machine.nvml_error or self.machine.vendor == "amd"):
            return self._counted_by_cuda()
        return seen

    def is_available(self) -> bool:
        if os.environ.get(_NVML_CHECK) == "1":
            return self.counted() > 0
        return self._counted_by_cuda() > 0

    def _counted_by_cuda(self) -> int:
        """Touches the driver: a child that is forked later cannot use it."""
        if self.machine.torch_usable is False or not self._sees():
            return 0
        if isinstance(self.machine.torch_usable, str):
            warnings.warn(f"CUDA initialization: {self.machine.torch_usable}", stacklevel=4)
            return 0
        self._touched = True
        return len(visible(os.environ, self.machine))

    def start(self) -> None:
        """What torch does at the first use of a device."""
        if self.initialised:
            return
        if self._used_before_fork:
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
                "the 'spawn' start method"
            )
        if self.machine.torch_usable is False:
            raise AssertionError("Torch not compiled with CUDA enabled")
        if isinstance(self.machine.torch_usable, str):
            raise RuntimeError(self.machine.torch_usable)
        seen = visible(os.environ, self.machine) if self._sees() else ()
        if not seen:
            raise RuntimeError("No CUDA GPUs are available")
        time.sleep(self.machine.start_s)
        self._devices = tuple(Device(number) for number in seen)
        self.initialised = self._touched = True
        for call in self.on_start:
            call()

    @property
    def devices(self) -> tuple[Device, ...]:
        self.start()
        return self._devices

    def checked(self, index: int | None) -> int:
        """The number of a device that there is. Raises as CUDA does."""
        devices = self.devices
        index = self._mine.current if index is None else index
        if not 0 <= index < len(devices):
            raise cuda_error("CUDA error: invalid device ordinal")
        if self.failed is not None:
            raise self.failed()
        if devices[index].number == self.machine.dead_gpu:
            raise cuda_error(BUSY)
        return index

    @property
    def current(self) -> int:
        return self._mine.current

    def choose(self, index: int) -> None:
        self._mine.current = self.checked(index)

    def uuid(self, index: int) -> str:
        return uuid_of(self.machine, self.devices[index].number)

    @property
    def address(self) -> str:
        """Of the GPU in use: host and UUID."""
        return f"{socket.gethostname()}/{self.uuid(self._mine.current)}"

    # streams

    def stream(self, index: int | None = None) -> Stream:
        """The current one of a device."""
        at = self._mine.current if index is None else index
        return self._mine.streams.get(at) or self.devices[at].default

    @contextmanager
    def on(self, stream: Stream, index: int) -> Iterator[None]:
        """Calls of this thread go there."""
        before = self.set_stream(stream, index)
        try:
            yield
        finally:
            self.set_stream(before, index)

    def set_stream(self, stream: Stream, index: int) -> Stream:
        """Returns the one before."""
        before, self._mine.streams[index] = self.stream(index), stream
        return before

    def drain(self) -> None:
        """Wait for what the current stream waits for: the host is about to compute."""
        if self.initialised:
            self.stream().drain()
            if self.failed is not None:
                raise self.failed()

    def pass_by(self) -> None:
        """The same, and the host is about to read what the device has computed by its own clock."""
        self.drain()
        if self.initialised:
            self.stream().tail.pass_by()

    def launch(self, name: str) -> None:
        """An operator keeps the current stream busy."""
        if self.machine.kernel_s is not None:
            end = self.stream().launch(self.machine.kernel_s)
            self.note(name, end - round(self.machine.kernel_s * 1e9), end)

    def note(self, name: str, begin: int, end: int, call: str = "") -> None:
        """What the device did, for a profiler. `call`: the collective, as torch names it."""
        if self.kernels is not None:
            self.kernels.append((name, call, begin, end))

    # memory

    def free_and_total(self, index: int) -> tuple[int, int]:
        device, machine = self.devices[index], self.machine
        free = machine.memory_bytes if machine.free_bytes is None else machine.free_bytes[device.number]
        return max(0, free - device.allocated), machine.memory_bytes

    def allocate(self, index: int, size: int) -> None:
        """Raises as torch does when there is no room."""
        device, (free, total) = self.devices[index], self.free_and_total(index)
        if size > free:
            raise self.no_room(index, size, free, total)
        device.allocated += size
        device.peak = max(device.peak, device.allocated)

    def no_room(self, index: int, size: int, free: int, total: int) -> RuntimeError:
        """As torch raises it."""
        mine = self.devices[index].allocated
        error: RuntimeError = torch.OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {_told(size)}. GPU {index} has a total capacity of "
            f"{_told(total)} of which {_told(free)} is free. Including non-PyTorch memory, this process has "
            f"{_told(mine)} memory in use. Of the allocated memory {_told(mine)} is allocated by PyTorch, and "
            "0 bytes is reserved by PyTorch but unallocated."
        )
        return error

    def release(self, index: int, size: int) -> None:
        self.devices[index].allocated -= size


def _told(size: int) -> str:
    return f"{size / (_MIB << 10):.2f} GiB" if size >= _MIB << 10 else f"{size / _MIB:.2f} MiB"
