"""JUDGE what ranks said of smoke training runs: is the arithmetic right, and what was a step made of. Pure."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nccltool.core import statistics
from nccltool.core.findings import CheckStatus, Finding
from nccltool.core.statistics import Stats
from nccltool.core.verdicts import of_findings, of_own_ranks
from nccltool.launch.finding_kinds import WORLD_OF_ONE
from nccltool.launch.printed_events import Begun
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.probe import late_findings, plan
from nccltool.probe.late_findings import ArrivalsOf
from nccltool.probe.run import info
from nccltool.train import (
    divergence,
    events,
    gradient_noise,
    input_findings,
    peak_flops,
    pipeline_schedules,
    resources,
    resumption,
    sharing,
    step_losses,
    tuning,
)
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.result import (
    PASS_KINDS,
    Bubble,
    Checkpointing,
    ExpertLoad,
    GradientNoise,
    Oracle,
    PipelinePass,
    TrainingInput,
    TrainingResult,
    TrainRun,
    TrainStep,
)
from nccltool.train.state import heard as heard_of
from nccltool.train.strategies import ddp, fsdp
from nccltool.train.strategies.base import DataParallelOptions, PipelineOptions

WITHOUT_SYNC = (
    "1 - t/T, where T is the time of a step, and t the time of the forward pass, backward pass, and update "
    "of a bare model on the same part of the batch"
)
NOT_KNOWN = "unknown: no rank can do its part of this step alone"


class _Heard:
    """What was said of one strategy."""

    def __init__(self, name: str, state: RunState, spec: TrainSpec) -> None:
        self.name, self.state, self.spec = name, state, spec.for_one(name)
        said: dict[type[events.OfTraining], list[Any]] = defaultdict(list)
        for event in heard_of(state).said:
            if event.strategy == name:
                said[type(event)].append(event)
        steps = {step.number: step for step in said[events.TrainedStep]}  # as it was done last
        self.steps: list[events.TrainedStep] = [steps[number] for number in sorted(steps)]
        self.wrong: list[events.Diverged] = said[events.Diverged]
        self.compared: list[events.Compared] = said[events.Compared]
        self.saved: list[events.CheckpointSaved] = said[events.CheckpointSaved]
        self.resumed: list[events.Resumed] = said[events.Resumed]
        self.timed: events.TimedSteps | None = next(reversed(said[events.TimedSteps]), None)
        self.flowed: events.Flowed | None = next(reversed(said[events.Flowed]), None)
        self.routed: events.Routed | None = next(reversed(said[events.Routed]), None)
        self.passed: list[events.Passed] = said[events.Passed]
        self.tried: list[events.VariantTried] = said[events.VariantTried]
        self.variants: list[events.VariantTimed] = said[events.VariantTimed]
        self.dealt: events.InputDealt | None = next(reversed(said[events.InputDealt]), None)
        self.waits: list[events.InputTimed] = said[events.InputTimed]
        self.shards: list[events.InputWrong] = said[events.InputWrong]
        self.memory: list[events.MemorySeen] = [
            e for e in said[events.MemorySeen] if self.timed and e.step == self.timed.step
        ]
        self.of_ranks = [e for e in said[events.OfRanks] if self.timed and e.step == self.timed.step]
        built: list[events.Built] = said[events.Built]
        self.shape = built[-1].shape if built else None
        self.not_compared: events.NotCompared | None = next(reversed(said[events.NotCompared]), None)
        self.left_out: events.NotTrained | None = next(reversed(said[events.NotTrained]), None)

    @property
    def on_gpus(self) -> bool:
        return any(part.utilization for part in self.of_ranks)

    @property
    def all_compared(self) -> bool:
        """On all ranks."""
        return len({event.rank for event in self.compared}) == self.state.world_size > 0


def judged(outcome: LaunchOutcome, begun: Begun) -> TrainRun:
    state, job = outcome.state, begun.job
    assert isinstance(job, TrainJob)
    heard = [_Heard(name, state, job.train) for name in job.train.strategies]
    # strategies are trained one after another
    ended = [not outcome.interrupted or any(one.shape for one in heard[at:]) for at in range(1, len(heard) + 1)]
    trainings = tuple(_training(*one) for one in zip(heard, ended, strict=True))
    findings = (
        # a training of one rank that was asked for is no reason to warn: it is how one GPU is checked
        *(f for f in outcome.findings if f.is_error or f.kind is not WORLD_OF_ONE),
        *(_wrong(one) for one in heard if one.wrong),
        *(input_findings.wrong(one.name, one.shards) for one in heard if one.shards),
        *(finding for one in trainings if one.tuning for finding in tuning.wrong(one.strategy, one.tuning)),
        *_late(trainings, state),
        *(slow for one in trainings if (slow := input_findings.slow(one, state)) is not None),
        *(plan.one_left_out(one.strategy, one.strategy, one.reason) for one in trainings if one.status == "skip"),
        *(
            resumption.finding(event, one.state.world_size, one.spec.steps)
            for one in heard
            for event in one.resumed
        ),
    )
    verdict = of_own_ranks(findings, interrupted=outcome.interrupted)
    if begun.leads:
        statuses = {training.status for training in trainings}
        # what could not be trained here is no pass; of `all`, nobody asked for it by its name
        missing = {"unknown"} if job.train.is_all else {"unknown", "skip"}
        can_tell = "pass" in statuses and not statuses & missing
        verdict = of_findings(findings, interrupted=outcome.interrupted, can_tell=can_tell)
    return TrainRun(
        info=info(outcome, begun, cuda_graph=False),
        verdict=verdict,
        findings=findings,
        trainings=trainings,
        restarts=heard_of(state).restarts,
    )


def _late(trainings: Sequence[TrainingResult], state: RunState) -> tuple[Finding, ...]:
    measured = [one for one in trainings if one.late_ranks is not None]
    words = ArrivalsOf(
        only=measured[0].strategy if measured else "",
        several="strategies",
        measured="measured between forward and backward pass, in extra steps, without transfer time",
    )
    return late_findings.of_rows((one.late_ranks for one in measured), state, words)


def _training(heard: _Heard, has_ended: bool) -> TrainingResult:
    status, reason = _status(heard)
    timed, times = heard.timed, _times(heard)
    rate = timed.sequences / times.seconds if timed and times else None
    tokens_per_s = rate * timed.tokens / timed.sequences if timed and rate else None
    utilisation, source = _utilisation(tokens_per_s, heard)
    without_sync = _of_a_step(_without_sync_ns(timed), times)
    exposed = None if without_sync is None else max(0.0, 1 - without_sync)
    late = step_losses.came_late(timed, times.mean if times else None, on_gpus=heard.on_gpus)
    given, starved = _input(heard.dealt, heard) if heard.dealt else None, timed.starved if timed else None
    return TrainingResult(
        strategy=heard.name,
        status=status,
        reason=reason,
        applies=heard.left_out is None or heard.left_out.applies,
        model=heard.shape,
        steps=_steps(heard),
        oracle=_oracle(heard),
        step_time_s=times,
        throughput_samples_per_s=rate,
        throughput_tokens_per_s=tokens_per_s,
        exposed_communication_ratio=exposed,
        exposed_communication_method=_method(timed),
        scaling_efficiency=_of_a_step(timed.alone_ns if timed else None, times),
        slowest_rank=_slowest(heard),
        late_ranks=late,
        peak_memory_bytes=tuple(peak for part in heard.of_ranks for peak in part.peak_bytes),
        throughput_tokens_per_s_per_rank=tokens_per_s / heard.state.world_size if tokens_per_s else None,
        memory=tuple(resources.memory(heard.memory)),
        gpu_utilization=tuple(
            None if used is None else used / 1000 for part in heard.of_ranks for used in part.utilization
        ),
        energy=tuple(resources.energy(timed)) if timed else (),
        model_flop_utilisation=utilisation,
        model_flop_utilisation_source=source,
        tuning=tuning.of(heard.tried, heard.variants, is_complete=has_ended),
        bubble=_bubble(heard.flowed, heard) if heard.flowed else None,
        experts=_experts(heard.routed) if heard.routed and heard.routed.choices else None,
        stopped_after=next((step.number for step in heard.steps if step.stops), None),
        input=given,
        losses=step_losses.of(timed, times.mean if times else None, exposed, given, late or ()),
        starved=starved,
        gradient_noise=_gradient_noise(heard),
        checkpoint=_checkpointing(heard) if heard.spec.checkpoint else None,
    )


def _experts(routed: events.Routed) -> ExpertLoad:
    taken = sum(routed.tokens)
    return ExpertLoad(
        tokens=routed.tokens,
        imbalance=max(routed.tokens) * len(routed.tokens) / taken,
        dropped_ratio=1 - taken / routed.choices,
    )


def _without_sync_ns(timed: events.TimedSteps | None) -> int | None:
    """Of a step: what the rank that waits longest for its input waits is no communication."""
    return None if timed is None or timed.without_sync_ns is None else timed.without_sync_ns + timed.input_ns


def _input(dealt: events.InputDealt, heard: _Heard) -> TrainingInput:
    here = [one for one in heard.waits if heard.timed and one.step == heard.timed.step]
    return input_findings.of(dealt, here, _times(heard))


def _bubble(flowed: events.Flowed, heard: _Heard) -> Bubble:
    schedule = heard.spec.of(PipelineOptions).schedule
    known = pipeline_schedules.SCHEDULES[schedule]
    return Bubble(
        schedule=schedule,
        ranks=flowed.ranks,
        micro_batches=flowed.micro_batches,
        stages_per_rank=flowed.stages,
        measured=1 - flowed.computing_ns / flowed.running_ns if flowed.running_ns else None,
        formula=pipeline_schedules.bubble(schedule, flowed.ranks, flowed.micro_batches, flowed.stages),
        expression=known.expression,
        source=known.source,
        passes=tuple(_pass(event.rank, one) for event in heard.passed for one in event.passes),
    )


def _pass(rank: int, one: tuple[int, int, int, int, int]) -> PipelinePass:
    kind, stage, micro_batch, begin, end = one
    return PipelinePass(
        rank=rank,
        stage=stage,
        micro_batch=micro_batch,
        kind=PASS_KINDS[kind],
        begin_s=begin / 1e9,
        end_s=end / 1e9,
    )


def _gradient_noise(heard: _Heard) -> GradientNoise | None:
    if heard.shape is None:
        return None
    micro_batch = heard.shape.batch // heard.spec.of(DataParallelOptions).accumulate
    return gradient_noise.of(_steps(heard), micro_batch, heard.shape.batch * heard.state.world_size)


def _checkpointing(heard: _Heard) -> Checkpointing:
    resumed = heard.resumed[-1] if heard.resumed else None
    return Checkpointing(
        saved=tuple(sorted({event.number for event in heard.saved})),
        bytes=heard.saved[-1].bytes if heard.saved else None,
        save_s=sum(event.ns for event in heard.saved) / len(heard.saved) / 1e9 if heard.saved else None,
        resumed_from=resumed.number if resumed else None,
        ranks_then=resumed.ranks_then if resumed else None,
        load_s=resumed.ns / 1e9 if resumed else None,
    )


def _status(heard: _Heard) -> tuple[CheckStatus, str]:
    if heard.left_out is not None:
        return "skip", heard.left_out.reason
    if heard.wrong or heard.shards:
        return "fail", ""
    if heard.not_compared is not None:
        return "unknown", f"not compared: {heard.not_compared.reason}"
    if not heard.all_compared:
        return "unknown", "the run ended before all steps were compared on all ranks"
    if heard.steps and all(step.overflowed for step in heard.steps):
        return "unknown", "gradients overflowed in every step, so no update was compared"
    return "pass", ""


def _utilisation(tokens_per_s: float | None, heard: _Heard) -> tuple[float | None, str]:
    """(what the model needs over what the GPUs could do, whose peak that is or why it is not known)."""
    if tokens_per_s is None:
        return None, "unknown: no step was timed"
    ranks, spec = heard.state.ranks.values(), heard.spec
    names = {rank.facts.gpu_name if rank.facts else None for rank in ranks} or {None}
    world = heard.state.world
    if world is not None and world.backend == "gloo" and None not in names:
        return (
            None,
            "unknown: with Gloo, ranks do not use GPUs, and the peak rate of CPU cores is unknown",
        )
    if None in names:
        return None, "unknown: a rank has no GPU, and the peak rate of its CPU cores is unknown"
    dtype = spec.of(fsdp.Options).param_dtype or spec.dtype
    found = {name: peak_flops.of(name, dtype) for name in names if name}
    unknown = sorted(name for name, peak in found.items() if peak is None)
    if unknown:
        return None, f"unknown: no data sheet value of {', '.join(unknown)} for {dtype}"
    least = min((peak for peak in found.values() if peak), key=lambda peak: peak.flop_per_s)
    if heard.shape is not None:
        spec = replace(spec, **{size: getattr(heard.shape, size) for size in sharing.SIZES})
    spec = replace(spec, experts=len(heard.routed.tokens) if heard.routed else 0)
    return tokens_per_s * peak_flops.flop_per_token(spec) / (least.flop_per_s * len(ranks)), least.source


def _steps(heard: _Heard) -> tuple[TrainStep, ...]:
    return tuple(map(_step, heard.steps))


def _step(event: events.TrainedStep) -> TrainStep:
    return TrainStep(
        step=event.number,
        loss=_number(event.loss),
        reference_loss=_number(event.reference_loss),
        gradient_norm=_number(event.gradient_norm),
        reference_gradient_norm=_number(event.reference_gradient_norm),
        micro_batch_gradient_norm=_number(event.micro_batch_norm),
        reference_micro_batch_gradient_norm=_number(event.reference_micro_batch_norm),
        time_s=event.ns / 1e9,
        overflowed=event.overflowed,
        validation_loss=_number(event.validation_loss),
        reference_validation_loss=_number(event.reference_validation_loss),
    )


def _number(text: str) -> float | None:
    number = float(text or "nan")
    return number if math.isfinite(number) else None


def _oracle(heard: _Heard) -> Oracle | None:
    if not heard.compared and not heard.steps:
        return None
    losses = [(step.number, float(step.loss), float(step.reference_loss)) for step in heard.steps]
    apart = [(abs(loss - own), number, own) for number, loss, own in losses if math.isfinite(loss + own)]
    error, at, own = max(apart, key=lambda one: one[0], default=(None, 1, 0.0))
    last = max((step.number for step in heard.steps), default=1)
    of_numbers = [
        row for event in heard.compared for row in event.errors if row[0] not in ("share", "stop", "compression")
    ]
    relative = max((tolerance for _, _, tolerance in of_numbers), default=None)
    first = min((event.number for event in heard.wrong), default=None)
    return Oracle(
        ok=False if heard.wrong else True if heard.all_compared else None,
        max_abs_error=error,
        tolerance=None if error is None or not relative else relative / last * at * abs(own),
        loss_error=_worst(heard.compared, "loss"),
        gradient_error=_worst(heard.compared, "gradient"),
        parameter_error=_worst(heard.compared, "update"),
        compression_error=_worst(heard.compared, "compression"),
        compression_bound=max(
            (
                tolerance
                for event in heard.compared
                for name, _, tolerance in event.errors
                if name == "compression"
            ),
            default=None,
        ),
        relative_tolerance=relative,
        rule=heard.compared[0].rule if heard.compared else "",
        first_step=first,
        ranks=tuple(sorted({event.rank for event in heard.wrong if event.number == first})),
    )


def _worst(compared: Sequence[events.Compared], what: str) -> float | None:
    errors = [float(error) for event in compared for name, error, _ in event.errors if name == what]
    return max(errors) if errors and all(map(math.isfinite, errors)) else None


def _times(heard: _Heard) -> Stats | None:
    samples = heard_of(heard.state).samples(heard.timed.step) if heard.timed else ()
    return statistics.summarise([ns / 1e9 for ns in samples]) if samples else None


def _of_a_step(ns: int | None, times: Stats | None) -> float | None:
    if ns is None or times is None:
        return None
    return ns / 1e9 / (times.mean if times.median is None else times.median)


def _method(timed: events.TimedSteps | None) -> str:
    if timed is None:
        return "unknown: no step was timed"
    return NOT_KNOWN if timed.without_sync_ns is None else WITHOUT_SYNC


def _slowest(heard: _Heard) -> int | None:
    parts = heard.of_ranks
    steps = len(heard_of(heard.state).samples(heard.timed.step)) if heard.timed else 0
    slowest_in = [times for part in parts for times in part.slowest_in]
    return step_losses.slowest([ns for part in parts for ns in part.ns], slowest_in, steps)


def _wrong(heard: _Heard) -> Finding:
    micro_batches = heard.compared[0].micro_batches if heard.compared else 0
    of_ddp = heard.spec.of(ddp.Options)
    # no sum of those of micro-batches
    is_compressed = of_ddp.comm_hook in ddp.COMPRESSED or of_ddp.sync_batch_norm
    world = heard.state.world_size
    replicas = heard.shape.replicas if heard.shape else 0
    return divergence.finding(heard.name, heard.wrong, world, replicas, micro_batches, is_compressed)
