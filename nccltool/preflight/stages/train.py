"""Small training runs across all nodes, each step held against a single process."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from nccltool.core.findings import Finding
from nccltool.launch import start_costs
from nccltool.preflight import expected_numbers, stage_run
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.expected_numbers import MeasuredNumber
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.stages.base import StageContext, StageResult, skipped
from nccltool.preflight.suite import Expectation
from nccltool.train.finding_kinds import TRAIN_WRONG
from nccltool.train.result import TrainingResult, TrainRun
from nccltool.train.strategies import NAMES

NEEDS = ("inventory", "doctor", "reach", "within", "across")
STARTS_RANKS = True
_STEP_S = 0.1
"""Of a tiny model over two ranks here; the first ones of a strategy take longer."""
_STRATEGY_S = 1.5
"""To build model and reference, and on processors its process groups."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainPart:
    """What is trained."""

    strategies: Annotated[tuple[str, ...], toml.list_or_all(NAMES, every=("all",))]
    """Which of `all` can be done is known where they are started."""
    steps: Annotated[int, toml.whole(1, 10_000)] = 3
    timed_steps: Annotated[int, toml.whole(0, 10_000)] = 0
    size: Annotated[str, toml.word(("tiny", "125m", "1b"))] = "tiny"
    expect: tuple[Expectation, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        steps = ("--size", self.size, "--steps", str(self.steps), "--time-steps", str(self.timed_steps))
        return ("train", ",".join(self.strategies), *steps)


PART = toml.PartForm(TrainPart, ("throughput", "exposed", "efficiency"), ("strategy", NAMES))


def about_s(context: StageContext, part: TrainPart) -> float:
    count = len(NAMES) if part.strategies == ("all",) else len(part.strategies)
    ranks = context.started()
    groups = start_costs.communicator_s(ranks.world) if ranks.gpus else 0.0
    strategy = _STRATEGY_S + groups + _STEP_S * (part.steps + part.timed_steps)
    return start_costs.start_s(ranks) + count * strategy


def plan(context: StageContext, part: TrainPart) -> tuple[str, ...]:
    return (context.call("train", part.command).line,)


def run(context: StageContext, part: TrainPart) -> StageResult:
    if not context.nodes_left():
        return skipped("train", "no host is left")
    return context.over_all("train", part.command, lambda ran: of_trainings(ran, part))


def of_trainings(ran: StageRun, part: TrainPart) -> Iterator[CheckOutcome]:
    """Whether trainings completed, and their arithmetic is that of one process."""
    yield from stage_run.completion(ran)
    trainings, differing = (ran.run.trainings, ran.run.differing()) if isinstance(ran.run, TrainRun) else ((), {})
    for training in trainings:
        yield _arithmetic(ran, part, training, differing.get(training.strategy))
    yield from stage_run.others(ran, TRAIN_WRONG)
    for wanted in part.expect:
        for training in trainings:
            if wanted.of in ("", training.strategy):
                yield _number(ran, wanted, training)


def _arithmetic(ran: StageRun, part: TrainPart, training: TrainingResult, wrong: Finding | None) -> CheckOutcome:
    check = Check(stage="train", of=training.strategy)
    oracle = training.oracle
    words: dict[str, Any] = {}
    if oracle is not None:
        words = {"measured": oracle.max_abs_error, "unit": "loss", "source": oracle.rule}
        if oracle.tolerance is not None:
            words["expected"] = f"within {oracle.tolerance:.2g} of a single process"
    if wrong is not None:
        return ran.of_finding(check, wrong, **words)
    if ran.endings and training.status == "unknown":
        return ran.outcome(check, "skip", reason="the run did not complete")
    if training.status == "skip" and (training.applies or training.strategy in part.strategies):
        # asked for and not tried: of `all`, what is meant for other worlds or is not installed is not missed
        return ran.outcome(check, "unknown", reason=f"skipped: {training.reason}")
    return ran.outcome(check, training.status, reason=training.reason, **words)


def _number(ran: StageRun, wanted: Expectation, training: TrainingResult) -> CheckOutcome:
    value = {
        "throughput": training.throughput_samples_per_s,
        "exposed": training.exposed_communication_ratio,
        "efficiency": training.scaling_efficiency,
    }[wanted.metric]
    why_unknown = training.reason or training.exposed_communication_method or "no step was timed"
    number = MeasuredNumber(value=value, what=training.strategy, why_unknown=why_unknown)
    check = wanted.check() if wanted.of else wanted.check().about(training.strategy)
    return expected_numbers.against(ran, wanted, check, number)
