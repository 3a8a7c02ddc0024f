"""The nouns that every stage shares: frozen, without I/O.

`None` means "not known" everywhere; an empty tuple means "looked, and there is none".
"""

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]
Status = Literal["pass", "warn", "fail", "incomplete", "unknown"]
CheckStatus = Literal["pass", "warn", "fail", "unknown", "skip"]
Shown = Literal["", "alone", "confirmed", "everywhere", "suspected"]
"""alone: seen on this host without any other; confirmed: again with another partner, and not without this host;
everywhere: the same on all hosts, so it is none of them; suspected: with others, and not confirmed."""
Placement = Literal["in-place", "out-of-place"]
Cadence = Literal["stream", "isolated"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """The sizes of a sweep, in bytes: an explicit list, or first to last by a factor or a step."""

    listed: tuple[int, ...] = ()
    first: int | None = None
    last: int | None = None
    factor: int | None = None
    step: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainSpec:
    """What a smoke training trains, and how."""

    strategies: tuple[str, ...]
    steps: int = 6
    """Steps that are held against the reference."""
    timed_steps: int = 10
    """Steps that are timed after them; 0 = none."""
    layers: int = 4
    width: int = 64
    heads: int = 4
    context: int = 32
    vocabulary: int = 256
    batch: int = 4
    """Sequences of each rank in a step: the global batch has so many times the ranks."""
    seed: int = 1
    learning_rate: float = 0.1
    momentum: float = 0.0
    dtype: str = "float32"
    """Of the arithmetic; under a short one the parameters stay in float32."""
    accumulate: int = 1
    """Micro-batches of each rank in a step."""
    micro_batches: int = 2
    """Micro-batches of a pipeline for each of its ranks."""
    clip_norm: float | None = None
    """The largest norm of the whole gradient that an update may have; None = any."""
    comm_hook: str = "none"
    bucket_mib: float = 25.0
    gradient_as_bucket_view: bool = False
    static_graph: bool = False
    recompute: bool = False
    """Activation checkpointing: a block runs forward again in the backward pass; not so in the reference."""
    shard: str = "full"
    reshard: bool = True
    """Parameters are given back after the forward pass, and gathered again for the backward pass."""
    wrap: str = "block"
    """What is gathered at once: a block, or the whole model."""
    offload: bool = False
    """Parameters, gradients and the optimizer's state live in the host's memory."""
    param_dtype: str = ""
    """Of gathered parameters and of the arithmetic; empty = as they are."""
    reduce_dtype: str = ""
    """In which gradients are reduced; empty = as they are."""
    schedule: str = "1f1b"
    stages: int | None = None
    """Of a pipeline on each rank; None = as many as the schedule has."""
    sequence_parallel: bool = False
    """Between the layers that tensor parallelism cuts, ranks share the tokens."""
    zero: int = 1
    """Stage of ZeRO: 1 shards the optimizer's state, 2 gradients too, 3 parameters too."""
    profile: str = ""
    """Folder for profiler traces, on the host of each rank; empty = none."""
    checkpoint: str = ""
    """Folder for checkpoints, which all hosts share; empty = none is saved, each training begins at step 1."""
    checkpoint_every: int = 1
    """Steps between two of them."""
    done: tuple[str, ...] = ()
    """Strategies that were done before all ranks were started anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What to run and where; crosses to the workers as JSON."""

    run_id: str
    ops: tuple[str, ...]
    kind: Literal["probe", "facts", "train", "reach", "preflight"] = "probe"
    """facts: the nodes only look at their hosts; reach: they then try to reach each other; preflight: a suite,
    whose runs have jobs of their own."""
    train: TrainSpec | None = None
    """For kind train."""
    sizes: Sizes = field(default_factory=Sizes)
    dtype: str = "float32"
    reduce_op: str = "sum"
    iterations: int | None = None
    """Timed iterations; None = until precise enough."""
    warmup: int | None = None
    """Iterations before them; None = until times settle."""
    precision: float = 0.02
    """Relative half-width of the 95 % interval of the median at which a row is precise enough."""
    budget_s: float = 0.2
    """Time that one row may take to get there."""
    checks: int = 1
    cadence: Cadence = "stream"
    placement: Literal["natural", "in-place", "out-of-place", "both"] = "natural"
    """Which forms of an operation to run; natural = the one that torch users call."""
    cuda_graph: bool = False
    nodes: int | None = None
    """Nodes that the user expects; None inside a job whose launcher decided it."""
    nproc_per_node: int | None = None
    """Ranks on each node; None inside a job whose launcher decided it."""
    backend: str = "auto"
    timeout_s: float = 30.0
    """How long no rank may make any progress."""
    join_timeout_s: float = 120.0
    """How long to wait for the other nodes."""
    deadline_s: float = 3600.0
    """How long the whole run may take."""
    emulated: bool = False
    """Several nodes are processes of this one host."""
    node_ranks: tuple[int, ...] = (0,)
    """The nodes whose ranks this command starts; empty inside a job that a launcher started."""
    endpoint: str = ""
    """host:port of the store of node 0; empty = this host, a free port."""
    scratch: str = ""
    """A folder for temporary files that is removed at the end."""
    fault: str = ""
    """A drill: see nccltool.faults."""
    attempt: int = 0
    """How often all ranks have been started anew."""
    remote: bool = False
    """The node process was started on another host: it meets the others first, and ends when it hears no more."""
    node_variable: str = ""
    """The variable of the environment that has the number of a remote node; empty = node_ranks has it."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables for remote nodes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stats:
    """Seconds per iteration over the iterations of one measurement. None = the source of the numbers keeps no
    single iterations: output of nccl-tests has the mean only."""

    mean: float
    median: float | None
    p90: float | None
    p99: float | None
    """None under 100 samples too: it would be the maximum under another name."""
    min: float | None
    max: float | None
    ci95: tuple[float, float] | None
    """95 % interval of the median; None when there are too few samples."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One operation at one size, over all ranks."""

    op: str
    bytes: int
    """Size as nccl-tests defines it for this operation."""
    bytes_per_rank: int
    count: int
    """Elements in nccl-tests' count column."""
    dtype: str
    reduce_op: str | None
    placement: Placement
    cadence: Cadence
    iterations: int | None
    time_s: Stats
    algbw_bytes_per_s: float
    busbw_bytes_per_s: float
    wrong: int | None
    """Wrong elements over all ranks and checks; None when not checked."""
    noisy: bool = False
    """The budget ended before the interval was as narrow as asked for."""
    late_rank: int | None = None
    """The rank that the others waited for; None = no rank stood out."""
    late_s: float | None = None
    limit_busbw_bytes_per_s: float | None = None
    """The most that the wires allow (nccltool.limits); None = not known."""
    limit_may_be_exceeded: bool = False
    """A switch that reduces (NVLS, SHARP) can save bytes that the limit counts."""

    @property
    def busbw_interval(self) -> tuple[float, float]:
        """What the bus bandwidth could be, B/s: from the 95 % interval of the median time to the mean time."""
        mean = self.time_s.mean
        fast, slow = self.time_s.ci95 or (mean, mean)
        work = self.busbw_bytes_per_s * mean
        return work / max(slow, mean), work / min(fast, mean)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """The largest bus bandwidth of an operation that the wires of a world allow."""

    op: str
    busbw_bytes_per_s: float
    may_be_exceeded: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What a finding is about."""

    kind: Literal["host", "rank", "interface", "device", "variable", "link", "file", "operation", "run"]
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What is wrong, where, why we think so, what to do."""

    code: str
    severity: Severity
    subject: Subject
    message: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    page: str = ""
    """Where more is written; where nobody says, the section of its code in docs/findings.md."""

    def __post_init__(self) -> None:
        if not self.page:
            object.__setattr__(self, "page", f"docs/findings.md#{self.code}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of one check. One that could not look is unknown, with the reason; never a pass."""

    code: str
    status: CheckStatus
    reason: str = ""
    """Why it is unknown or was skipped; of a check that could judge some hosts or parts, why not the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The one word and the exit code of a run."""

    status: Status
    exit_code: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RankFacts:
    """What one rank says of itself before anything is measured."""

    rank: int
    node_rank: int
    """-1: the launcher does not number the nodes."""
    local_rank: int
    world_size: int
    host: str
    host_id: str
    """Boot id and network namespace: equal for ranks that share one network stack."""
    pid: int
    python: str
    torch: str
    nccl: str | None
    """None = this torch has no NCCL."""
    nccltool: str
    gpu: str | None
    """UUID or PCI address of the rank's GPU; None = it has none."""
    gpu_name: str | None = None
    host_addresses: tuple[str, ...] | None = None
    """What the host's own name resolves to; None = it does not resolve."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInfo:
    """The circumstances of a run."""

    id: str
    started: str
    """RFC 3339, UTC."""
    command: tuple[str, ...]
    nccltool: str
    torch: str | None
    backend: str | None
    backend_version: str | None
    backend_reason: str | None
    nodes: int | None
    emulated: bool
    world_size: int | None
    hosts: tuple[str, ...]
    limit_source: str | None = None
    """What the limits of the measurements were worked out from."""
    limit_unknown_reason: str | None = None
    """Why they are not known, where they should be: several hosts, or GPUs."""
    transport: str | None = None
    """What carries the bytes, as far as it is known: emulated, local, nvlink, socket, ib, roce."""
    nics: str | None = None
    """The network devices of a host and their rates; empty = no network is used."""
    gpu: str | None = None
    """Models of the ranks' GPUs; empty = they have none."""
    ranks_per_node: int | None = None
    cuda_graph: bool | None = None
    """The calls were replayed from a CUDA graph."""
    tool: str | None = None
    """What measured it, where it was imported; None = nccltool."""
    duration_s: float | None = None
    """From the start of its processes to their end; None where this command did not start them all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """t = alpha + bytes / beta for one operation (nccltool.fit)."""

    op: str
    placement: Placement
    alpha_s: float
    beta_bytes_per_s: float
    n_half_bytes: float
    """The size at which half of beta is reached."""
    residual: float
    """Median relative deviation of the measured times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainStep:
    """One step that was held against the reference. A number that is none (NaN) is None."""

    step: int
    """From 1 on."""
    loss: float | None
    """Mean over the global batch."""
    reference_loss: float | None
    gradient_norm: float | None
    """Of what rank 0 holds of the gradients."""
    reference_gradient_norm: float | None
    """Of all gradients."""
    time_s: float
    """Of the slowest rank; the first steps of a process are slower than those that are timed."""
    overflowed: bool = False
    """A gradient did not fit float16: the scale of the loss was halved, the parameters stayed as they were."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Oracle:
    """What came of holding a training against the same training in one process."""

    ok: bool | None
    """None = not all ranks got to the end of it."""
    max_abs_error: float | None
    """Of the loss; None = no loss that is a number was seen."""
    tolerance: float | None
    """Of the loss at the step of the largest error."""
    loss_error: float | None
    """Largest over ranks and steps, relative to the reference; None = not compared, or not a number."""
    gradient_error: float | None
    """Norm of the difference over norm of the reference, of what a rank holds; the largest."""
    parameter_error: float | None
    relative_tolerance: float | None
    """Of loss_error, gradient_error and parameter_error in the last step that was compared."""
    rule: str
    """How it was derived."""
    first_step: int | None = None
    """The first step that differed; None = none did."""
    ranks: tuple[int, ...] = ()
    """Ranks that differed in that step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bubble:
    """The share of a pipeline's steps in which its ranks did not compute."""

    schedule: str
    ranks: int
    """Of one pipeline."""
    micro_batches: int
    stages_per_rank: int
    measured: float | None
    """None = no step was timed. What stages wait for the network, and for the slowest of them, is in it."""
    formula: float | None
    """Of equal stages that wait for nothing; None = not known for so few micro-batches."""
    expression: str
    """p ranks, m micro-batches, v stages on each rank."""
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpointing:
    """What was saved of a training, and what it went on from."""

    saved: tuple[int, ...]
    """Steps after which a checkpoint became whole."""
    bytes: int | None
    """Of the last of them; None = none was saved."""
    save_s: float | None
    """Mean time that all ranks took for one, the checksums included."""
    resumed_from: int | None
    """The step in the checkpoint that it went on from last; None = from none."""
    ranks_then: int | None
    """That had saved it."""
    load_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Restart:
    """All ranks were started anew after one had failed."""

    attempt: int
    """From 1 on."""
    code: str
    """Of the finding that says what happened."""
    subject: Subject
    message: str
    strategy: str | None
    """In which it happened; None = before any, or between two."""
    step: int | None
    """The step that was under way; None = none was that is held against the reference."""
    resumed_from: int | None
    """The step in the checkpoint that the training went on from; 0 = it began anew; None = not known."""
    lost_s: float | None
    """From the beginning of the step that was under way to its next beginning, or to the next failure; None = the
    run ended before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """A smoke training in one way."""

    strategy: str
    status: CheckStatus
    reason: str
    """Why it was skipped or is unknown; else empty."""
    steps: tuple[TrainStep, ...]
    oracle: Oracle | None
    """None = no step was compared."""
    step_time_s: Stats | None
    """Of the slowest rank in each timed step; None = none was timed."""
    throughput_samples_per_s: float | None
    throughput_tokens_per_s: float | None
    exposed_communication_ratio: float | None
    """Share of a step that would be saved if communication took no time."""
    exposed_communication_method: str
    """How that was found, or why not."""
    scaling_efficiency: float | None
    """Time of the same work of rank 0 while the others wait, over the time of a step."""
    slowest_rank: int | None
    """The rank whose own work took longest, where one stands out."""
    peak_memory_bytes: tuple[int | None, ...]
    """Of each rank while steps were timed: allocated on the device, or resident."""
    model_flop_utilisation: float | None = None
    """What the model needs of arithmetic, over what all GPUs could do in the time of a step at their peak."""
    model_flop_utilisation_source: str = ""
    """Whose peak, or why it is not known."""
    bubble: Bubble | None = None
    """None = there is no pipeline, or no step of it was timed."""
    checkpoint: Checkpointing | None = None
    """None = no checkpoints were asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """All of a run: the only input of render and exporters."""

    info: RunInfo
    verdict: Verdict
    measurements: tuple[Measurement, ...]
    findings: tuple[Finding, ...]
    models: tuple[Model, ...] = ()
    kind: str = "probe"
    trainings: tuple[Training, ...] = ()
    restarts: tuple[Restart, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A rule that was asked, for people and programs that show what came of it."""

    code: str
    name: str
    severity: Severity
    summary: str
    """What it finds, in one sentence."""
    page: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RulePage:
    """All that there is to say about a rule."""

    code: str
    name: str
    severity: Severity
    what: str
    why: str
    example: str
    instead: str
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class VariablePage:
    """All that there is to say about a variable."""

    name: str
    summary: str
    rows: tuple[tuple[str, str], ...]
    """Title and text."""
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """A variable that is set, and where."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What came of asking rules about hosts."""

    info: RunInfo
    verdict: Verdict
    checks: tuple[Check, ...]
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    """The worst first."""
    settings: tuple[Assignment, ...]
    """The effective environment, of one host."""
    nccl: str | None = None
    """Version that the rules were asked for; None = not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What came of one check of a suite, on one host or on all hosts together."""

    code: str
    """Rung and check, stable over runs: `doctor/NETIF-003`, `across/all_reduce-busbw-64MiB`."""
    rung: str
    host: str | None
    """None = all hosts together."""
    status: CheckStatus
    measured: float | None = None
    """In `unit`; None = nothing was measured, or it is not a number."""
    expected: str = ""
    """`at least 300 GB/s`; empty = no threshold."""
    unit: str = ""
    source: str = ""
    """Of what is expected."""
    reason: str = ""
    """Why it is unknown, was skipped, or failed: one sentence."""
    page: str = ""
    """Of the rule or the runbook."""
    findings: tuple[Finding, ...] = ()
    evidence: str = ""
    """Folder with what was looked at; empty = none was kept."""
    shown: Shown = ""
    """Of a failure, whether it is shown to be that of `host`."""
    hosts: tuple[str, ...] = ()
    """All that took part; () = `host` alone."""
    repeat: str = ""
    """The command that looks again."""
    required: bool = True
    """Whether the verdict is unknown when this is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostVerdict:
    """What came of a suite for one host."""

    host: str
    status: Literal["pass", "warn", "fail", "unknown", "missing", "undetermined"]
    """undetermined: something failed that this host took part in, and it was not shown to be its fault."""
    reason: str
    exclude: bool
    """Measured on it alone, or confirmed with another partner: safe to take it out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preflight:
    """A suite, judged."""

    info: RunInfo
    verdict: Verdict
    suite: str
    outcomes: tuple[Judged, ...]
    """In the order of the rungs."""
    hosts: tuple[HostVerdict, ...]
    findings: tuple[Finding, ...]
    runs: tuple[str, ...]
    """Folders of the runs that it made."""
    duration_s: float
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[Training, ...] = ()
    folder: str = ""
    """Where all of it is kept."""
    would_exit: int | None = None
    """What the exit code would have been; None = it is that one."""


Comparable = Literal["worse", "better", "same", "cannot-tell"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """What must not differ between runs whose numbers are compared. None = not known."""

    transport: str | None = None
    nics: str | None = None
    gpu: str | None = None
    nodes: int | None = None
    ranks: int | None = None
    ranks_per_node: int | None = None
    backend: str | None = None
    backend_version: str | None = None
    torch: str | None = None
    tool: str | None = None
    """What measured, and its version."""
    cuda_graph: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RowKey:
    """What a measurement is of."""

    op: str
    bytes: int
    dtype: str
    reduce_op: str | None
    placement: Placement
    cadence: Cadence


@dataclass(frozen=True, kw_only=True, slots=True)
class RowSample:
    """One measurement of one run, as far as comparisons need it."""

    key: RowKey
    median_s: float | None
    """None = the source keeps no single iterations."""
    mean_s: float
    spread: float | None
    """Relative standard deviation of single iterations, without their tail; None = not known."""
    iterations: int | None
    busbw_bytes_per_s: float
    """Of the mean time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSample:
    """One run, as far as comparisons need it."""

    id: str
    started: str
    hosts: tuple[str, ...]
    circumstances: Circumstances
    rows: tuple[RowSample, ...]
    left_out: tuple[str, ...] = ()
    """Measurements that are no use for comparisons, and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """Runs under a name that others are held against."""

    name: str
    created: str
    changed: str
    note: str
    runs: tuple[RunSample, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineRow:
    """A measurement over the runs of a baseline."""

    key: RowKey
    runs: int
    time_s: float
    """Median over the runs of their medians."""
    busbw_bytes_per_s: float
    """Of that time."""
    spread: float | None
    """Relative standard deviation between runs, by their median absolute deviation; None under two runs."""
    least_s: float
    most_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """How much more bus bandwidth B has than A: -0.05 is 5 % less."""

    outcome: Comparable
    change: float
    low: float
    high: float
    """low to high: 95 % interval of this effect alone (of 1 - 2 alpha)."""
    p_adjusted: float
    """How likely so large an effect is between equals, with all other rows in mind (Holm)."""
    spread: float
    """Relative standard deviation between runs that was reckoned with."""
    spread_is_measured: bool
    """False = there are too few runs, and it was put together from what else is known."""
    reason: str = ""
    """Why it cannot be told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRow:
    """One measurement on both sides."""

    key: RowKey
    runs_a: int
    runs_b: int
    time_a_s: float
    time_b_s: float
    """Medians over the runs."""
    busbw_a_bytes_per_s: float
    busbw_b_bytes_per_s: float
    effect: Effect


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """What is compared: some runs."""

    name: str
    """As the user named it."""
    runs: tuple[RunSample, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A key of two sides that differs."""

    key: str
    a: str
    b: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Two sides, compared."""

    info: RunInfo
    verdict: Verdict
    outcome: Comparable
    a: Side
    b: Side
    overall: Effect | None
    """Of the typical row; None with a single row, which says it itself."""
    rows: tuple[ComparedRow, ...]
    only_a: tuple[RowKey, ...]
    only_b: tuple[RowKey, ...]
    ignored: tuple[Difference, ...]
    """Keys that differ, and were not to matter."""
    statistic: Literal["median", "mean"]
    """Of the iterations of a run; the mean where a source has no median."""
    margin: float
    """Relative effects below it do not matter."""
    alpha: float
    """How likely any row of equals may be called different."""
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Against:
    """A measurement held against a baseline."""

    key: RowKey
    status: CheckStatus
    """fail = slower; unknown = it cannot be told, or is not comparable; skip = not in the baseline."""
    measured_busbw_bytes_per_s: float
    expected_busbw_bytes_per_s: float | None
    change: float | None
    low: float | None
    high: float | None
    """low to high: 95 % interval of the change."""
    reason: str
    source: str
    """The baseline, and how many runs it has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A run in the list of past runs."""

    id: str
    path: str
    started: str | None
    status: Status
    """incomplete when it has no document, unknown when that is damaged."""
    exit_code: int | None
    command: tuple[str, ...]
    measurements: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Offender:
    """What to look at first, spelled as in the log."""

    kind: str
    """host, rank, interface, address, port, device, gpu, variable, file, plugin, process, limit, driver or
    parameter."""
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """A line of a log that shows something."""

    file: str
    line: int
    rank: int | None
    host: str | None
    time: str | None
    """As the log has it: [YYYY-]MM-DD HH:MM:SS[.fraction]."""
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A root cause, and how much speaks for it."""

    root_cause: str
    confidence: float
    """0 to 1, before the runner-up is held against it."""
    why: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of text under headers."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """What the logs show of hosts and communicators, and what differs between hosts."""

    tables: tuple[Table, ...] = ()
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident:
    """What triage found in logs."""

    info: RunInfo
    verdict: Verdict
    findings: tuple[Finding, ...]
    root_cause: str
    confidence: float
    offender: Offender | None
    first_failure: LogLine | None
    candidates: tuple[Candidate, ...]
    """The most likely first."""
    evidence: tuple[LogLine, ...]
    decides: str
    """What would settle it between the first two candidates."""
    lines_read: int
    picture: Picture = field(default_factory=Picture)
