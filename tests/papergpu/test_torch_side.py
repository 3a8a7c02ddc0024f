"""What torch says and does on a paper machine, asked in children of this process."""

import faulthandler
import os
import signal
import sys
import traceback
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch.distributed  # noqa: F401  once for all children

from tests.papergpu import torch_side
from tests.papergpu.machine import GIB, PaperFault, PaperMachine
from tests.support.commands import until

pytestmark = pytest.mark.torch

TWO = PaperMachine(name="two", gpus=2)
AMD = replace(TWO, name="amd", vendor="amd", gpu_name="AMD Instinct MI300X", cuda_version="6.4")
LIMIT_S = 90.0
FORK = """
def forked(call):
    pid = os.fork()
    if not pid:
        try:
            call()
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0], flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
"""
BEGIN = """
import os, time, torch, torch.distributed as dist
from datetime import timedelta
"""
WORLD = """
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
here = torch.device("cuda", rank)
store = dist.FileStore(os.environ["STORE"], 2)
dist.init_process_group("nccl", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=TIMEOUT))
"""


@dataclass(frozen=True)
class Program:
    """A text of Python that runs in a child of this process, which has imported torch."""

    pid: int
    folder: Path

    def ended(self) -> tuple[int, str, str]:
        """(exit code, standard output, standard error)."""
        codes: list[int] = []

        def gone() -> bool:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            codes.extend([os.waitstatus_to_exitcode(status)] if pid else [])
            return bool(pid)

        if not until(gone, LIMIT_S):
            os.kill(self.pid, signal.SIGKILL)
            raise AssertionError(f"not done in {LIMIT_S} s: {self._text('err')}")
        return codes[0], self._text("out"), self._text("err")

    def _text(self, name: str) -> str:
        return (self.folder / name).read_text()


def started(machine: PaperMachine, folder: Path, text: str, **env: str) -> Program:
    pid = os.fork()
    if pid:
        return Program(pid, folder)
    code = 1
    try:
        faulthandler.disable()  # that of pytest
        for number, name in enumerate(("out", "err"), 1):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        os.environ.update(env)
        warnings.simplefilter("ignore")
        torch_side.install(machine)
        exec(BEGIN + FORK + text, {})
        code = 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def said(machine: PaperMachine, folder: Path, text: str, **env: str) -> str:
    """What a program prints there."""
    code, out, err = started(machine, folder, text, **env).ended()
    assert code == 0, err
    return out.strip()


def two_ranks(
    machine: PaperMachine, folder: Path, text: str, timeout_s: float = 60.0
) -> list[tuple[int, str, str]]:
    """(exit code, standard output, standard error) of each of two ranks."""
    text = WORLD.replace("TIMEOUT", str(timeout_s)) + text
    both = []
    for rank in ("0", "1"):
        (folder / rank).mkdir()
        both.append(started(machine, folder / rank, text, RANK=rank, STORE=str(folder / "store")))
    return [program.ended() for program in both]


@pytest.mark.parametrize(
    ("machine", "env", "expected"),
    [
        (TWO, {}, "True 2 True 12.8 None"),
        pytest.param(TWO, {"CUDA_VISIBLE_DEVICES": "1"}, "True 1 True 12.8 None", marks=pytest.mark.slow),
        pytest.param(TWO, {"CUDA_VISIBLE_DEVICES": ""}, "False 0 True 12.8 None", marks=pytest.mark.slow),
        (AMD, {"HIP_VISIBLE_DEVICES": "1"}, "True 1 True None 6.4"),
        pytest.param(replace(TWO, torch_usable=False), {}, "False 0 False None None", marks=pytest.mark.slow),
        (replace(TWO, torch_usable="too old"), {}, "False 2 True 12.8 None"),
        (replace(TWO, torch_usable="too old"), {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}, "True 2 True 12.8 None"),
        pytest.param(
            replace(TWO, torch_usable="broken", nvml_error="broken"),
            {},
            "False 0 True 12.8 None",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            replace(TWO, usable_ranks=(0,)), {"RANK": "1"}, "False 0 True 12.8 None", marks=pytest.mark.slow
        ),
    ],
)
def test_what_is_there(machine: PaperMachine, env: dict[str, str], expected: str, tmp_path: Path) -> None:
    text = (
        "print(torch.cuda.is_available(), torch.cuda.device_count(), dist.is_nccl_available(), "
        "torch.version.cuda, torch.version.hip)"
    )
    assert said(machine, tmp_path, text, **env) == expected


