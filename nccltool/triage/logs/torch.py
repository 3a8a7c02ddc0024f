"""torch.distributed's lines about NCCL: watchdog, status of process groups, desync, fingerprints, DDP."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import event, table

_OF = r"(?:\[PG (?:ID )?(?P<pg>\d+)(?: PG GUID (?P<guid>[^\]]*?))? Rank (?P<member>\d+)\]|\[Rank (?P<old>\d+)\])?"
"""The process group and the rank in it, which is not the global one; [rank3]: before it is."""
_PARTS = (
    r"(?:SeqNum=(?P<sequence>\d+))?(?:(?:, )?OpType=(?P<op>\w+))?(?:, TensorShape=\[(?P<shape>[^\]]*)\])?"
    r"(?:, NumelIn=(?P<in>\d+)(?=[^\d.]))?(?:, NumelOut=(?P<out>\d+)(?=[^\d.]))?"
    r"(?:, Timeout\(ms\)=(?P<limit>\d+))?"
)
"""What torch says of a collective; whoever quotes a line may cut it."""

_OVER = r"(?:\bran for \d+ m|\b(?i:timed out|timeout)\b(?!\(ms\)|[ :=]{1,3}\d))"
"""What a line says of work that its process has given up; the limit alone stands beside any work."""

PATTERNS = table(
    r"""
