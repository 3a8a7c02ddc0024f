"""torch.distributed's lines about NCCL: watchdog, status of process groups, desync, fingerprints, DDP."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, event, found, pattern

_OF = r"(?:\[PG (?:ID )?(?P<pg>\d+)(?: PG GUID (?P<guid>[^\]]*?))? Rank (?P<member>\d+)\]|\[Rank (?P<old>\d+)\])?"
"""The process group and the rank in it, which is not the global one; [rank3]: before it is."""

PATTERNS = (
    pattern(
        "torch.timeout",
        "echo",
        "Watchdog caught collective operation timeout",
        _OF + r"\s*Watchdog caught collective operation timeout: WorkNCCL\("
        r"(?:SeqNum=(?P<sequence>\d+), )?OpType=(?P<op>\w+)"
        r"(?:, TensorShape=\[(?P<shape>[^\]]*)\])?(?:, NumelIn=(?P<in>\d+))?(?:, NumelOut=(?P<out>\d+))?, "
        r"Timeout\(ms\)=(?P<limit>\d+)\) ran for (?P<ran>\d+)",
    ),
    pattern(
        "torch.status",
        "echo",
        "ast enqueued",
        _OF + r".*[Ll]ast enqueued (?:NCCL )?work: (?P<enqueued>-?\d+), "
        r"last completed (?:NCCL )?work: (?P<completed>-?\d+)",
    ),
    pattern("torch.down", "echo", "taking the entire process down"),
    pattern("torch.down", "echo", "NCCL communicator was aborted on rank"),
    pattern("torch.down", "echo", "watchdog thread terminated with exception"),
    pattern("torch.down", "echo", "NCCL operations have failed or timed out"),
    pattern("torch.stuck", "failure", "watchdog got stuck for", r"got stuck for (?P<seconds>\d+) seconds"),
    pattern("torch.stuck", "failure", "Heartbeat monitor timed out"),
    pattern("torch.dump-signal", "echo", "dump signal", r"dump signal.*from (?:this )?rank:? ?(?P<first>\d+)"),
    pattern(
        "torch.behind",
        "failure",
        "didn't join collective",
        r"\[(?P<ranks>[\d, ]+)\] finished collective #(?P<done>\d+), but didn't join collective #(?P<next>\d+)",
    ),
    pattern(
        "torch.behind",
        "failure",
        "lagging/dead/mismatched",
        r"lagging/dead/mismatched ranks.*?: ?\[(?P<ranks>[\d, ]+)\]",
    ),
    pattern(
        "torch.behind",
        "failure",
        "not joined",
        r"[Rr]anks? \[?(?P<ranks>\d+(?:, ?\d+)*)\]? (?:has|have) not joined",
    ),
    pattern(
        "torch.fingerprint",
        "failure",
        "Detected mismatch between collectives",
        r"Rank (?P<first>\d+) is running collective: CollectiveFingerPrint\((?P<firstprint>.*?)\),? but Ra"
        r"nk (?P<second>\d+) is running collective: CollectiveFingerPrint\((?P<secondprint>.*)",
    ),
    pattern(
        "torch.fingerprint",
        "failure",
        "Detected mismatch between collectives",
        r"^(?!.*but Rank).*mismatch between collectives",
    ),
    pattern(
        "torch.barrier",
        "failure",
        "failed to pass monitoredBarrier",
        r"Ranks? (?P<ranks>\d+(?:, ?\d+)*) failed to pass monitoredBarrier",
    ),
    pattern("hvd.stalled", "failure", "Missing ranks:", r"[Mm]issing ranks:(?:\s*\[?(?P<ranks>\d+(?:, ?\d+)*))?"),
    pattern("hvd.stalled", "failure", "Stalled ranks:"),
    pattern("hvd.stalled", "failure", "missing ranks: ", r"\[missing ranks: (?P<ranks>[\d, ]+)\]"),
    *(
        pattern("hvd.row", "state", op, rf"^(?:(?P<ranks>\d+): )?\[\w*{op}\w*[./][\w./-]+(?:, |\])")
        for op in ("allreduce", "allgather", "broadcast")
    ),
    pattern(
        "hvd.mismatch",
        "failure",
        "Mismatched ",
        r"Mismatched (?:\w+ )*(?:shape|size|data type|type|operation|rank|device)s?\b",
    ),
    pattern(
        "torch.stuck",
        "failure",
        "No available block found",
        r"No available (?:shared memory broadcast )?block found in \d+ second",
    ),
    pattern("torch.stuck", "failure", "RPC call to execute_model timed out"),
    pattern("torch.stuck", "failure", "This thread has been waiting for", r"rendezvous|Rendezvous"),
    pattern("torch.barrier-echo", "echo", "successfully reached monitoredBarrier"),
    *(
        pattern(
            "torch.nccl-error",
            "echo",
            word,
            "NCCL [eE]rror(?: in)?:? .*?(?P<error>unhandled (?:cuda|system) error|internal error|invalid argu"
            "ment|invalid usage|remote process exited)",
        )
        for word in ("NCCL error", "NCCL Error")
    ),
    pattern("torch.nccl-error", "echo", "ncclRemoteError"),
    pattern("torch.unused", "failure", "Expected to have finished reduction in the prior iteration"),
    pattern("torch.unused", "failure", "Expected to mark a variable ready only once"),
    pattern(
        "torch.unused-names",
        "failure",
        "did not receive grad",
        r"Parameters which did not receive grad for rank (?P<of>\d+): (?P<names>.+)",
    ),
    pattern(
        "torch.models-differ",
        "failure",
        "appears not to match",
        r"params\[\d+\] in this process.*appears not to match",
    ),
    pattern(
        "torch.models-differ",
        "failure",
        "DDP expects same model across all ranks",
        r"but Rank \d+ has \d+ params, while rank (?P<other>\d+) has",
    ),
    pattern("torch.no-nccl", "failure", "doesn't have NCCL built in"),
    pattern("torch.no-gpu", "failure", "no GPUs found"),
    pattern("torch.not-destroyed", "state", "process group has NOT been destroyed"),
    pattern("torch.not-destroyed", "state", "destroy_process_group() was not called"),
    pattern(
        "torch.oom",
        "failure",
        "out of memory",
        r"(?:OutOfMemoryError: )?(?:CUDA|HIP|XPU)(?: error:)? out of memory\.?"
        r"(?: Tried to allocate (?P<size>[\d.]+ \w+))?",
    ),
    pattern("torch.oom", "failure", "RESOURCE_EXHAUSTED", r"RESOURCE_EXHAUSTED:.*(?i:out of memory)"),
    pattern("torch.oom", "failure", "OOM when allocating"),
    pattern("torch.oom", "failure", "CUBLAS_STATUS_ALLOC_FAILED"),
    pattern("torch.oom", "failure", "cudaErrorMemoryAllocation"),
    pattern("host.oom", "failure", "DefaultCPUAllocator", r"DefaultCPUAllocator: (?:can't|not enough)"),
    pattern("host.oom", "failure", "MemoryError", r"^(?:numpy\S*)?MemoryError\b"),
    pattern("host.oom", "failure", "killed by signal: Killed"),
    pattern("limits.files", "failure", "received 0 items of ancdata"),
    pattern("shm.dataloader", "failure", "insufficient shared memory"),
    pattern("shm.dataloader", "failure", "out of shared memory"),
    pattern("shm.dataloader", "failure", "killed by signal: Bus error"),
    pattern("shm.full", "failure", "unable to write to file </torch_"),
    pattern("shm.full", "failure", "unable to resize file </torch_"),
    pattern("shm.full", "failure", "unable to mmap", r"unable to mmap \d+ bytes from file </?torch_"),
    pattern("shm.full", "failure", "unable to allocate shared memory"),
    pattern("version.driver", "failure", "driver on your system is too old", r"found version (?P<version>\d+)"),
    pattern("version.driver", "failure", "forward compatibility was attempted"),
    pattern("version.driver", "failure", "Driver/library version mismatch"),
    pattern("version.driver", "failure", "API mismatch", r"NVRM: API mismatch"),
    pattern("version.driver", "failure", "unsupported toolchain"),
    pattern("version.driver", "failure", "couldn't communicate with the NVIDIA driver"),
    pattern("version.build", "failure", "no kernel image is available for execution"),
    pattern(
        "version.build",
        "failure",
        "undefined symbol",
        r"libtorch\S*: undefined symbol: (?P<symbol>nccl\w+|cuda\w+)",
    ),
    pattern("version.build", "failure", "not compatible with the current PyTorch installation"),
    pattern(
        "version.build",
        "failure",
        "' not found",
        r"version `(?:GLIBC|GLIBCXX|CXXABI|NCCL|OPENSSL)[\w.]*' not found",
    ),
    pattern(
        "version.library",
        "failure",
        "cannot open shared object file",
        r"(?P<name>lib(?:nccl|rccl|cuda|cudart|cublas\w*|cudnn\w*|torch\w*|c10\w*)\.so[.\d]*): cannot open shared",
    ),
    pattern("version.library", "failure", "Unable to load NCCL library"),
    pattern("version.build", "failure", "named symbol not found"),
    pattern(
        "cuda.xid-hint",
        "failure",
        "CUDA error: ",
        "CUDA error: (?P<error>(?:an illegal instruction|misaligned address|hardware|unknown error|uncorr"
        r"ectable|GPU is lost)[\w ]*)",
    ),
    pattern("cuda.invalid-device", "failure", "invalid device ordinal"),
    *(pattern("app.nan", "doubt", f"{sign}nan", rf"\bloss\S*[ =:']*{sign}nan\b") for sign in (" ", "=", ":", "'")),
    pattern("app.stopped", "failure", "topping training", r"(?i)\b(?:nan|inf)\b.{0,12} stopping training"),
    pattern(
        "data.check-failed",
        "failure",
        "checksum",
        r"(?i)checksum (?:mismatch|error|failed|differs)|(?:wrong|bad) checksum",
    ),
    pattern(
        "data.check-failed",
        "failure",
        "ismatch",
        r"(?i)(?:data|result|value|validation|verification)s? mismatch(?:ed)?\b.*(?:expected|rank|element|index)",
    ),
    pattern(
        "data.check-failed",
        "failure",
        "corrupt",
        r"(?i)(?:data|silent) corruption (?:detected|found)|result is corrupt",
    ),
    pattern("data.check-failed", "failure", "bounds check failed"),
    pattern(
        "data.check-failed",
        "failure",
        "erification failed",
        r"(?i)\b(?:data|results?|buffers?|outputs?)\b.*verification failed",
    ),
    *(
        pattern(
            "data.check-failed",
            "failure",
            word,
            r"(?i)^(?=.*\brank).*\b(?:hash|digest|crc\w*|md5|sha\d+)\b.*\b(?:mismatch|differs?\b)",
        )
        for word in ("ismatch", "iffer")
    ),
    pattern("data.check-failed", "failure", "Mismatched elements:", r"Mismatched elements: [1-9]\d* / \d+"),
    pattern("data.check-failed", "failure", "are not close!", r"(?:Tensor-likes|Scalars|Arrays?) are not close!"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What torch says in a line; the global rank is the one before it."""
    for item, fields in found(PATTERNS, line.text):
        member = fields.get("old") or (fields.get("member") if fields.get("pg", "0") == "0" else None)
        yield event(item, line, fields, rank=line.rank if line.rank is not None else member)
