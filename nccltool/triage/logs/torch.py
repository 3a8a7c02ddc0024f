"""torch.distributed's lines about NCCL: watchdog, status of process groups, desync, fingerprints, DDP."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, doubt, each, echo, event, failure, found, state

_OF = r"(?:\[PG (?:ID )?(?P<pg>\d+)(?: PG GUID (?P<guid>[^\]]*?))? Rank (?P<member>\d+)\]|\[Rank (?P<old>\d+)\])?"
"""The process group and the rank in it, which is not the global one; [rank3]: before it is."""

PATTERNS = (
    echo(
        "torch.timeout",
        "Watchdog caught collective operation timeout",
        _OF + r"\s*Watchdog caught collective operation timeout: WorkNCCL\("
        r"(?:SeqNum=(?P<sequence>\d+), )?OpType=(?P<op>\w+)"
        r"(?:, TensorShape=\[(?P<shape>[^\]]*)\])?(?:, NumelIn=(?P<in>\d+))?(?:, NumelOut=(?P<out>\d+))?, "
        r"Timeout\(ms\)=(?P<limit>\d+)\) ran for (?P<ran>\d+)",
    ),
    echo(
        "torch.status",
        "ast enqueued",
        _OF + r".*[Ll]ast enqueued (?:NCCL )?work: (?P<enqueued>-?\d+), "
        r"last completed (?:NCCL )?work: (?P<completed>-?\d+)",
    ),
    *each(
        echo,
        "torch.down",
        "taking the entire process down",
        "NCCL communicator was aborted on rank",
        "watchdog thread terminated with exception",
        "NCCL operations have failed or timed out",
    ),
    failure("torch.stuck", "watchdog got stuck for", r"got stuck for (?P<seconds>\d+) seconds"),
    failure("torch.stuck", "Heartbeat monitor timed out"),
    echo("torch.dump-signal", "dump signal", r"dump signal.*from (?:this )?rank:? ?(?P<first>\d+)"),
    failure(
        "torch.behind",
        "didn't join collective",
        r"\[(?P<ranks>[\d, ]+)\] finished collective #(?P<done>\d+), but didn't join collective #(?P<next>\d+)",
    ),
    failure(
        "torch.behind", "lagging/dead/mismatched", r"lagging/dead/mismatched ranks.*?: ?\[(?P<ranks>[\d, ]+)\]"
    ),
    failure("torch.behind", "not joined", r"[Rr]anks? \[?(?P<ranks>\d+(?:, ?\d+)*)\]? (?:has|have) not joined"),
    failure(
        "torch.fingerprint",
        "Detected mismatch between collectives",
        r"Rank (?P<first>\d+) is running collective: CollectiveFingerPrint\((?P<firstprint>.*?)\),? but Ra"
        r"nk (?P<second>\d+) is running collective: CollectiveFingerPrint\((?P<secondprint>.*)",
    ),
    failure(
        "torch.fingerprint",
        "Detected mismatch between collectives",
        r"^(?!.*but Rank).*mismatch between collectives",
    ),
    failure(
        "torch.barrier",
        "failed to pass monitoredBarrier",
        r"Ranks? (?P<ranks>\d+(?:, ?\d+)*) failed to pass monitoredBarrier",
    ),
    failure("hvd.stalled", "Missing ranks:", r"[Mm]issing ranks:(?:\s*\[?(?P<ranks>\d+(?:, ?\d+)*))?"),
    failure("hvd.stalled", "Stalled ranks:"),
    failure("hvd.stalled", "missing ranks: ", r"\[missing ranks: (?P<ranks>[\d, ]+)\]"),
    *(
        state("hvd.row", op, rf"^(?:(?P<ranks>\d+): )?\[\w*{op}\w*[./][\w./-]+(?:, |\])")
        for op in ("allreduce", "allgather", "broadcast")
    ),
    failure(
        "hvd.mismatch",
        "Mismatched ",
        r"Mismatched (?:\w+ )*(?:shape|size|data type|type|operation|rank|device)s?\b",
    ),
    failure(
        "torch.stuck",
        "No available block found",
        r"No available (?:shared memory broadcast )?block found in \d+ second",
    ),
    failure("torch.stuck", "RPC call to execute_model timed out"),
    failure("torch.stuck", "This thread has been waiting for", r"rendezvous|Rendezvous"),
    echo("torch.barrier-echo", "successfully reached monitoredBarrier"),
    *(
        echo(
            "torch.nccl-error",
            word,
            "NCCL [eE]rror(?: in)?:? .*?(?P<error>unhandled (?:cuda|system) error|internal error|invalid argu"
            "ment|invalid usage|remote process exited)",
        )
        for word in ("NCCL error", "NCCL Error")
    ),
    echo("torch.nccl-error", "ncclRemoteError"),
    *each(
        failure,
        "torch.unused",
        "Expected to have finished reduction in the prior iteration",
        "Expected to mark a variable ready only once",
    ),
    failure(
        "torch.unused-names",
        "did not receive grad",
        r"Parameters which did not receive grad for rank (?P<of>\d+): (?P<names>.+)",
    ),
    failure("torch.models-differ", "appears not to match", r"params\[\d+\] in this process.*appears not to match"),
    failure(
        "torch.models-differ",
        "DDP expects same model across all ranks",
        r"but Rank \d+ has \d+ params, while rank (?P<other>\d+) has",
    ),
    failure("torch.no-nccl", "doesn't have NCCL built in"),
    failure("torch.no-gpu", "no GPUs found"),
    *each(
        state,
        "torch.not-destroyed",
        "process group has NOT been destroyed",
        "destroy_process_group() was not called",
    ),
    failure(
        "torch.oom",
        "out of memory",
        r"(?:OutOfMemoryError: )?(?:CUDA|HIP|XPU)(?: error:)? out of memory\.?"
        r"(?: Tried to allocate (?P<size>[\d.]+ \w+))?",
    ),
    failure("torch.oom", "RESOURCE_EXHAUSTED", r"RESOURCE_EXHAUSTED:.*(?i:out of memory)"),
    *each(failure, "torch.oom", "OOM when allocating", "CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorMemoryAllocation"),
    failure("host.oom", "DefaultCPUAllocator", r"DefaultCPUAllocator: (?:can't|not enough)"),
    failure("host.oom", "MemoryError", r"^(?:numpy\S*)?MemoryError\b"),
    failure("host.oom", "killed by signal: Killed"),
    failure("limits.files", "received 0 items of ancdata"),
    *each(
        failure,
        "shm.dataloader",
        "insufficient shared memory",
        "out of shared memory",
        "killed by signal: Bus error",
    ),
    *each(failure, "shm.full", "unable to write to file </torch_", "unable to resize file </torch_"),
    failure("shm.full", "unable to mmap", r"unable to mmap \d+ bytes from file </?torch_"),
    failure("shm.full", "unable to allocate shared memory"),
    failure("version.driver", "driver on your system is too old", r"found version (?P<version>\d+)"),
    *each(failure, "version.driver", "forward compatibility was attempted", "Driver/library version mismatch"),
    failure("version.driver", "API mismatch", r"NVRM: API mismatch"),
    *each(failure, "version.driver", "unsupported toolchain", "couldn't communicate with the NVIDIA driver"),
    failure("version.build", "no kernel image is available for execution"),
    failure("version.build", "undefined symbol", r"libtorch\S*: undefined symbol: (?P<symbol>nccl\w+|cuda\w+)"),
    failure("version.build", "not compatible with the current PyTorch installation"),
    failure("version.build", "' not found", r"version `(?:GLIBC|GLIBCXX|CXXABI|NCCL|OPENSSL)[\w.]*' not found"),
    failure(
        "version.library",
        "cannot open shared object file",
        r"(?P<name>lib(?:nccl|rccl|cuda|cudart|cublas\w*|cudnn\w*|torch\w*|c10\w*)\.so[.\d]*): cannot open shared",
    ),
    failure("version.library", "Unable to load NCCL library"),
    failure("version.build", "named symbol not found"),
    failure(
        "cuda.xid-hint",
        "CUDA error: ",
        "CUDA error: (?P<error>(?:an illegal instruction|misaligned address|hardware|unknown error|uncorr"
        r"ectable|GPU is lost)[\w ]*)",
    ),
    failure("cuda.invalid-device", "invalid device ordinal"),
    *(doubt("app.nan", f"{sign}nan", rf"\bloss\S*[ =:']*{sign}nan\b") for sign in (" ", "=", ":", "'")),
    failure("app.stopped", "topping training", r"(?i)\b(?:nan|inf)\b.{0,12} stopping training"),
    failure(
        "data.check-failed", "checksum", r"(?i)checksum (?:mismatch|error|failed|differs)|(?:wrong|bad) checksum"
    ),
    failure(
        "data.check-failed",
        "ismatch",
        r"(?i)(?:data|result|value|validation|verification)s? mismatch(?:ed)?\b.*(?:expected|rank|element|index)",
    ),
    failure(
        "data.check-failed", "corrupt", r"(?i)(?:data|silent) corruption (?:detected|found)|result is corrupt"
    ),
    failure("data.check-failed", "bounds check failed"),
    failure(
        "data.check-failed",
        "erification failed",
        r"(?i)\b(?:data|results?|buffers?|outputs?)\b.*verification failed",
    ),
    *(
        failure(
            "data.check-failed",
            word,
            r"(?i)^(?=.*\brank).*\b(?:hash|digest|crc\w*|md5|sha\d+)\b.*\b(?:mismatch|differs?\b)",
        )
        for word in ("ismatch", "iffer")
    ),
    failure("data.check-failed", "Mismatched elements:", r"Mismatched elements: [1-9]\d* / \d+"),
    failure("data.check-failed", "are not close!", r"(?:Tensor-likes|Scalars|Arrays?) are not close!"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What torch says in a line; the global rank is the one before it."""
    for item, fields in found(PATTERNS, line.text):
        member = fields.get("old") or (fields.get("member") if fields.get("pg", "0") == "0" else None)
        yield event(item, line, fields, rank=line.rank if line.rank is not None else member)
