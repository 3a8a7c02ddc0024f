"""The nouns that every stage shares: frozen, without I/O.

`None` means "not known" everywhere; an empty tuple means "looked, and there is none".
"""

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]
Status = Literal["pass", "warn", "fail", "incomplete", "unknown"]
CheckStatus = Literal["pass", "warn", "fail", "unknown", "skip"]
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
    dtype: str = "float32"
    """Of the arithmetic; under a short one the parameters stay in float32."""
    accumulate: int = 1
    """Micro-batches of each rank in a step."""
    micro_batches: int = 2
    """Micro-batches of a pipeline for each of its ranks."""
    comm_hook: str = "none"
    bucket_mib: float = 25.0
    gradient_as_bucket_view: bool = False
    static_graph: bool = False
    recompute: bool = False
    """Activation checkpointing: a block runs forward again in the backward pass; not so in the reference."""
    shard: str = "full"
    schedule: str = "1f1b"


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What to run and where; crosses to the workers as JSON."""

    run_id: str
    ops: tuple[str, ...]
    kind: Literal["probe", "facts", "train"] = "probe"
    """facts: the nodes only look at their hosts."""
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
