"""NCCL's watchdog: a call that is not done in the time of its group, or a device that failed, ends the process."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.papergpu.streams import Point

_LOOK_S = 0.1
"""As often as kWatchdogThreadSleepMillis says in torch."""
_FILE = "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"


@dataclass
class Call:
    """A collective that was queued."""

    number: int
    op: str
    numel_in: int
    numel_out: int
    group: str
    """As its lines name it: 0(default_pg)."""
    group_number: int
    rank: int
    """In its group."""
    timeout_s: float
    done: Point
    since: float = field(default_factory=time.monotonic)

    def told(self) -> str:
        return (
            f"WorkNCCL(SeqNum={self.number}, OpType={self.op}, NumelIn={self.numel_in}, "
            f"NumelOut={self.numel_out}, Timeout(ms)={round(self.timeout_s * 1000)})"
        )


def _line(number: int, text: str) -> str:
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now)).lstrip("0")
    rank, ns = os.environ.get("RANK", "0"), int(now % 1 * 1e9)
    return f"[rank{rank}]:[E{stamp}.{ns:09d} ProcessGroupNCCL.cpp:{number}] {text}"


_FRAMES = (
    "c10::Error::Error(c10::SourceLocation, std::__cxx11::basic_string<char, std::char_traits<char>, "
    "std::allocator<char> >) + 0x9d (0x7f0a6a36afad in {torch}/libc10.so)",
    "c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, std::ratio<1l, "
    "1000l> > >) + 0x2b1 (0x7f0a1d1e3611 in {torch}/libtorch_cuda.so)",
    "c10d::ProcessGroupNCCL::Watchdog::runLoop() + 0x14f1 (0x7f0a1d1ef3b1 in {torch}/libtorch_cuda.so)",
    "c10d::ProcessGroupNCCL::Watchdog::run() + 0x10d (0x7f0a1d1f093d in {torch}/libtorch_cuda.so)",
    "<unknown function> + 0xdc253 (0x7f0a6c0dc253 in /lib/x86_64-linux-gnu/libstdc++.so.6)",
    "<unknown function> + 0x94ac3 (0x7f0a6d294ac3 in /lib/x86_64-linux-gnu/libc.so.6)",
    "clone + 0x44 (0x7f0a6d325a04 in /lib/x86_64-linux-gnu/libc.so.6)",
)


def _frames(origin: str) -> list[str]:
    torch = "/opt/venv/lib/python3.12/site-packages/torch/lib"
    return [
        f"Exception raised from {origin} (most recent call first):",
        *(f"frame #{number}: {frame.format(torch=torch)}" for number, frame in enumerate(_FRAMES)),
    ]


def time_out(call: Call, last_queued: int, last_done: int) -> list[str]:
    """What is printed when a call takes too long."""
    ran_ms = round((time.monotonic() - call.since) * 1000)
    text = (
        f"[Rank {call.rank}] Watchdog caught collective operation timeout: {call.told()} ran for {ran_ms} "
        "milliseconds before timing out."
    )
    return [
        _line(685, text),
        _line(
            2241,
            f"{_prefix(call)}  failure detected by watchdog at work sequence id: {call.number} PG status: last "
            f"enqueued work: {last_queued}, last completed work: {last_done}",
        ),
        _line(
            732,
            "Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You "
            "can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.",
        ),
        *_taken_down(call.rank),
        *_terminated(call, text, f"checkTimeout at {_FILE}:688"),
    ]


def device_lost(call: Call, said: str) -> list[str]:
    """What is printed when asking the device about a call fails."""
    origin = "c10_cuda_check_implementation at /pytorch/c10/cuda/CUDAException.cpp:44"
    return _terminated(call, said, origin)


def remote_lost(call: Call, said: str) -> list[str]:
    """What is printed when a communicator has an asynchronous error."""
    text = f"[Rank {call.rank}] Collective {call.told()} raised the following async exception: {said}"
    origin = f"checkForNCCLErrorsInternal at {_FILE}:2476"
    return [_line(629, text), *_frames(origin), *_taken_down(call.rank), *_terminated(call, said, origin)]


def _prefix(call: Call) -> str:
    return f"[PG ID {call.group_number} PG GUID {call.group} Rank {call.rank}]"


def _taken_down(rank: int) -> list[str]:
    return [
        _line(
            818,
            f"[Rank {rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
            "kernels, subsequent GPU operations might run on corrupted/incomplete data.",
        ),
        _line(832, f"[Rank {rank}] To avoid data inconsistency, we are taking the entire process down."),
    ]


def _terminated(call: Call, text: str, origin: str) -> list[str]:
    ended = f"{_prefix(call)} Process group watchdog thread terminated with exception: {text}"
    return [
        _line(2057, ended),
        *_frames(origin),
        "",
        "terminate called after throwing an instance of 'c10::DistBackendError'",
        f"  what():  {ended}",
        *_frames(origin),
        "",
    ]


class Watchdog:
    """Looks at what is queued, once there is something."""

    def __init__(self, lost: Callable[[], str | None]) -> None:
        """`lost`: what is said of the device once it has failed."""
        self._lost = lost
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._last_done: dict[int, int] = {}
        self._started = False

    def add(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)
            if not self._started:
                self._started = True
                threading.Thread(target=self._run, name="nccl watchdog", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_S)
            with self._lock:
                lines = self._look()
            if lines:
                os.write(2, ("\n".join(lines) + "\n").encode())
                os.abort()

    def _look(self) -> list[str]:
        said = self._lost()
        if said and self._calls:
            return (remote_lost if said.startswith("NCCL") else device_lost)(self._calls[-1], said)
        for call in self._calls:
            if call.done.ns:
                self._last_done[call.group_number] = call.number
        self._calls = [call for call in self._calls if not call.done.ns]
        now = time.monotonic()
        late = next((call for call in self._calls if now - call.since > call.timeout_s), None)
        if late is None:
            return []
        last = max(call.number for call in self._calls if call.group_number == late.group_number)
        return time_out(late, last, self._last_done.get(late.group_number, 0))
