"""Frames and the phase that they show: one row a pattern, data only.

A row matches a frame; `outer` must match some frame further out. From the innermost frame outwards, the first
row that matches a frame wins, except that a weak row gives way to any other row further out: a lock inside a data
loader is the data loader.
"""

import re
from dataclasses import dataclass

from nccltool.attach.phases.result import PhaseKind


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseRow:
    """One pattern."""

    number: int | None
    kind: PhaseKind
    text: str
    """{operation} stands for the function of torch.distributed."""
    name: re.Pattern[str] | None = None
    """The whole name of the function, without its class; of a native frame, a part of the name."""
    file: re.Pattern[str] | None = None
    """The end of the file's name."""
    outer: re.Pattern[str] | None = None
    """In `file:function` of a frame further out."""
    native: bool = False
    weak: bool = False
    anywhere: bool = False
    """Before all others, on any frame."""


def _row(
    number: int | None,
    kind: PhaseKind,
    text: str,
    *,
    name: str = "",
    file: str = "",
    outer: str = "",
    native: bool = False,
    weak: bool = False,
    anywhere: bool = False,
) -> PhaseRow:
    return PhaseRow(
        number=number,
        kind=kind,
        text=text,
        name=re.compile(name) if name else None,
        file=re.compile(rf"(?:{file})$") if file else None,
        outer=re.compile(outer) if outer else None,
        native=native,
        weak=weak,
        anywhere=anywhere,
    )


C10D = r"torch/distributed/distributed_c10d\.py"
_POINT_TO_POINT = r"send|recv|isend|irecv|batch_isend_irecv|send_object_list|recv_object_list"
_COLLECTIVE = (
    r"all_reduce\w*|broadcast\w*|reduce|reduce_\w+|_?all_gather\w*|gather|gather_object|scatter|scatter_object_list"
    r"|_?reduce_scatter\w*|all_to_all\w*|barrier|monitored_barrier"
)
_CHECKPOINT = r"torch/distributed/checkpoint/"
_FSDP = r"torch/distributed/(?:fsdp|_composable/fsdp)/"
_STORE = r"TCPStore::|FileStore::|HashStore::"
_WORK_WAIT = r"c10d::\w*Work::wait|c10d::ProcessGroup\w+::\w*Work::wait"