def test_tensors_say_where_they_are_and_have_their_numbers(tmp_path: Path) -> None:
    text = """
layer = torch.nn.Linear(2, 1, bias=False).to("cuda:1")
torch.nn.init.ones_(layer.weight)
layer(torch.tensor([[1.0, 2.0]], device="cuda:1")).sum().backward()
host = torch.ones(3)
moved = host.to(torch.device("cuda", 0))
moved += 1
print(layer.weight.device, layer.weight.grad.device, layer.weight.grad.tolist())
print(host.device, host.tolist(), moved.device, moved[1:].device, moved.cpu().device, moved.tolist())
print(moved.to("cuda:0") is moved, moved.to("cpu", torch.float64).dtype)
"""
    assert said(TWO, tmp_path, text).splitlines() == [
        "cuda:1 cuda:1 [[1.0, 2.0]]",
        "cpu [1.0, 1.0, 1.0] cuda:0 cuda:0 cpu [2.0, 2.0, 2.0]",
        "True torch.float64",
    ]


def test_memory_is_counted_and_runs_out(tmp_path: Path) -> None:
    text = """
before = torch.cuda.mem_get_info()
held = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
print(before, torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0] - before[0])
del held
print(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated())
try:
    torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    print(error)
"""
    machine = replace(TWO, free_bytes=(2 << 20, 0), memory_bytes=GIB)
    first, second, third = said(machine, tmp_path, text).splitlines()
    assert (first, second) == ("(2097152, 1073741824) 1048576 -1048576", "0 1048576")
    assert third.startswith(
        "CUDA out of memory. Tried to allocate 3.00 MiB. GPU 0 has a total capacity of 1.00 GiB"
    )


