"""What came of smoke training runs. Frozen."""

from dataclasses import dataclass
from typing import Literal, get_args

from nccltool.core.findings import CheckStatus, Finding, Subject
from nccltool.core.statistics import Stats
from nccltool.probe.late_rank import RankLateness
from nccltool.probe.result import Measurement, Run
from nccltool.train.finding_kinds import TRAIN_WRONG


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
    micro_batch_gradient_norm: float | None = None
    """Root mean square over the micro-batches of all ranks; None = not measured."""
    reference_micro_batch_gradient_norm: float | None = None
    time_s: float
    """Of the slowest rank; the first steps of a process are slower than those that are timed."""
    overflowed: bool = False
    """A gradient did not fit float16: the scale of the loss was halved, the parameters stayed as they were."""
    validation_loss: float | None = None
    """After the update; None = not validated, or not a number."""
    reference_validation_loss: float | None = None


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
    compression_error: float | None = None
    """Norm of what compression changed in the average gradient, over the norm of what was compressed, in the step
    in which it comes closest to what the form of compression allows; None = gradients travel as they are, or
    PowerSGD compresses them."""
    compression_bound: float | None = None
    """How large that may be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientNoise:
    """How much gradients of batches differ by chance, over all compared steps."""

    micro_batch: int
    """Sequences."""
    global_batch: int
    steps: int
    squared_norm: float
    """Estimate of |G|^2, G the gradient of all data."""
    variance: float
    """Estimate of tr(Sigma), the variance of the gradient of one sequence."""
    scale: float | None
    """tr(Sigma) / |G|^2, in sequences; None = an estimate is not positive."""
    reference_scale: float | None


PassKind = Literal["forward", "backward", "backward-input", "backward-weight"]
"""What a stage computes of a micro-batch; schedules without bubbles part the backward pass."""
PASS_KINDS: tuple[PassKind, ...] = get_args(PassKind)


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelinePass:
    """What a rank computed when, in a step that all ranks began together."""

    rank: int
    stage: int
    micro_batch: int
    """From 0 on."""
    kind: PassKind
    begin_s: float
    """After all ranks had met, on the rank's own clock."""
    end_s: float


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
    passes: tuple[PipelinePass, ...] = ()
    """The first ones of each rank, of the first ranks, in one more step; () = an older release."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpertLoad:
    """How evenly a router used its experts, over all compared steps, ranks, and blocks."""

    tokens: tuple[int, ...]
    """Of each expert."""
    imbalance: float
    """Tokens of the busiest, over the mean."""
    dropped_ratio: float
    """Share of the choices that exceeded the capacity of their experts."""


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
class ModelShape:
    """The model that was trained, and the ranks that had it between them."""

    layers: int
    width: int
    heads: int
    context: int
    vocabulary: int
    batch: int
    """Sequences of each rank in a step."""
    grown: tuple[str, ...]
    """Which of these sizes are larger than --size says, so that ranks could share the model."""
    ranks: int
    """That had one model, or its data-parallel copy, between them."""
    replicas: int
    """Each had its part of the batch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingInput:
    """The files that were trained with."""

    sequences: int
    """In all files together."""
    epoch_steps: int
    """Steps until each sequence was used once."""
    left_out: int
    """Sequences at the end of an epoch that were too few for a step of all ranks; others in each epoch."""
    wait_ratio: tuple[float, ...]
    """Of each rank the median time that it waited for the input of a timed step, over the median step; () = no
    step was timed."""
    stall_ratio: tuple[float | None, ...] = ()
    """Share of the timed steps in which each rank waited for its storage, without the time in which it lacked a
    core; None = the kernel does not tell; () = no step was timed, or an older release."""