ROWS = (
    # Compilers and exits have other rows inside: an import, a lock.
    _row(
        14,
        "compiling",
        "compiles code",
        name=r"(?!<module>$).+",  # these modules are imported by the first use of DDP
        file=r"torch/_inductor/(?:compile_fx|graph|scheduler|cpp_builder|codecache|async_compile|codegen/\w+)\.py"
        r"|torch/_dynamo/convert_frame\.py|triton/compiler/\w+\.py|torch/utils/cpp_extension\.py",
        anywhere=True,
    ),
    _row(27, "leaving", "destroys its process group", name=r"destroy_process_group", file=C10D, anywhere=True),
    _row(
        27,
        "leaving",
        "ends its process",
        name=r"_exit_function|_run_exitfuncs",
        file=r"multiprocessing/util\.py|atexit",
        anywhere=True,
    ),
    # Native frames.
    _row(
        7,
        "checkpoint-wait",
        "waits for other ranks in a checkpoint",
        name=_WORK_WAIT,
        outer=_CHECKPOINT,
        native=True,
    ),
    _row(6, "parameters", "waits for parameters (FSDP)", name=_WORK_WAIT, outer=_FSDP, native=True),
    _row(
        4,
        "point-to-point",
        "waits in {operation}",
        name=r"UnboundBuffer::wait(?:Recv|Send)|(?:Send|Recv)Work::wait",
        native=True,
    ),
    _row(
        1, "collective", "waits in {operation}", name=_WORK_WAIT, outer=rf"{C10D}:(?:{_COLLECTIVE})$", native=True
    ),
    _row(3, "async", "waits for an operation that it started before", name=_WORK_WAIT, native=True),
    _row(5, "gradients", "waits for gradients (DDP)", name=r"c10d::Reducer::finalize_backward", native=True),
    _row(20, "nccl-id", "waits for the id of a new communicator", name=r"broadcastUniqueNCCLID", native=True),
    _row(
        12,
        "rendezvous",
        "waits for ranks to join",
        name=r"TCPStore::waitForWorkers",
        native=True,
    ),
    _row(
        20,
        "nccl-id",
        "waits for the id of a new communicator",
        name=_STORE,
        outer=r"broadcastUniqueNCCLID",
        native=True,
    ),
    _row(
        12,
        "rendezvous",
        "waits for ranks to join",
        name=_STORE,
        outer=rf"{C10D}:init_process_group$|rendezvous\.py",
        native=True,
    ),
    _row(11, "store", "waits for a key of the store", name=_STORE, native=True),
    _row(
        18,
        "gpu",
        "waits for the GPU",
        name=r"_local_scalar_dense_cuda|^cudaMemcpy(?:Async)?$|at::native::item",
        native=True,
    ),
    _row(
        19,
        "gpu",
        "waits for the GPU",
        name=r"^(?:cu(?:da)?StreamSynchronize|cu(?:da)?EventSynchronize|cudaDeviceSynchronize|cuCtxSynchronize)",
        native=True,
    ),
    _row(
        22,
        "nccl-connect",
        "waits for NCCL's connections",
        name=r"ncclTransportP2pSetup|ncclProxyConnect|ncclProxyCallBlocking",
        native=True,
    ),
    _row(
        23,
        "nccl-abort",
        "aborts or destroys a communicator",
        name=r"ncclCommAbort|commDestroySync|commReclaim|ncclCommDestroy|ncclStrongStreamSynchronize",
        native=True,
    ),
    _row(
        21,
        "nccl-init",
        "waits for peers while NCCL initializes",
        name=r"ncclGroupEnd|groupLaunch|ncclCommInitRank|bootstrapInit|initTransportsRank",
        native=True,
    ),
    _row(
        26,
        "cuda-start",
        "starts CUDA",
        name=r"^(?:cuModuleLoad|cuLibraryLoad|cuCtxCreate|cuDevicePrimaryCtxRetain|cuInit|cudaGetDeviceCount)",
        native=True,
    ),
    _row(8, "checkpoint", "writes a checkpoint", name=r"PyTorchStreamWriter::|ostream_write_func", native=True),
    _row(27, "leaving", "ends its process", name=r"^Py_Finalize", native=True),
    _row(None, "sleeping", "sleeps", name=r"^time_sleep$", native=True, weak=True),
    # Python frames.
    _row(
        7,
        "checkpoint-wait",
        "waits for other ranks in a checkpoint",
        name=_COLLECTIVE,
        file=C10D,
        outer=_CHECKPOINT,
    ),
    _row(6, "parameters", "waits for parameters (FSDP)", name=_COLLECTIVE, file=C10D, outer=_FSDP),
    _row(4, "point-to-point", "waits in {operation}", name=_POINT_TO_POINT, file=C10D),
    _row(1, "collective", "waits in {operation}", name=_COLLECTIVE, file=C10D),
    _row(
        12,
        "rendezvous",
        "waits for ranks to join",
        name=r"_new_process_group_helper|_store_based_barrier|init_process_group",
        file=C10D,
        outer=rf"{C10D}:init_process_group$",
    ),
    _row(12, "rendezvous", "waits for ranks to join", file=r"torch/distributed/rendezvous\.py"),
    _row(12, "rendezvous", "waits for ranks to join", name="init_process_group", file=C10D),
    _row(
        11,
        "store",
        "waits for a key of the store",
        name=r"_new_process_group_helper|_new_group_with_tag|new_group|split_group|_store_based_barrier",
        file=C10D,
    ),
    _row(
        8,
        "checkpoint",
        "writes a checkpoint",
        name=r"_save|save|_legacy_save|\w*persistent\w*",
        file=r"torch/serialization\.py",
    ),
    _row(8, "checkpoint", "reads a checkpoint", name=r"_load|load|_legacy_load", file=r"torch/serialization\.py"),
    _row(
        8,
        "checkpoint",
        "writes a checkpoint",
        file=r"torch/distributed/checkpoint/(?:filesystem|_fsspec_filesystem)\.py",
    ),
    _row(
        9,
        "loader",
        "waits for its data loader",
        name=r"_try_get_data|_get_data",
        file=r"torch/utils/data/dataloader\.py",
    ),
    _row(10, "loading", "reads data in the main process", name="fetch", file=r"torch/utils/data/_utils/fetch\.py"),
    _row(
        10,
        "loading",
        "reads data in the main process",
        name=r"_next_data|_next_index",
        file=r"torch/utils/data/dataloader\.py",
    ),
    _row(
        9,
        "loader",
        "starts or stops the processes of its data loader",
        name=r"__init__|_get_iterator|_shutdown_workers|__del__",
        file=r"torch/utils/data/dataloader\.py",
    ),
    _row(13, "importing", "imports modules", name=r"_find_and_load|_call_with_frames_removed|exec_module"),
    _row(19, "gpu", "waits for the GPU", name="synchronize", file=r"torch/(?:cuda|xpu)/(?:__init__|streams)\.py"),
    _row(26, "cuda-start", "starts CUDA", name=r"_lazy_init", file=r"torch/cuda/__init__\.py"),
    _row(
        None, "backward", "runs the backward pass", name=r"_engine_run_backward", file=r"torch/autograd/graph\.py"
    ),
    _row(None, "backward", "runs the backward pass", name=r"backward", file=r"torch/autograd/__init__\.py"),
    _row(
        17,
        "network",
        "waits for the network",
        file=r"/(?:ssl|socket|http/client|urllib/request)\.py|/(?:urllib3|requests|botocore|aiohttp|httpcore)/.*\.py",
        weak=True,
    ),
    _row(
        None,
        "program",
        "waits for a program that it started",
        name=r"_wait|wait|communicate|_communicate",
        file=r"/subprocess\.py",
        weak=True,
    ),
    _row(
        16,
        "lock",
        "waits for a lock or a queue",
        name=r"wait|get|acquire|join|_wait_for_tstate_lock|result",
        file=r"/(?:threading|queue|_base|concurrent/futures/\w+|multiprocessing/(?:queues|synchronize|connection))\.py",
        weak=True,
    ),
)

TEXTS = (
    # The source line of the innermost frame: C functions have no frame of their own.
    (re.compile(r"\bstore\.(?:get|wait)\("), _row(11, "store", "waits for a key of the store", weak=True)),
    (
        re.compile(r"\bwork\w*\.wait\(|\breq\w*\.wait\(|\bhandle\w*\.wait\("),
        _row(3, "async", "waits for an operation that it started before", weak=True),
    ),
    (re.compile(r"\.(?:item|cpu|tolist|numpy)\("), _row(18, "gpu", "copies from the device")),
    (re.compile(r"\bsleep\("), _row(None, "sleeping", "sleeps", weak=True)),
)