failure
    torch.stuck          `watchdog got stuck for` => got stuck for (?P<seconds>\d+) seconds
    torch.stuck          `Heartbeat monitor timed out|due to ProcessGroupNCCL watchdog hang`
    torch.behind         \[(?P<ranks>[\d, ]+)\] finished collective #(?P<done>\d+), but `didn't join collective` #
                         (?P<next>\d+)
    torch.behind         `lagging/dead/mismatched` ranks.*?: ?\[(?P<ranks>[\d, ]+)\]
    torch.behind         [Rr]anks? \[?(?P<ranks>\d+(?:, ?\d+)*)\]? (?:has|have) `not joined`
    torch.fingerprint    `Detected mismatch between collectives` => Rank (?P<first>\d+) is running collective:
                         [ ]CollectiveFingerPrint\((?P<firstprint>.*?)\),? but Rank (?P<second>\d+) is running
                         [ ]collective: CollectiveFingerPrint\((?P<secondprint>.*)
    torch.behind         `missing_ranks=`[\[{](?P<ranks>[\d, ]+)[\]}]
    torch.behind         `aiting for rank` => (?i)\btim(?:ed |e)out\b.*\bwaiting for ranks? \[?(?P<ranks>
                         \d+(?:, ?\d+)*)\]?(?! (?:init|to (?:initialize|start|connect)))
    torch.behind         `ranks arrived` => \d+/\d+ ranks arrived(?:.*?ranks?:? \[?(?P<ranks>\d+(?:, ?\d+)*))?
    torch.behind         `failed -- missing ranks: `(?P<ranks>\d+(?:, ?\d+)*)
    torch.behind         ranks \[(?P<ranks>[\d, -]+)\]` are the lagging ranks`
    torch.behind         `have not joined` => [Rr]anks have not joined(?: the \w+ operation)?: \[
                         (?P<ranks>[\d, ]+)\]
    torch.behind         `otify register times out` => (?:from remote rank:? ?\[?(?P<ranks>\d+))?
    torch.fingerprint    `Collectives differ in the following aspects`
    torch.fingerprint    `ollective communication are inconsistent`
    torch.fingerprint    `sync_global_devices name mismatch`
    torch.fingerprint    `disagreement between rank`
    torch.fingerprint    `hape mismatch in the collective instance`
    torch.fingerprint    `shows up in the launch group` => with a different launch id
    torch.fingerprint    `ERROR: GLOBAL:COLLECTIVE:` => (?:OPERATION|SIZE|ROOT|DATATYPE)\w*[:_]MISMATCH
    torch.fingerprint    `Detected mismatch between collectives` => ^(?!.*but Rank).*mismatch between collectives
    torch.barrier        Ranks? (?P<ranks>\d+(?:, ?\d+)*) `failed to pass monitoredBarrier`
    hvd.stalled          `Missing ranks:` => [Mm]issing ranks:(?:\s*\[?(?P<ranks>\d+(?:, ?\d+)*))?
    hvd.stalled          `Stalled ranks:|Stalled ops:`
    hvd.stalled          \[`missing ranks: `(?P<ranks>[\d, ]+)\]
    hvd.mismatch         `Mismatched `(?:\w+ )*(?:shape|size|data type|type|operation|rank|device)s?\b
    torch.stuck          `ran for more than set timeout|Get timed out: some object|DataLoader timed out after`
    torch.stuck          `DeepEP ` => (?i)\bDeepEP (?:error: .*time(?:d )?out|(?:\w+ ){0,4}timeout(?:
                         [ ]check failed|,|[ ]for))(?:.*?\brank[ =]+(?P<rank>\d+))?
    torch.behind         `Hang detected on rank `(?P<ranks>\d+)
    torch.stuck          `RPC call to `\w+ timed out
    torch.stuck          `Expired timers: [|possible GIL induced hang`
    torch.stuck          `subsequent heartbeat. Waited|initial heartbeat. Waited`
    hvd.uneven           `uneven workload distribution|Uneven inputs|uneven inputs`
    hvd.uneven           `at least one rank that exhausted inputs`
    torch.stuck          `to join the rendezvous, but` => Expected \d+ threads
    torch.stuck          `uspected hang in collectives|Collective has timed out`
    torch.stuck          `Find timeout ` => (?:init but not start|start but not finish) task
    torch.stuck          `This thread has been waiting for` => rendezvous|Rendezvous
    torch.unused         `Expected to have finished reduction in the prior iteration`
    torch.unused         `Expected to mark a variable ready only once`
    torch.unused-names   Parameters which `did not receive grad` for rank (?P<of>\d+): (?P<names>.+)
    torch.models-differ  params\[\d+\] in this process.*`appears not to match`
    torch.models-differ  `DDP expects same model across all ranks` => but Rank \d+ has \d+ params, while rank
                         [ ](?P<other>\d+) has
    torch.no-nccl        `doesn't have NCCL built in`
    torch.no-gpu         `no GPUs found`
    torch.oom            (?:OutOfMemoryError: )?(?:CUDA|HIP|XPU)(?:(?: driver)? error:)? `out of memory`
                         \.?(?!.*1EB)(?:[ ]Tried to allocate (?P<size>[\d.]+ \w+))?
    torch.oom            `nhandled cuda error` => - out of memory$
    torch.oom            `RESOURCE_EXHAUSTED`:.*(?i:out of memory)
    torch.oom            `OOM when allocating|cudaErrorMemoryAllocation`
    host.oom             `DefaultCPUAllocator`: (?:can't|not enough)
    host.oom             ^(?:numpy\S*)?`MemoryError`\b
    host.oom             `killed by signal: Killed`
    host.oom             `std::bad_alloc`
    host.oom             ^(?!.*(?:ibv_|NCCL|mlx|CUDA|cuda|/dev/shm|WARN|rdma|fi_mr|mlock|egister memory|
                         emory region|ueue)).*`Cannot allocate memory`
    host.oom             signal: `killed (out of memory)`
    host.oom             `killed due to memory pressure` => [1-9]\d* [Ww]orkers?
    torch.oom            `CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory`
    torch.oom            `No available memory for the cache blocks|Free memory on device|Out of memory allocating `
    torch.oom            `is available for the KV cache|leaving none for the KV|of RAM is available` => \b(?:only|
                         leaving)\b
    torch.oom            `Not enough memory. Please try|is larger than the available KV cache memory`
    torch.oom            `mem-fraction-static` => (?i)(?:not enough|out of|oom).*mem-fraction-static
    torch.oom            `memory capacity is unbalanced`
    limits.files         `received 0 items of ancdata`
    limits.shared        `unable to open shared memory object`
    shm.dataloader       `insufficient shared memory|out of shared memory|killed by signal: Bus error`
    shm.full             `unable to write to file </torch_|unable to resize file </torch_`
    shm.full             `unable to mmap` \d+ bytes from file </?torch_
    shm.full             `nable to allocate shared memory`
    version.driver       `driver on your system is too old` => found version (?P<version>\d+)
    version.driver       `forward compatibility was attempted|river/library version mismatch`
    version.driver       `compatibility mode is UNAVAILABLE`
    version.driver       `unsatisfied condition: `(?:cuda|driver|brand|arch)
    version.driver       `CUDA initialization failure with error: 35`
    version.driver       NVRM: `API mismatch`
    version.driver       `river version` => driver version \S+ is (?:not (?:supported|in the list)|
                         unsupported|too old)
    version.driver       `unsupported toolchain|couldn't communicate with the NVIDIA driver`
    version.build        `no kernel image is available for execution`
    version.build        libtorch\S*: `undefined symbol`: (?P<symbol>nccl\w+|cuda\w+)
    version.build        `were compiled with different` => CUDA|ROCm|versions
    version.build        `The cluster was started with:|was started with: Ray` => (?i)mismatch|started with
    version.build        `not compatible with the current PyTorch installation`
    version.build        Error(?:: |\(')(?P<library>\S+\.so\S*): `undefined symbol: `(?P<symbol>\w+)
    version.build        `used to compile PyTorch` => CUDA version \((?P<a>[\d.]+)\) mismatches
    version.driver       `unsupported display driver|cudaErrorInsufficientDriver`
    version.build        `' not found` => version \x60(?:GLIBC|GLIBCXX|CXXABI|NCCL|OPENSSL|hip)[\w.]*' not found
    version.library      `cannot open shared object file` => (?P<name>lib(?:nccl|rccl|cu[a-z]+\w*|nvrtc\w*|
                         nvJitLink|nvidia-\w+|torch\w*|c10\w*|amdhip64|(?:hip|roc)[a-z]+|MIOpen)
                         \.so[.\d]*): cannot open shared
    version.library      `CCL library` => (?i)\b(?:unable|failed|could not|cannot)\b(?: to)? (?:find and )?
                         load [NR]CCL library
    version.build        `named symbol not found`
    version.build        `nvcc fatal` => nvcc fatal\b.*Unsupported gpu architecture
    version.build        `not supported in this architecture` => \btype fp8\w+ not supported in
    version.build        `Loaded runtime CuDNN library` => but source was compiled with
    version.build        `ptxas` => ptxas fatal\b.*(?:is not defined for option|Unsupported \.version)
    cuda.launch          `the launch timed out and was terminated`
    cuda.library         `CUBLAS_STATUS_|CUDNN_STATUS_` => (?:EXECUTION_FAILED|INTERNAL_ERROR|NOT_INITIALIZED)
    cuda.xid-hint        `CUDA error: `(?P<error>(?:an illegal instruction|misaligned address|hardware|unknown
                         [ ]error|uncorrectable|GPU is lost)[\w ]*)
    cuda.invalid-device  `invalid device ordinal`
    app.stopped          `loss scale already at minimum`
    app.stopped          (?i)\b(?:nan|inf)\b.{0,12} s`topping training`
    data.check-failed    `answers match|outputs match|tokens match|results match` => (?P<right>\d+)
                         (?: of |/)(?!(?P=right)\b)\d+ \w+ match
    data.check-failed    `checksum` => (?i)^(?!.*(?:re-?download|downloading)).*(?:checksum.{0,40}(?:
                         mismatch|error|failed|differ)|(?:wrong|bad) checksum)
    data.check-failed    (?i)(?:data|result|value|validation|verification)s? m`ismatch`(?:ed)?\b.*(?:expected|
                         rank|element|index)
    data.check-failed    `differs from reference|differ from reference|iterations wrong|iterations differ` => ^
                         (?!.*\b0 of)(?!.*\bno ).*differ|[1-9]\d* of \d+ iterations
    data.check-failed    `different from ` => (?i)\b(?:result|sum|tensor|output|value|gradient|element)s?\b.{0,60}
                         \bdifferent from (?:the )?(?:reference|expected|rank|other)
    data.check-failed    `expected ` => \(expected (?P<want>-?[\d.]+), got (?P<got>(?!(?P=want)\b)-?[\d.]+)\)
    data.check-failed    `differ|mismatch|not equal|incorrect` => ^AssertionError: .{0,40}\b(?:gathered|reduced|
                         broadcast|scattered|received|all_?(?:gather|reduce)\w*)\b.{0,60}\b(?:differ|mismatch|
                         not equal|incorrect)
    data.check-failed    `ossible ` => Rank \d+, node (?P<node>[\w.-]+), device .*: Possible (?:persistent|
                         transient) error!
    data.check-failed    `WRONG` +[1-9]\d*/\d+
    data.check-failed    `MISMATCH`\W{1,3}(?P<node>[\w.-]+) differs?\b
    data.check-failed    `iffer after ` => (?i)\bdiffer after (?:all|nccl|reduc|sync)
    data.check-failed    `MISMATCH` [1-9]\d*/\d+
    data.check-failed    (?P<name>[\w.]+) +`MISMATCH: `[1-9]\d* (?:of|/) \d[\dx]* elements
    data.check-failed    `tensors differ|weights differ|parameters differ` => ^[1-9]\d* (?:tensor|weight|
                         parameter)s differ\b
    data.check-failed    `corrupt` => (?i)(?:data|silent) corruption (?:detected|found)|result is corrupt
    data.check-failed    `iscompar|MISCOMPAR` => (?i)^(?!.*\b(?:no|0) miscompar)(?!.*miscompares?\W{1,3}0\b)
                         .*\bmiscompare
    data.check-failed    `iffers across|iffer across` => (?i)\b(?:result|output|value|sum|gradient|weight|param
                         eter)s? differs? across (?:replica|rank|device|worker|process)
    data.check-failed    `ismatch` => (?i)^(?!.*(?:https?:|download|\bpip\b)).*\b(?:crc\w*|md5|sha\d+\w*|
                         digest)\b.{0,12}\bmismatch
    data.check-failed    `Bad CRC-32 for file|CRC check failed 0x`
    data.check-failed    `bounds check failed`
    data.check-failed    (?i)\b(?:data|results?|buffers?|outputs?)\b.*v`erification failed`
    data.check-failed    `ismatch|iffer` => (?i)^(?=.*\brank).*\b(?:hash|digest|crc\w*|md5|sha\d+)\b.*\b
                         (?:mismatch|differs?\b)
    data.check-failed    `elements differ` => [1-9]\d* of \d+ elements differ
    data.check-failed    `Mismatched elements:` [1-9]\d* / \d+
    data.check-failed    (?:Tensor-likes|Scalars|Arrays?) `are not close!`
    torch.fingerprint    `Monitored Barrier encountered error running`
    torch.fingerprint    `TYPE_MISMATCH|SYNTAX_MISMATCH|STATE_MISMATCH|DTYPE_MISMATCH` => COLLECTIVE_|SIZE_OR_|
                         MatchState
    torch.fingerprint    `isagree` => (?i)\branks? disagree\b.*\b(?:seq|call|collective|op|order)
    torch.fingerprint    `equal sized tensors|equally sized tensors` => (?i)\b(?:all_?gather|ranks?)\b
    torch.fingerprint    `cross ranks` => (?i)\b(?:tensor|shape|size|count|dtype|length|order|number of (?:calls|
                         batches|steps|tensors))s?\b.{0,60}(?:mismatch\w*|differs?|not (?:equal|match|the same)|
                         inconsistent) across ranks
    torch.behind         `Not all ranks joining collective`
    data.check-failed    `llreduce|ll_reduce|llgather|ll_gather|ll-reduce|ll-gather|roadcast|educe_scatter` => (?
                     i)\b(?:
                         result|output|value|sum|element|tensor|data)s?\b.{0,60}\b(?:is|are|was|were)? ?(?:wrong|
                         incorrect|corrupt\w*|not correct)\b|\b[1-9]\d* of \d+ elements (?:are )?(?:wrong|incorre
                     ct|bad)
    data.check-failed    `max error|max diff|max abs` => (?i)\b(?:fail\w*|error|wrong|invalid)\b.*\bmax(?:imum)?[ ]
                         (?:abs\w* )?(?:error|diff\w*)\b.*(?:exceed|>|above|tolerance)
    data.check-failed    `SDC|ilent data corruption` => (?i)\bSDC (?:suspected|detected|found)|silent data corrup
                     tion
                         [ ](?:suspected|detected|found|on)
    app.launch           `: not found` => ^(?:/bin/)?(?:ba|da|z)?sh: \d+: (?!{OPTIONAL})\S+: not found$
    app.launch           `rror while finding module specification`
    app.exception        `panicked at` => (?P<type>thread '\S+' panicked)
    app.exception        ^(?P<type>`panic: `(?:runtime error|assert|interface)\S*)
    app.exception        `BackendCompilerFailed` => (?P<type>\S*BackendCompilerFailed): (?P<message>.*)
    data.check-failed    `o not match|oes not match|on't match` => [1-9]\d* of \d+ (?:values|elements|entries|num
                     bers)\b
                         .{0,40}(?:do|does) ?n.t match|rank (?P<of>\d+).*\bdo not match the reference
    data.check-failed    `onsistency|ONSISTENCY|eplica|parity` => (?i)\b(?:(?:consistency|parity) check\b.{0,60}\b
                         fail(?:s|ed|ure)?\b|(?:consistency check|replicas?|parity check)\b.{0,60}\b
                         (?:differs?\b|mismatch|diverge\w*))
    data.check-failed    `ismatching ` => \b[1-9]\d* mismatching (?:results|values|elements)
    data.check-failed    `wrong results` => (?i)\b(?:returns?|computes?|gives?|produces?) wrong results
echo
    torch.timeout        {OF}\s*`Watchdog caught collective operation timeout`(?:: WorkNCCL\({PARTS})?
                         (?:.{0,90}?\bran for (?P<ran>\d+))?
    torch.timeout        ^(?!.*operation timeout: Work)(?=.*{OVER})(?=.*\bOpType=(?P<op>\w+)|)
                         (?=.*\bran for (?P<ran>\d+) m|).*?`SeqNum=`(?P<sequence>\d+)
    torch.timeout        ^(?!.*(?:operation timeout: Work|SeqNum=))(?=.*{OVER})(?=.*\bran for (?P<ran>\d+) m|)
                         .*?`OpType=`(?P<op>\w+)
    torch.timeout        `Timeout at collective: ` => \[(?P<old>\d+)\] Timeout at collective: (?P<op>\w+)
    torch.status         {OF}.*[Ll]`ast enqueued` (?:NCCL )?work: (?P<enqueued>-?\d+),
                         [ ]last completed (?:NCCL )?work: (?P<completed>-?\d+)
    torch.status         `ast enqueued` => Received a dump signal .*ast enqueued NCCL work: (?P<enqueued>-?\d+),
                         [ ]last completed NCCL work: (?P<completed>-?\d+)
    torch.down           `taking the entire process down|NCCL communicator was aborted on rank`
    torch.down           `watchdog thread terminated with exception|NCCL operations have failed or timed out`
    torch.dump-signal    `dump signal`.*from (?:this )?rank:? ?(?P<first>\d+)
    torch.barrier-echo   `arrier|ll_gather|ll_reduce` => (?i)\bbarrier\b.{0,20}\btim(?:ed |e)out\b|
                         \btimed out in _?all_
    torch.barrier-echo   `successfully reached monitoredBarrier|timed out in monitoredBarrier`
    torch.dump-signal    `flight recorder dump signal from another rank`
    torch.nccl-error     `NCCL error|NCCL Error` => NCCL [eE]rror(?: in)?:? .*?(?P<error>unhandled (?:cuda|system)
                         [ ]error|internal error|invalid argument|invalid usage|remote process exited)
    torch.nccl-error     `ncclRemoteError`
doubt
    torch.no-block       `No available block found|No available shared memory broadcast block found`
    app.nan              \bloss\S*[ =:']*` nan|=nan|:nan|'nan`\b
state
    hvd.row              ^(?:(?P<ranks>\d+): )?\[[\w./-]*`llreduce|llgather|roadcast`\w*
                         [./_][\w./-]+(?:, | \.|\])
    torch.snapshot       `started ranks:` => #(?P<sequence>\d+) started ranks:$
    torch.snapshot-row   `started ` => ^\W*\[(?P<ranks>[\d, -]+)\] started (?P<op>[A-Z_]{3,})$
    hvd.ready            `[ready ranks: `(?P<ranks>[\d, ]+)\]
    torch.not-destroyed  `process group has NOT been destroyed|destroy_process_group() was not called`
""",
    OF=_OF,
    OVER=_OVER,
    PARTS=_PARTS,
    OPTIONAL=r"(?:module|ml|conda|nvidia-smi|numactl|ib\w+|ls\w+)\b",
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What torch says in a line; the global rank is the one before it."""
    for item, fields in PATTERNS.found(line.text):
        member = fields.get("old") or (fields.get("member") if fields.get("pg", "0") == "0" else None)
        yield event(item, line, fields, rank=line.rank if line.rank is not None else member)