Cause = Literal["input", "launch", "late rank", "communication"]
"""Why steps lose time: ranks wait for their input; GPUs wait for launches; all wait for one rank; data moves while
nothing is computed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepLoss:
    """Time that steps lose for one reason."""

    cause: Cause
    share: float
    """Of a step."""
    rank: int | None
    """Whose it is; None = that of all ranks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankStarved:
    """A rank that could have run, but had no core or had used up its quota."""

    rank: int
    share: float
    """Of its time."""
    others: float
    """The same of the next rank."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryNow:
    """Memory after a step, of the rank that has most; None = not known, or there is no GPU."""

    step: int
    """From 1 on, of the steps before those that are timed."""
    allocated_bytes: int | None
    """In use by tensors."""
    reserved_bytes: int | None
    """By torch's allocator."""
    device_bytes: int | None
    """In use on the device, whoever uses it."""
    resident_bytes: int | None
    """On the host."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnergyUse:
    """What all GPUs, or the processors of all hosts, took in a step."""

    of: Literal["GPU", "host"]
    counters: int
    """How many GPUs or hosts."""
    joules_per_step: float | None
    joules_per_token: float | None
    reason: str
    """Why it is not known; else empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TunedSetting:
    """A setting of a strategy's overlap, timed in turns with others."""

    name: str
    setting: str
    """How to have it in torch."""
    is_exact: bool
    """It changes no number but by the order of sums."""
    status: CheckStatus
    """fail = its losses are not those of the reference; skip = it cannot be had here."""
    reason: str
    step_time_s: Stats | None
    exposed_communication_ratio: float | None
    exposed_communication_low: float | None = None
    exposed_communication_high: float | None = None
    """95 % interval; None = too few rounds."""
    ratio: float | None
    """Median over rounds of its step over that of what was asked for; None = it is that, or was not timed."""
    ratio_low: float | None
    ratio_high: float | None
    """95 % interval for all settings together; None = too few rounds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """What a strategy's overlap depends on here."""

    settings: tuple[TunedSetting, ...]
    """The first is what was asked for."""
    rounds: int
    recommended: str | None
    """The name of a setting; None = none is known to be faster."""
    is_complete: bool = True
    """False = the run was interrupted before: nothing is recommended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OverlapRow:
    """A strategy as asked for, without overlap, or with its fastest setting: what it hides."""

    strategy: str
    name: str
    """Of a setting in the strategy's `Tuning`."""
    setting: str
    exposed_communication_ratio: float | None
    exposed_communication_low: float | None
    exposed_communication_high: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    is_recommended: bool | None
    """None = too few rounds to tell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingResult:
    """A smoke training in one way."""

    strategy: str
    status: CheckStatus
    reason: str
    """Why it was skipped or is unknown; else empty."""
    applies: bool = True
    """False = it is meant for other worlds or installations than this one: what is skipped then, nobody misses."""
    model: ModelShape | None = None
    """None = none was made."""
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
    late_ranks: tuple[RankLateness, ...] | None = None
    """Those that came late to the backward pass, the latest first; None = not measured: no timed steps, stages
    that wait for each other, or an older release."""
    peak_memory_bytes: tuple[int | None, ...]
    """Of each rank while steps were timed: allocated on the device, or resident."""
    model_flop_utilisation: float | None = None
    """What the model needs of arithmetic, over what all GPUs could do in the time of a step at their peak."""
    model_flop_utilisation_source: str = ""
    """Whose peak, or why it is not known."""
    throughput_tokens_per_s_per_rank: float | None = None
    memory: tuple[MemoryNow, ...] = ()
    """Over steps that began after the comparison; () = no step was timed, or an older release."""
    gpu_utilization: tuple[float | None, ...] = ()
    """Of each rank's GPU, over the last second of steps; () = ranks use none."""
    energy: tuple[EnergyUse, ...] = ()
    tuning: Tuning | None = None
    """None = it was not asked for."""
    bubble: Bubble | None = None
    """None = there is no pipeline, or no step of it was timed."""
    experts: ExpertLoad | None = None
    """None = there are none, or no step was compared."""
    gradient_noise: GradientNoise | None = None
    """None = not measured: no accumulation, or a strategy whose ranks lack gradients of whole micro-batches."""
    checkpoint: Checkpointing | None = None
    """None = no checkpoints were asked for."""
    stopped_after: int | None = None
    """The step after which all ranks stopped, because validation did not improve; None = they did not."""
    input: TrainingInput | None = None
    """None = synthetic tokens."""
    losses: tuple[StepLoss, ...] = ()
    """What a good part of a step is lost to, the largest first; () = nothing, or not known."""
    starved: RankStarved | None = None
    """None = none stands out, or it is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainRun(Run):
    """All of a run of smoke training runs; no operation is measured in it."""

    measurements: tuple[Measurement, ...] = ()
    kind: str = "train"
    trainings: tuple[TrainingResult, ...]
    restarts: tuple[Restart, ...] = ()

    def differing(self) -> dict[str, Finding]:
        """Strategy to how it differs from the reference: trainings that failed have a finding each, in order."""
        failed = (training.strategy for training in self.trainings if training.status == "fail")
        return dict(zip(failed, (f for f in self.findings if f.kind is TRAIN_WRONG), strict=False))
