"""Small trainings over all nodes, each step held against a single process."""

from collections.abc import Iterator, Sequence
from typing import Any

from nccltool.core.findings import Finding
from nccltool.preflight import expected_numbers, stage_run
from nccltool.preflight.check import Check
from nccltool.preflight.expected_numbers import MeasuredNumber
from nccltool.preflight.result import CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.stages.base import START_S, StageContext, StageResult, skipped
from nccltool.preflight.suite import Expectation, TrainPart
from nccltool.train.finding_kinds import TRAIN_WRONG
from nccltool.train.result import TrainingResult, TrainRun
from nccltool.train.strategies import NAMES

NEEDS = ("inventory", "doctor", "reach", "within", "across")
_STEP_S = 0.1
"""Of a tiny model over two ranks here; the first ones of a strategy take longer."""
_STRATEGY_S = 1.5


def about_s(context: StageContext) -> float:
    """How long it takes."""
    part = context.suite.train
    if part is None:
        return 0.0
    count = len(NAMES) if part.strategies == ("all",) else len(part.strategies)
    return START_S + count * (_STRATEGY_S + _STEP_S * (part.steps + part.timed_steps))


def plan(context: StageContext) -> tuple[str, ...]:
    """What it would do."""
    part = context.suite.train
    assert part is not None
    return (context.call("train", _command(part), context.nodes_left(), context.nproc).line,)


def run(context: StageContext) -> StageResult:
    """Train, and judge."""
    part, nodes = context.suite.train, context.nodes_left()
    assert part is not None
    if not nodes:
        return skipped("train", "no host is left")
    command = _command(part)

    def judged(ran: StageRun) -> Sequence[CheckOutcome]:
        return tuple(of_trainings(ran, part))

    (ran,) = context.start("train", [(context.call("train", command, nodes, context.nproc), nodes)])
    outcomes, more = context.with_second_tests("train", command, nodes, judged(ran), judged)
    return StageResult(
        outcomes=outcomes,
        runs=tuple(one.folder for one in (ran, *more) if one.folder),
        trainings=ran.run.trainings if isinstance(ran.run, TrainRun) else (),
        info=ran.run,
    )


def _command(part: TrainPart) -> tuple[str, ...]:
    steps = ("--size", part.size, "--steps", str(part.steps), "--time-steps", str(part.timed_steps))
    return ("train", ",".join(part.strategies), *steps)


def of_trainings(ran: StageRun, part: TrainPart) -> Iterator[CheckOutcome]:
    """Whether trainings completed, and their arithmetic is that of one process."""
    run = ran.run
    if run is None:
        yield stage_run.not_begun(ran)
        return
    ended = bool(stage_run.endings(run))
    yield from stage_run.completion(ran, run)
    trainings, differing = (run.trainings, run.differing()) if isinstance(run, TrainRun) else ((), {})
    for training in trainings:
        yield _arithmetic(ran, training, ended, differing.get(training.strategy))
    yield from stage_run.others(ran, run.findings, TRAIN_WRONG)
    for wanted in part.expect:
        for training in trainings:
            if wanted.of in ("", training.strategy):
                yield _number(ran, wanted, training)


def _arithmetic(ran: StageRun, training: TrainingResult, ended: bool, wrong: Finding | None) -> CheckOutcome:
    check = Check(stage="train", of=training.strategy)
    oracle = training.oracle
    words: dict[str, Any] = {}
    if oracle is not None:
        words = {"measured": oracle.max_abs_error, "unit": "loss", "source": oracle.rule}
        if oracle.tolerance is not None:
            words["expected"] = f"within {oracle.tolerance:.2g} of one process"
    if wrong is not None:
        return ran.of_finding(check, "fail", wrong, **words)
    if ended and training.status == "unknown":
        return ran.outcome(check, "skip", reason="the run did not complete")
    return ran.outcome(check, training.status, reason=training.reason, **words)


def _number(ran: StageRun, wanted: Expectation, training: TrainingResult) -> CheckOutcome:
    value = {
        "throughput": training.throughput_samples_per_s,
        "exposed": training.exposed_communication_ratio,
        "efficiency": training.scaling_efficiency,
    }[wanted.metric]
    number = MeasuredNumber(
        value=value,
        low=value or 0.0,
        high=value or 0.0,
        noisy=False,
        what=training.strategy,
        why_unknown=training.reason or training.exposed_communication_method or "no step was timed",
    )
    check = wanted.check() if wanted.of else wanted.check().about(training.strategy)
    return expected_numbers.against(ran, wanted, check, number)
