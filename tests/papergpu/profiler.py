"""torch.profiler, as far as it sees kernels: those of a device that does not exist, by the device's own clock."""

import gzip
import json
import time
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile

from tests.papergpu.driver import Driver


def install(driver: Driver) -> None:
    """A torch for CPUs prints a stack for each operator when it is asked for the events of CUDA."""
    profiler: Any = profile
    init, start, export = profiler.__init__, profiler.start, profiler.export_chrome_trace

    def without_cuda(self: Any, *, activities: Any = None, **options: Any) -> None:
        self.sees_kernels = activities is None or ProfilerActivity.CUDA in activities
        init(self, activities=[ProfilerActivity.CPU], **options)

    def started(self: Any) -> None:
        if self.sees_kernels:
            driver.kernels = []
        start(self)

    def exported(self: Any, path: str) -> None:
        export(self, path)
        if self.sees_kernels:
            _add(Path(path), driver)

    profiler.__init__, profiler.start, profiler.export_chrome_trace = without_cuda, started, exported


def _add(file: Path, driver: Driver) -> None:
    """In Kineto's format, whose times count from `baseTimeNanoseconds` of the clock of the host."""
    packs = file.suffix == ".gz"
    packed = file.read_bytes()
    document = json.loads(gzip.decompress(packed) if packs else packed)
    apart = time.time_ns() - time.perf_counter_ns() - int(document.get("baseTimeNanoseconds", 0))
    document["traceEvents"] += [
        {
            "ph": "X",
            "cat": "kernel",
            "name": name,
            "ts": (begin + apart) / 1e3,
            "dur": (end - begin) / 1e3,
            "args": {"Collective name": call, "Process Group Name": "0"} if call else {},
        }
        for name, call, begin, end in driver.kernels or ()
    ]
    driver.kernels = None
    plain = json.dumps(document).encode()
    file.write_bytes(gzip.compress(plain) if packs else plain)
