"""torch.cuda, as far as a program without kernels of its own sees it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch

from tests.papergpu.driver import Driver, cuda_error
from tests.papergpu.streams import Point, Stream, slept

_CLOCK_HZ = 1_980_000_000
"""Of an H100's multiprocessors."""


class Cuda:
    """The functions; each has the name that it has in torch.cuda."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._handles: dict[int, Any] = {}

    def _index(self, device: Any = None) -> int:
        if device is None or isinstance(device, int):
            return self.driver.checked(device)
        return self.driver.checked(torch.device(device).index)

    def _at(self, device: Any = None) -> Any:
        return self.driver.devices[self._index(device)]

    # devices

    def is_available(self) -> bool:
        return self.driver.is_available()

    def device_count(self) -> int:
        return self.driver.counted()

    def is_initialized(self) -> bool:
        return self.driver.initialised

    def init(self) -> None:
        self.driver.start()

    _lazy_init = init

    def set_device(self, device: Any) -> None:
        self.driver.choose(self._index(device))

    def current_device(self) -> int:
        return self.driver.checked(None)

    def get_device_name(self, device: Any = None) -> str:
        return str(self.get_device_properties(device).name)

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        self._index(device)
        return (9, 4) if self.driver.machine.vendor == "amd" else (9, 0)

    def get_device_properties(self, device: Any = None) -> Any:
        machine = self.driver.machine
        self.driver.start()
        index = device if isinstance(device, int) else torch.device(device or "cuda").index
        index = self.driver.current if index is None else index
        if not 0 <= index < len(self.driver.devices):
            raise AssertionError("Invalid device id")
        return SimpleNamespace(
            name=machine.gpu_name,
            uuid=self.driver.uuid(index),
            total_memory=machine.memory_bytes,
            major=9,
            minor=0,
            multi_processor_count=132,
            clock_rate=_CLOCK_HZ // 1000,
            gcnArchName="gfx942:sramecc+:xnack-" if machine.vendor == "amd" else "",
        )

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        return True

    def can_device_access_peer(self, device: Any, peer: Any) -> bool:
        return True

    @contextmanager
    def device(self, device: Any) -> Iterator[None]:
        before = self.driver.current
        self.driver.choose(self._index(device))
        try:
            yield
        finally:
            self.driver.choose(before)

    # queues

    def synchronize(self, device: Any = None) -> None:
        index = self._index(device)
        self.driver.devices[index].default.tail.pass_by()
        self.driver.stream(index).tail.pass_by()
        for stream in PaperStream.of(index):
            stream.queue.tail.pass_by()
        self._index(device)

    def current_stream(self, device: Any = None) -> "PaperStream":
        index = self._index(device)
        return PaperStream.around(self.driver.stream(index), index)

    def default_stream(self, device: Any = None) -> "PaperStream":
        index = self._index(device)
        return PaperStream.around(self.driver.devices[index].default, index)

    def set_stream(self, stream: "PaperStream | None") -> None:
        if stream is not None:
            self.driver.set_stream(stream.queue, stream.device.index)

    @contextmanager
    def stream(self, stream: "PaperStream | None") -> Iterator[None]:
        if stream is None:
            yield
            return
        with self.driver.on(stream.queue, stream.device.index):
            yield

    def _sleep(self, cycles: int) -> None:
        driver, seconds = self.driver, cycles / _CLOCK_HZ
        if driver.nodes is not None:
            driver.nodes.append(lambda: driver.stream().put(slept(seconds)))
        elif driver.machine.kernel_s is not None:
            driver.stream().launch(seconds)
        else:
            driver.stream().put(slept(seconds))

    def is_current_stream_capturing(self) -> bool:
        return self.driver.nodes is not None

    @contextmanager
    def graph(self, graph: "PaperGraph", pool: Any = None, stream: Any = None, **_: Any) -> Iterator[None]:
        self.synchronize()
        graph.capture_begin()
        try:
            yield
        finally:
            graph.capture_end()

    def graph_pool_handle(self) -> tuple[int, int]:
        return (0, 1)

    # memory

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        return self.driver.free_and_total(self._index(device))

    def memory_allocated(self, device: Any = None) -> int:
        return int(self._at(device).allocated)

    memory_reserved = memory_allocated

    def max_memory_allocated(self, device: Any = None) -> int:
        return int(self._at(device).peak)

    max_memory_reserved = max_memory_allocated

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        at = self._at(device)
        at.peak = at.allocated

    def memory_stats(self, device: Any = None) -> dict[str, int]:
        at = self._at(device)
        names = ("allocated_bytes.all", "reserved_bytes.all", "active_bytes.all")
        values = {f"{name}.current": at.allocated for name in names} | {f"{name}.peak": at.peak for name in names}
        return values | {"num_alloc_retries": 0, "num_ooms": 0}

    def empty_cache(self) -> None:
        self.driver.start()

    def set_per_process_memory_fraction(self, fraction: float, device: Any = None) -> None:
        self._index(device)

    # numbers by chance are those of the host

    def manual_seed(self, seed: int) -> None:
        self.driver.start()

    manual_seed_all = manual_seed

    def get_rng_state(self, device: Any = "cuda") -> Any:
        return torch.get_rng_state()

    def set_rng_state(self, state: Any, device: Any = "cuda") -> None:
        torch.set_rng_state(state)


class PaperStream:
    """torch.cuda.Stream."""

    driver: Driver
    _all: dict[int, "PaperStream"] = {}  # noqa: RUF012

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        index = None if device is None else device if isinstance(device, int) else torch.device(device).index
        self._set(Stream("side"), self.driver.checked(index))
        self._all[id(self.queue)] = self

    def _set(self, queue: Stream, index: int) -> None:
        self.queue, self.device = queue, torch.device("cuda", index)
        self.device_index, self.device_type = index, 1
        self.stream_id = self.cuda_stream = id(queue)

    @classmethod
    def of(cls, index: int) -> list["PaperStream"]:
        return [one for one in list(cls._all.values()) if one.device.index == index]

    @classmethod
    def around(cls, queue: Stream, index: int) -> "PaperStream":
        if id(queue) not in cls._all:
            one = cls.__new__(cls)
            one._set(queue, index)
            cls._all[id(queue)] = one
        return cls._all[id(queue)]

    def wait_event(self, event: "PaperEvent") -> None:
        if event.point is not None:
            self.queue.join(event.point)

    def wait_stream(self, stream: "PaperStream") -> None:
        self.queue.join(stream.queue.mark())

    def record_event(self, event: "PaperEvent | None" = None) -> "PaperEvent":
        event = event or PaperEvent()
        event.record(self)
        return event

    def query(self) -> bool:
        return self.queue.tail.is_past

    def synchronize(self) -> None:
        self.queue.tail.pass_by()
        self.driver.checked(None)

    def __enter__(self) -> "PaperStream":
        self._before = self.driver.set_stream(self.queue, self.device.index)
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.set_stream(self._before, self.device.index)


class PaperEvent:
    """torch.cuda.Event."""

    driver: Driver

    def __init__(self, enable_timing: bool = False, blocking: bool = False, **_: Any) -> None:
        self._timed = enable_timing
        self.point: Point | None = None

    def record(self, stream: PaperStream | None = None) -> None:
        self.driver.checked(None)
        self.point = (stream.queue if stream else self.driver.stream()).mark()

    def query(self) -> bool:
        self.driver.checked(None)
        return self.point is None or self.point.is_past

    def synchronize(self) -> None:
        if self.point is not None:
            self.point.pass_by()
        self.driver.checked(None)

    def wait(self, stream: PaperStream | None = None) -> None:
        if self.point is not None:
            (stream.queue if stream else self.driver.stream()).join(self.point)

    def elapsed_time(self, end: "PaperEvent") -> float:
        """Milliseconds."""
        if self.point is None or end.point is None or not (self._timed and end._timed):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.point.is_past and end.point.is_past):
            raise cuda_error("CUDA error: device not ready")
        return (end.point.ns - self.point.ns) / 1e6


class PaperGraph:
    """torch.cuda.CUDAGraph: what was queued while it was captured, to be queued again."""

    driver: Driver

    def __init__(self, keep_graph: bool = False) -> None:
        self._nodes: list[Any] = []

    def capture_begin(self, *_: Any, **__: Any) -> None:
        self.driver.nodes = self._nodes = []

    def capture_end(self) -> None:
        self.driver.nodes = None
        if not self._nodes:
            raise cuda_error("CUDA error: the captured graph is empty")

    def replay(self) -> None:
        self.driver.checked(None)
        for node in self._nodes:
            node()

    def pool(self) -> tuple[int, int]:
        return (0, 1)

    def reset(self) -> None:
        self._nodes = []


def install(driver: Driver) -> None:
    """The names in torch.cuda, and who asks for the accelerator in general."""
    module: Any = torch.cuda
    cuda = Cuda(driver)
    PaperStream.driver = PaperEvent.driver = PaperGraph.driver = driver
    for name in dir(Cuda):
        if callable(getattr(Cuda, name)) and (not name.startswith("_") or name in ("_sleep", "_lazy_init")):
            setattr(module, name, getattr(cuda, name))
    module.Stream, module.Event, module.CUDAGraph = PaperStream, PaperEvent, PaperGraph
    for name in (
        "memory_allocated",
        "max_memory_allocated",
        "mem_get_info",
        "memory_stats",
        "empty_cache",
        "reset_peak_memory_stats",
        "memory_reserved",
        "max_memory_reserved",
    ):
        setattr(module.memory, name, getattr(cuda, name))
    module.nccl.version = lambda: driver.machine.nccl_version
    is_amd = driver.machine.vendor == "amd"
    version: Any = torch.version
    version.cuda, version.hip = (
        (None, driver.machine.cuda_version) if is_amd else (driver.machine.cuda_version, None)
    )
    _accelerator(cuda)


def _accelerator(cuda: Cuda) -> None:
    general: Any = torch.accelerator
    device = torch.device("cuda")
    general.current_accelerator = lambda check_available=False: device
    general.is_available = cuda.is_available
    general.device_count = cuda.device_count
    general.current_device_index = general.current_device_idx = cuda.current_device
    general.set_device_index = general.set_device_idx = cuda.set_device
    general.current_stream, general.set_stream = cuda.current_stream, cuda.set_stream
    general.synchronize = cuda.synchronize
    inner: Any = torch._C
    inner._get_accelerator = lambda check=None: device
    autocast: Any = torch.autocast
    original = autocast.__init__

    def init(self: Any, device_type: str, *words: Any, **options: Any) -> None:
        original(self, "cpu" if device_type == "cuda" else device_type, *words, **options)

    autocast.__init__ = init


def patch_fsdp1(driver: Driver) -> None:
    """It makes a device of a number alone, which a torch for CPUs refuses in C++."""
    module: Any = import_module("torch.distributed.fsdp._init_utils")
    original = module._get_compute_device

    def compute_device(root: Any, ignored: Any, asked: Any, rank: int, handle: Any) -> Any:
        named = SimpleNamespace(current_device=lambda: torch.device("cuda", driver.checked(None)))
        return original(root, ignored, asked, rank, named)

    module._get_compute_device = compute_device