@pytest.mark.parametrize(
    ("machine", "text", "expected"),
    [
        (TWO, "torch.cuda.set_device(2)", "AcceleratorError CUDA error: invalid device ordinal"),
        (
            replace(TWO, dead_gpu=1),
            "torch.cuda.set_device(1)",
            "AcceleratorError CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        ),
        (replace(TWO, torch_usable="too old"), "torch.ones(1, device='cuda')", "RuntimeError too old"),
        (
            replace(TWO, torch_usable=False),
            "torch.ones(1, device='cuda')",
            "AssertionError Torch not compiled with CUDA enabled",
        ),
    ],
)
def test_what_cannot_be_used_raises(machine: PaperMachine, text: str, expected: str, tmp_path: Path) -> None:
    assert said(machine, tmp_path, f"forked(lambda: {text})") == expected


@pytest.mark.parametrize(
    ("before", "env", "works"),
    [
        ("torch.cuda.device_count()", {}, True),
        pytest.param(
            "torch.cuda.is_available()", {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}, True, marks=pytest.mark.slow
        ),
        ("torch.cuda.is_available()", {}, False),
        pytest.param("torch.ones(1, device='cuda')", {}, False, marks=pytest.mark.slow),
        pytest.param("torch.cuda.get_device_properties(0)", {}, False, marks=pytest.mark.slow),
    ],
)
def test_what_touches_cuda_before_a_fork_fails_after_it(
    before: str, env: dict[str, str], works: bool, tmp_path: Path
) -> None:
    text = f"{before}\nforked(lambda: print(torch.ones(1, device='cuda').device, flush=True))"
    out = said(TWO, tmp_path, text, **env)
    assert out.startswith("cuda:0" if works else "RuntimeError Cannot re-initialize CUDA in forked subprocess")


def test_calls_return_at_once_and_one_synchronise_runs_them(tmp_path: Path) -> None:
    text = """
tensor = torch.full((4,), float(rank + 1), device=here)
dist.all_reduce(tensor)
torch.cuda.synchronize()
marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
begin = time.monotonic()
marks[0].record()
for mark in marks[1:]:
    dist.all_reduce(tensor)
    mark.record()
queued_s, done = time.monotonic() - begin, marks[2].query()
marks[2].synchronize()
waited_s = time.monotonic() - begin
times = [marks[0].elapsed_time(mark) / 1000 for mark in marks[1:]]
print(dist.get_backend(), queued_s < 0.1, done, waited_s > 0.4, times[0] > 0.2, times[1] > 0.4, tensor.tolist())
"""
    machine = replace(TWO, slow_call_s=0.2)
    for code, out, err in two_ranks(machine, tmp_path, text):
        assert (code, out.strip()) == (0, "nccl True False True True True [12.0, 12.0, 12.0, 12.0]"), err


def test_a_graph_is_replayed_as_often_as_it_is_asked(tmp_path: Path) -> None:
    text = """
tensor = torch.ones(2, device=here)
dist.all_reduce(tensor)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    dist.all_reduce(tensor)
print(tensor.tolist())
graph.replay(), graph.replay()
print(tensor.tolist())
"""
    for code, out, err in two_ranks(TWO, tmp_path, text):
        assert (code, out.splitlines()) == (0, ["[2.0, 2.0]", "[8.0, 8.0]"]), err


def test_two_ranks_on_one_gpu_are_refused_unless_nccl_allows_it(tmp_path: Path) -> None:
    text = """
tensor = torch.ones(1, device=here)
try:
    dist.all_reduce(tensor)
    print(tensor.tolist())
except dist.DistBackendError as error:
    print(str(error).splitlines()[-1])
"""
    alike = text.replace("here)", "'cuda:0')")
    ended = two_ranks(TWO, tmp_path, "torch.cuda.set_device(0)\n" + alike)
    assert [out.strip() for _, out, _ in ended] == [
        "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000",
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
    ]
    (tmp_path / "allowed").mkdir()
    allowed = 'os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"\ntorch.cuda.set_device(0)\n' + alike
    assert [out.strip() for _, out, _ in two_ranks(TWO, tmp_path / "allowed", allowed)] == ["[2.0]", "[2.0]"]


ABSENT = """
tensor = torch.ones(8, device=here)
dist.all_reduce(tensor)
torch.cuda.synchronize()
if rank == 0:
    time.sleep(30)
dist.all_reduce(tensor)
print("queued", flush=True)
torch.cuda.synchronize()
"""


def test_the_watchdog_ends_who_waits_too_long(tmp_path: Path) -> None:
    text = ABSENT.replace("time.sleep(30)", "time.sleep(4)\n    os._exit(0)")
    (first, _, _), (second, out, err) = two_ranks(TWO, tmp_path, text, timeout_s=1.5)
    assert (first, second, out.strip()) == (0, -signal.SIGABRT, "queued")
    lines = err.splitlines()
    assert (
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=8, "
        in err
    )
    assert "NumelOut=8, Timeout(ms)=1500) ran for 1" in err
    assert lines[0].startswith("[rank1]:[E")
    assert "terminate called after throwing an instance of 'c10::DistBackendError'" in lines


@pytest.mark.parametrize(
    ("kind", "raised", "said_by_watchdog"),
    [
        (
            "illegal-access",
            "AcceleratorError CUDA error: an illegal memory access was encountered",
            "illegal memory",
        ),
        pytest.param(
            "ecc",
            "AcceleratorError CUDA error: uncorrectable ECC error encountered",
            "uncorrectable ECC",
            marks=pytest.mark.slow,
        ),
        ("async-error", "DistBackendError NCCL error: remote process exited", "ncclRemoteError"),
        pytest.param(
            "out-of-memory", "OutOfMemoryError CUDA out of memory. Tried to allocate", "", marks=pytest.mark.slow
        ),
        pytest.param("nccl-out-of-memory", "DistBackendError NCCL error in", "", marks=pytest.mark.slow),
    ],
)
def test_a_device_that_fails(kind: str, raised: str, said_by_watchdog: str, tmp_path: Path) -> None:
    text = """
tensor = torch.ones(8, device=here)
dist.all_reduce(tensor)
torch.cuda.synchronize()
if rank == 1:
    try:
        dist.all_reduce(tensor)
        torch.cuda.synchronize()
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0], flush=True)
    time.sleep(WAIT)
os._exit(0)
""".replace("WAIT", "10" if said_by_watchdog else "0")
    machine = replace(TWO, faults=(PaperFault(rank=1, call=1, kind=kind),))
    _, (code, out, err) = two_ranks(machine, tmp_path, text)
    assert out.startswith(raised)
    assert code == (-signal.SIGABRT if said_by_watchdog else 0)
    assert said_by_watchdog in err
