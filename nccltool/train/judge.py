"""JUDGE what ranks said of smoke trainings: is the arithmetic right, and what was a step made of. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nccltool.core import statistics
from nccltool.core.findings import CheckStatus, Finding, Subject
from nccltool.core.statistics import Stats
from nccltool.core.verdicts import of_findings, of_own_ranks
from nccltool.launch.finding_kinds import WORLD_OF_ONE
from nccltool.launch.printed_events import Begun
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.probe.finding_kinds import LEFT_OUT
from nccltool.probe.run import info
from nccltool.train import divergence, events, peak_flops, pipeline_schedules
from nccltool.train.finding_kinds import RESUMED
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.result import Bubble, Checkpointing, Oracle, TrainingResult, TrainRun, TrainStep
from nccltool.train.state import heard as heard_of
from nccltool.train.strategies import ddp, fsdp
from nccltool.train.strategies.base import PipelineOptions

SLOW_RANK = 1.25
"""A rank whose own work took so much longer than that of the middle one is named; neighbours on one shared host
differ by some percent."""
WITHOUT_SYNC = (
    "1 - t/T: T a step, t the forward, backward and update of a bare model on the same part of the batch"
)
NOT_KNOWN = "not known: no rank can do its part of this step alone"


@dataclass(slots=True)
class _Heard:
    """What was said of one strategy."""

    steps: list[events.TrainedStep] = field(default_factory=list)
    wrong: list[events.Diverged] = field(default_factory=list)
    compared: list[events.Compared] = field(default_factory=list)
    timed: events.TimedSteps | None = None
    flowed: events.Flowed | None = None
    saved: list[events.CheckpointSaved] = field(default_factory=list)
    resumed: list[events.Resumed] = field(default_factory=list)
    left_out: str | None = None


def judged(outcome: LaunchOutcome, begun: Begun) -> TrainRun:
    """What came of a run of smoke trainings."""
    state, job, said = outcome.state, begun.job, heard_of(outcome.state)
    assert isinstance(job, TrainJob)
    spec = job.train
    heard = _by_strategy(said.said)
    trainings = tuple(_training(name, heard[name], state, spec) for name in spec.strategies)
    wrong = tuple(_wrong(name, heard[name], state, spec) for name in spec.strategies if heard[name].wrong)
    left_out = tuple(_left_out(training) for training in trainings if training.status == "skip")
    resumed = tuple(_resumed(event, state, spec) for name in spec.strategies for event in heard[name].resumed)
    findings = (*_without_world_of_one(outcome.findings), *wrong, *left_out, *resumed)
    verdict = of_own_ranks(findings, interrupted=outcome.interrupted)
    if begun.leads:
        statuses = {training.status for training in trainings}
        can_tell = "pass" in statuses and "unknown" not in statuses  # what could not be trained here is no pass
        verdict = of_findings(findings, interrupted=outcome.interrupted, can_tell=can_tell)
    return TrainRun(
        info=info(state, begun, cuda_graph=False),
        verdict=verdict,
        findings=findings,
        trainings=trainings,
        restarts=said.restarts,
    )


def _without_world_of_one(findings: Iterable[Finding]) -> list[Finding]:
    """A training of one rank that was asked for is no reason to warn: it is how one GPU is checked."""
    return [f for f in findings if f.is_error or f.kind is not WORLD_OF_ONE]


def _by_strategy(said: Sequence[events.OfTraining]) -> dict[str, _Heard]:
    heard: dict[str, _Heard] = defaultdict(_Heard)
    for event in said:
        of = heard[event.strategy]
        match event:
            case events.TrainedStep():
                of.steps.append(event)
            case events.Diverged():
                of.wrong.append(event)
            case events.Compared():
                of.compared.append(event)
            case events.TimedSteps():
                of.timed = event
            case events.Flowed():
                of.flowed = event
            case events.CheckpointSaved():
                of.saved.append(event)
            case events.Resumed():
                of.resumed.append(event)
            case events.NotTrained():
                of.left_out = event.reason
    for of in heard.values():  # what was done again counts as it was done last
        of.steps = [step for _, step in sorted({step.number: step for step in of.steps}.items())]
    return heard


def _training(name: str, heard: _Heard, state: RunState, spec: TrainSpec) -> TrainingResult:
    status, reason = _status(heard, state)
    times = _times(heard.timed, state)
    rate = heard.timed.sequences / times.mean if heard.timed and times else None
    tokens_per_s = rate * spec.context if rate else None
    utilisation, source = _utilisation(tokens_per_s, spec.for_one(name), state)
    return TrainingResult(
        strategy=name,
        status=status,
        reason=reason,
        steps=tuple(_step(step) for step in heard.steps),
        oracle=_oracle(heard, state),
        step_time_s=times,
        throughput_samples_per_s=rate,
        throughput_tokens_per_s=tokens_per_s,
        exposed_communication_ratio=_exposed(heard.timed, times),
        exposed_communication_method=_method(heard.timed),
        scaling_efficiency=_efficiency(heard.timed, times),
        slowest_rank=_slowest(heard.timed),
        peak_memory_bytes=heard.timed.peak_bytes if heard.timed else (),
        model_flop_utilisation=utilisation,
        model_flop_utilisation_source=source,
        bubble=_bubble(heard.flowed, spec.of(PipelineOptions).schedule) if heard.flowed else None,
        checkpoint=_checkpointing(heard) if spec.checkpoint else None,
    )


def _bubble(flowed: events.Flowed, schedule: str) -> Bubble:
    computing, running = sum(flowed.computing_ns), sum(flowed.running_ns)
    known = pipeline_schedules.SCHEDULES[schedule]
    return Bubble(
        schedule=schedule,
        ranks=flowed.ranks,
        micro_batches=flowed.micro_batches,
        stages_per_rank=flowed.stages,
        measured=1 - computing / running if running else None,
        formula=pipeline_schedules.bubble(schedule, flowed.ranks, flowed.micro_batches, flowed.stages),
        expression=known.expression,
        source=known.source,
    )


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


def _status(heard: _Heard, state: RunState) -> tuple[CheckStatus, str]:
    if heard.left_out is not None:
        return "skip", heard.left_out
    if heard.wrong:
        return "fail", ""
    if not _all_compared(heard, state):
        return "unknown", "the run ended before all steps were compared on all ranks"
    if heard.steps and all(step.overflowed for step in heard.steps):
        return "unknown", "gradients overflowed in every step, so that no update was compared"
    return "pass", ""


def _all_compared(heard: _Heard, state: RunState) -> bool:
    return len({event.rank for event in heard.compared}) == state.world_size > 0


def _utilisation(tokens_per_s: float | None, spec: TrainSpec, state: RunState) -> tuple[float | None, str]:
    """(what the model needs over what the GPUs could do, whose peak that is or why it is not known)."""
    if tokens_per_s is None:
        return None, "not known: no step was timed"
    names = {rank.facts.gpu_name if rank.facts else None for rank in state.ranks.values()} or {None}
    if None in names:
        return None, "not known: a rank has no GPU, and what its cores could do at most is not known"
    dtype = spec.of(fsdp.Options).param_dtype or spec.dtype
    found = {name: peak_flops.of(name, dtype) for name in names if name}
    unknown = sorted(name for name, peak in found.items() if peak is None)
    if unknown:
        return None, f"not known: no data sheet is at hand for {', '.join(unknown)} in {dtype}"
    known = [peak for peak in found.values() if peak]
    least = min(known, key=lambda peak: peak.flop_per_s)
    at_most = least.flop_per_s * len(state.ranks)
    return tokens_per_s * peak_flops.flop_per_token(spec) / at_most, least.source


def _step(event: events.TrainedStep) -> TrainStep:
    return TrainStep(
        step=event.number,
        loss=_number(event.loss),
        reference_loss=_number(event.reference_loss),
        gradient_norm=_number(event.gradient_norm),
        reference_gradient_norm=_number(event.reference_gradient_norm),
        time_s=event.ns / 1e9,
        overflowed=event.overflowed,
    )


def _number(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _oracle(heard: _Heard, state: RunState) -> Oracle | None:
    if not heard.compared and not heard.steps:
        return None
    steps = [step for step in map(_step, heard.steps) if None not in (step.loss, step.reference_loss)]
    far = max(steps, key=lambda step: abs((step.loss or 0) - (step.reference_loss or 0)), default=None)
    last = max((step.number for step in heard.steps), default=1)
    relative = max((tolerance for event in heard.compared for _, _, tolerance in event.errors), default=None)
    first = min((event.number for event in heard.wrong), default=None)
    known = far is not None and relative is not None
    return Oracle(
        ok=False if heard.wrong else True if _all_compared(heard, state) else None,
        max_abs_error=abs((far.loss or 0) - (far.reference_loss or 0)) if far else None,
        tolerance=relative / last * far.step * abs(far.reference_loss or 0)
        if known and far and relative
        else None,
        loss_error=_worst(heard.compared, "loss"),
        gradient_error=_worst(heard.compared, "gradient"),
        parameter_error=_worst(heard.compared, "update"),
        relative_tolerance=relative,
        rule=heard.compared[0].rule if heard.compared else "",
        first_step=first,
        ranks=tuple(sorted({event.rank for event in heard.wrong if event.number == first})),
    )


def _worst(compared: Sequence[events.Compared], what: str) -> float | None:
    errors = [float(error) for event in compared for name, error, _ in event.errors if name == what]
    return max(errors) if errors and all(map(math.isfinite, errors)) else None


def _times(timed: events.TimedSteps | None, state: RunState) -> Stats | None:
    samples = heard_of(state).samples(timed.step) if timed else ()
    return statistics.summarise([ns / 1e9 for ns in samples]) if samples else None


def _exposed(timed: events.TimedSteps | None, times: Stats | None) -> float | None:
    if timed is None or times is None or timed.without_sync_ns is None:
        return None
    return max(0.0, 1 - timed.without_sync_ns / 1e9 / _middle(times))


def _middle(times: Stats) -> float:
    return times.mean if times.median is None else times.median


def _method(timed: events.TimedSteps | None) -> str:
    if timed is None:
        return "not known: no step was timed"
    return NOT_KNOWN if timed.without_sync_ns is None else WITHOUT_SYNC


def _efficiency(timed: events.TimedSteps | None, times: Stats | None) -> float | None:
    if timed is None or times is None or timed.alone_ns is None:
        return None
    return timed.alone_ns / 1e9 / _middle(times)


def _slowest(timed: events.TimedSteps | None) -> int | None:
    if timed is None or len(timed.rank_ns) < 2:
        return None
    ordered = sorted(timed.rank_ns)
    slow = ordered[-1] > SLOW_RANK * ordered[(len(ordered) - 1) // 2]
    return timed.rank_ns.index(ordered[-1]) if slow else None


def _wrong(name: str, heard: _Heard, state: RunState, spec: TrainSpec) -> Finding:
    micro_batches = heard.compared[0].micro_batches if heard.compared else 0
    is_compressed = spec.for_one(name).of(ddp.Options).comm_hook == "powersgd"
    return divergence.finding(name, heard.wrong, state.world_size, micro_batches, is_compressed)


def _left_out(training: TrainingResult) -> Finding:
    return LEFT_OUT.finding(
        subject=Subject(kind="operation", name=training.strategy),
        message=f"{training.strategy} was left out: {training.reason}",
    )


def _resumed(event: events.Resumed, state: RunState, spec: TrainSpec) -> Finding:
    ranks = state.world_size
    shared = f"{event.sequences // ranks} of each of {_count(ranks, 'rank')}" if ranks else "shared by all ranks"
    message = f"{event.strategy} went on after step {event.number}, saved by {_count(event.ranks_then, 'rank')}: "
    if event.number >= spec.steps:
        message += "no step was left to do, and only its parameters were held against the reference"
    else:
        message += f"the global batch stays {_count(event.sequences, 'sequence')}, {shared}"
    return RESUMED.finding(
        subject=Subject(kind="file", name=event.folder),
        message=message,
        evidence=(f"from {event.folder}",),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
