"""The table for people: where it ran, a row a training, then what was found."""

from collections.abc import Iterator

from tabulate import tabulate

from nccltool.core.look import PLAIN, Look
from nccltool.core.text import escaped
from nccltool.core.units import format_mib, format_seconds
from nccltool.probe.views.base import circumstances
from nccltool.train.result import Bubble, ModelShape, TrainingResult, TrainRun

HEADERS = (
    *("strategy", "ok", "loss error", "allowed", "step", "samples/s", "tokens/s"),
    *("exposed", "efficiency", "MFU", "memory"),
)
_MFU = HEADERS.index("MFU")
LEGEND = (
    "loss error: largest of any step, absolute   allowed: at that step, from rounding alone\n"
    "exposed: share of a step that waits for communication   efficiency: against rank 0 alone with its part\n"
    "memory: most of any rank while steps were timed"
)


def render(run: TrainRun, look: Look = PLAIN) -> str:
    blocks = [circumstances(run.info)]
    if run.trainings:
        blocks += [_trainings(run), LEGEND, *_beside_trainings(run)]
    right = sum(training.status == "pass" for training in run.trainings)
    last = f"{run.verdict.status}: {right} of {len(run.trainings)} right, exit code {run.verdict.exit_code}"
    return "\n".join([*blocks, *(line for finding in run.findings for line in finding.lines(look)), last]) + "\n"


def _trainings(run: TrainRun) -> str:
    rows = [HEADERS, *(_training_row(training) for training in run.trainings)]
    align = ["left", "left", *["right" for _ in HEADERS[2:]]]
    if not any(training.model_flop_utilisation for training in run.trainings):
        rows = [row[:_MFU] + row[_MFU + 1 :] for row in rows]
        del align[_MFU]
    return str(tabulate(rows, "firstrow", tablefmt="simple", colalign=align, disable_numparse=True))


def _beside_trainings(run: TrainRun) -> Iterator[str]:
    """What has no column: whose peak utilisation is of, ranks that stand out, steps that were not taken."""
    timed = [training for training in run.trainings if training.step_time_s]
    for source in dict.fromkeys(training.model_flop_utilisation_source for training in timed):
        if source:
            yield f"MFU, model FLOP utilisation: {escaped(source)}"
    for training in timed:
        if training.bubble is not None:
            yield _bubble(training.strategy, training.bubble)
    slow = {f"rank {t.slowest_rank} in {t.strategy}": None for t in timed if t.slowest_rank is not None}
    if slow:
        yield f"slowest without communication, by a quarter and more: {', '.join(slow)}"
    for training in run.trainings:
        if training.model is not None and training.model.grown:
            yield _shared(training.strategy, training.model)
    for training in run.trainings:
        overflowed = [str(step.step) for step in training.steps if step.overflowed]
        if overflowed:
            yield f"{training.strategy}: a gradient overflowed in step {', '.join(overflowed)}; it changed nothing"


def _shared(strategy: str, model: ModelShape) -> str:
    each = f"{model.ranks} ranks share a model"
    replicas = f", in {model.replicas} replicas" if model.replicas > 1 else ""
    larger = ", ".join(f"{size} {getattr(model, size)}" for size in model.grown)
    return f"{strategy}: {each}{replicas}; enlarged for that: {larger}"


def _bubble(strategy: str, bubble: Bubble) -> str:
    stages = f", {bubble.stages_per_rank} stages each" if bubble.stages_per_rank > 1 else ""
    of = f"{bubble.schedule}, {bubble.ranks} ranks{stages}, {bubble.micro_batches} micro-batches"
    least = "not known" if bubble.formula is None else f"{bubble.formula:.0%}"
    measured = "not known" if bubble.measured is None else f"{bubble.measured:.0%}"
    return (
        f"bubble of {strategy} ({of}): {measured} of a step; "
        f"{least} = {bubble.expression} if stages were equal and nothing else was waited for"
    )


def _training_row(training: TrainingResult) -> tuple[str, ...]:
    oracle, times = training.oracle, training.step_time_s
    words = {"pass": "yes", "fail": "NO", "skip": "left out", "unknown": "not known", "warn": "yes"}
    memory = max((size for size in training.peak_memory_bytes if size is not None), default=None)
    return (
        training.strategy,
        words[training.status],
        _or_unknown(oracle.max_abs_error if oracle else None, ".2g"),
        _or_unknown(oracle.tolerance if oracle else None, ".2g"),
        format_seconds(times.seconds) if times else "?",
        _rate(training.throughput_samples_per_s),
        _rate(training.throughput_tokens_per_s),
        _or_unknown(training.exposed_communication_ratio, ".0%"),
        _or_unknown(training.scaling_efficiency, ".0%"),
        _or_unknown(training.model_flop_utilisation, ".1%"),
        format_mib(memory) if memory is not None else "?",
    )


def _rate(number: float | None) -> str:
    return _or_unknown(number, ".3g" if number and number < 1000 else ".0f")


def _or_unknown(number: float | None, form: str) -> str:
    return "?" if number is None else format(number, form)
