"""From real stacks to phases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.attach.phases.match import phase_of
from nccltool.attach.phases.result import Phase, PhaseKind
from nccltool.attach.seen.process import StackFrame, ThreadStack
from tests.attach.phases.captured import FOLDER, ranks, stacks

BACKWARD = "train.py:98 train_step"
SLEEPS = "train.py:106 evaluate_forever"
# job, rank, kind from Python's frames, kind with native frames, operation, line of the program
CASES: list[tuple[str, str, PhaseKind, PhaseKind, str, str]] = [
    ("async", "0", "code", "async", "", "train.py:150 go_wrong"),
    ("async", "1", "code", "sleeping", "", SLEEPS),
    ("barrier", "0", "collective", "collective", "barrier", "train.py:147 go_wrong"),
    ("batches", "0", "gradients", "gradients", "", BACKWARD),
    ("batches", "1", "collective", "collective", "barrier", "train.py:226 main"),
    ("busy", "1", "computing", "computing", "", "train.py:113 compute_forever"),
    ("checkpoint", "0", "collective", "collective", "barrier", "train.py:126 save"),
    ("checkpoint", "1", "checkpoint", "checkpoint", "", "train.py:52 write"),
    ("compile", "0", "gradients", "gradients", "", BACKWARD),
    ("compile", "1", "compiling", "compiling", "", "train.py:173 alone"),
    ("ddp-sleep", "0", "gradients", "gradients", "", BACKWARD),
    ("ddp-sleep", "1", "code", "sleeping", "", SLEEPS),
    ("fsdp-batches", "0", "parameters", "parameters", "all_gather_single", "train.py:97 train_step"),
    ("fsdp-sleep", "0", "parameters", "parameters", "all_gather_single", "train.py:97 train_step"),
    ("gather-object", "0", "collective", "collective", "all_gather_object", "train.py:152 go_wrong"),
    ("gil", "1", "gil", "gil", "", "train.py:166 alone"),
    ("imports", "1", "importing", "importing", "", "a.py:2 <module>"),
    ("loader", "1", "loader", "loader", "", "train.py:188 batches"),
    ("loader-main", "1", "loading", "loading", "", "train.py:36 __getitem__"),
    ("lock", "1", "lock", "lock", "", "train.py:179 alone"),
    ("never-joins", "0", "rendezvous", "rendezvous", "init_process_group", "train.py:211 main"),
    ("new-group", "0", "store", "store", "new_group", "train.py:145 go_wrong"),
    ("order", "0", "collective", "collective", "all_reduce", "train.py:140 go_wrong"),
    ("order", "1", "collective", "collective", "broadcast", "train.py:137 go_wrong"),
    ("pipeline-sleep", "0", "point-to-point", "point-to-point", "send", "train.py:84 pipeline_step"),
    ("pipeline-sleep", "2", "point-to-point", "point-to-point", "recv", "train.py:80 pipeline_step"),
]


def _phase(job: str, rank: str, how: str) -> Phase:
    seen = ranks(job)[rank]
    share = 1.0 if seen["state"] == "R" else 0.0
    return phase_of(stacks(job, rank, how), state=seen["state"], cpu_share=share, children=seen["children"])


@pytest.mark.parametrize(("job", "rank", "python", "native", "operation", "where"), CASES)
def test_real_stacks(job: str, rank: str, python: str, native: str, operation: str, where: str) -> None:
    plain, deep = _phase(job, rank, "python"), _phase(job, rank, "native")
    assert (plain.kind, plain.operation) == (python, operation)
    assert (deep.kind, deep.operation) == (native, operation)
    if job != "compile":
        assert plain.where == deep.where == where


def test_every_captured_job_is_tried() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == {case[0] for case in CASES}


def test_backward_without_the_cpu_time_stays_open() -> None:
    """Python's frames alone do not tell DDP's wait from the work of autograd."""
    assert phase_of(stacks("ddp-sleep", "0"), state="S").kind == "backward"
    assert phase_of(stacks("ddp-sleep", "0"), state="R").kind == "computing"
    assert phase_of(stacks("ddp-sleep", "0", "native"), state="S").kind == "gradients"


def _stack(*frames: tuple[str, str], text: str = "", **more: bool) -> tuple[ThreadStack, ...]:
    told = tuple(
        StackFrame(name=name, file=file, line=7, text="" if place else text)
        for place, (name, file) in enumerate((*frames, MAIN))
    )
    return (ThreadStack(pid=1, name="MainThread", trains=True, frames=told, **more),)


C10D = "/v/site-packages/torch/distributed/distributed_c10d.py"
OWN = ("step", "/home/me/train.py")
MAIN = ("<module>", "/home/me/train.py")
LIB = "/v/site-packages/torch/lib/libtorch_cuda.so"
NCCL = "/v/site-packages/nvidia/nccl/lib/libnccl.so.2"


@pytest.mark.parametrize(
    ("frames", "kind", "row"),
    [
        (
            [("cudaMemcpyAsync", LIB), ("at::native::_local_scalar_dense_cuda(at::Tensor const&)", LIB), OWN],
            "gpu",
            18,
        ),
        ([("clock_gettime", "vdso"), ("0x7f", "libcuda.so.1"), ("cudaStreamSynchronize", LIB), OWN], "gpu", 19),
        ([("synchronize", "/v/site-packages/torch/cuda/__init__.py"), OWN], "gpu", 19),
        (
            [
                ("poll", "libc"),
                ("c10d::TCPStore::doWait", LIB),
                ("c10d::ProcessGroupNCCL::broadcastUniqueNCCLID", LIB),
            ],
            "nccl-id",
            20,
        ),
        ([("nanosleep", "libc"), ("ncclGroupEndInternal", NCCL), ("all_reduce", C10D), OWN], "nccl-init", 21),
        ([("recv", "libc"), ("ncclProxyCallBlocking", NCCL), ("ncclTransportP2pSetup", NCCL)], "nccl-connect", 22),
        ([("ncclStrongStreamSynchronize", NCCL), ("commDestroySync", NCCL)], "nccl-abort", 23),
        ([("cuModuleLoadData", "libcuda.so.1"), OWN], "cuda-start", 26),
        ([("barrier", C10D), ("destroy_process_group", C10D), OWN], "leaving", 27),
        (
            [
                ("reduce_scatter", C10D),
                ("_save_state_dict", "/v/site-packages/torch/distributed/checkpoint/x.py"),
                OWN,
            ],
            "checkpoint-wait",
            7,
        ),
        ([("write", "/v/site-packages/torch/distributed/checkpoint/filesystem.py"), OWN], "checkpoint", 8),
        (
            [("SSLSocket.read", "/usr/lib/python3.11/ssl.py"), ("log", "/v/site-packages/wandb/x.py"), OWN],
            "network",
            17,
        ),
        ([("Popen._wait", "/usr/lib/python3.11/subprocess.py"), OWN], "program", None),
        (
            [
                ("Condition.wait", "/usr/lib/python3.11/threading.py"),
                ("Queue.get", "/usr/lib/python3.11/queue.py"),
                (
                    "_MultiProcessingDataLoaderIter._try_get_data",
                    "/v/site-packages/torch/utils/data/dataloader.py",
                ),
            ],
            "loader",
            9,
        ),
        ([("wait", "/usr/lib/python3.10/threading.py"), OWN], "lock", 16),
    ],
)
def test_rows_of_public_stacks(frames: list[tuple[str, str]], kind: str, row: int | None) -> None:
    """Those of CUDA and NCCL have been read, and not been taken here."""
    found = phase_of(_stack(*frames), state="S", cpu_share=0.0)
    assert (found.kind, found.row) == (kind, row)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("work.wait()", "async"),
        ("loss = losses.mean().item()", "gpu"),
        ("time.sleep(30)", "sleeping"),
        ("value = store.get('key')", "store"),
        ("x = f(y)", "code"),
    ],
)
def test_the_source_line_tells_calls_of_c(text: str, kind: str) -> None:
    assert phase_of(_stack(OWN, text=text), state="S", cpu_share=0.0).kind == kind


def test_a_lock_in_a_busy_process_is_no_wait() -> None:
    frames = [("wait", "/usr/lib/python3.11/threading.py"), OWN]
    assert phase_of(_stack(*frames), state="R", cpu_share=0.9).kind == "computing"


def test_compilers_among_the_children() -> None:
    frames = [("Popen._wait", "/usr/lib/python3.11/subprocess.py"), OWN]
    assert phase_of(_stack(*frames), state="S", cpu_share=0.0, children=["ptxas"]).kind == "compiling"


def test_what_atexit_calls_has_no_caller() -> None:
    frames = (StackFrame(name="upload", file="/home/me/train.py", line=5, text="time.sleep(1)"),)
    stack = ThreadStack(pid=1, name="MainThread", trains=True, frames=frames)
    assert phase_of([stack], state="S", cpu_share=0.0).kind == "leaving"


def test_a_compiler_that_is_imported_does_not_compile() -> None:
    package = "/x/site-packages/torch/_dynamo/convert_frame.py"
    imports = [("_find_and_load", "<frozen importlib._bootstrap>"), OWN]
    assert phase_of(_stack(("<module>", package), *imports), state="R", cpu_share=1.0).kind == "importing"
    assert phase_of(_stack(("compile_inner", package), *imports), state="R", cpu_share=1.0).kind == "compiling"


@pytest.mark.parametrize(
    ("innermost", "in_a_module", "kind"),
    [
        (("readinto", "/usr/lib/python3.11/socket.py"), False, "leaving"),
        (("readinto", "/usr/lib/python3.11/socket.py"), True, "network"),
        (("save", "/x/site-packages/torch/serialization.py"), False, "leaving"),
        (("barrier", "/x/site-packages/torch/distributed/distributed_c10d.py"), False, "collective"),
    ],
)
def test_what_atexit_calls_may_do(innermost: tuple[str, str], in_a_module: bool, kind: str) -> None:
    """It uploads logs and writes files; in a collective, it waits for others."""
    frames = [innermost, ("upload", "/home/me/train.py")] + [("<module>", "/home/me/train.py")] * in_a_module
    seen = tuple(StackFrame(name=name, file=file, line=3) for name, file in frames)
    stack = ThreadStack(pid=1, name="MainThread", trains=True, frames=seen, active=False)
    assert phase_of([stack], state="S", cpu_share=0.0).kind == kind


def test_a_thread_begins_in_threading_and_does_not_end_the_process() -> None:
    frames = [("loop", "/home/me/train.py"), ("Thread._bootstrap", "/usr/lib/python3.11/threading.py")]
    seen = tuple(StackFrame(name=name, file=file, line=3) for name, file in frames)
    assert phase_of([ThreadStack(pid=1, name="T", trains=True, frames=seen)], state="S").kind == "code"


def test_no_stack() -> None:
    assert phase_of([]).reason == "no stack of the thread that trains"


_NAMES = st.text(max_size=30) | st.sampled_from(
    ["all_reduce", "c10d::Work::wait", "_find_and_load", "a.b.<locals>.c"]
)
_FILES = st.text(max_size=30) | st.sampled_from([C10D, "/home/me/train.py", "<string>", LIB])
_FRAMES = st.builds(
    StackFrame, name=_NAMES, file=_FILES, line=st.none() | st.integers(), text=st.text(max_size=30)
)


@given(st.lists(_FRAMES, max_size=12), st.sampled_from("RSDTZ"), st.none() | st.floats(0, 1))
def test_any_frames_have_a_phase(frames: list[StackFrame], state: str, share: float | None) -> None:
    stack = ThreadStack(pid=1, name="MainThread", trains=True, frames=tuple(frames))
    found = phase_of([stack], state=state, cpu_share=share)
    assert found.text
    assert (found.kind == "unknown") == (not frames)
