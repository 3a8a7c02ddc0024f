"""The table for people: the verdict, a row a training, then what was found."""

from collections.abc import Iterator
from typing import get_args

from nccltool.core.findings import SEVERITIES, CheckStatus
from nccltool.core.look import PLAIN, Align, Look, Tone
from nccltool.core.notices import circumstances, of_finding, shown, verdict_line
from nccltool.core.text import counted, escaped, named
from nccltool.core.units import format_seconds
from nccltool.probe.headline import suspects
from nccltool.train import resources, tuning
from nccltool.train.result import (
    Bubble,
    ExpertLoad,
    GradientNoise,
    ModelShape,
    TrainingInput,
    TrainingResult,
    TrainRun,
)

HEADERS = ("strategy", "result", "step", "samples/s", "exposed %", "scaling %", "MFU %", "memory MiB")
_ALIGN: tuple[Align, ...] = ("left", "left", "right", "right", "right", "right", "right", "right")
_STATUSES = get_args(CheckStatus)
_MOST_NAMED = 3
_INTERRUPTED = 130
_FEWEST_TUNED = 2
_MFU = HEADERS.index("MFU %")
TUNED = ("setting", "step", "95 % interval", "exposed %", "ratio", "its interval")
_ALIGN_TUNED: tuple[Align, ...] = ("left", "right", "right", "right", "right", "right")
OVERLAP = ("strategy", "setting", "exposed %", "ratio", "its interval", "use it")
_ALIGN_OVERLAP: tuple[Align, ...] = ("left", "left", "right", "right", "right", "left")
DETAILS = ("strategy", "tokens/s", "per rank", "loss error", "allowed")
LEGEND = (
    "step: mean time of a step",
    "exposed: share of a step spent waiting for communication",
    "scaling: efficiency compared with rank 0 training its part of the batch alone",
    "memory: peak of any rank during the timed steps",
    "per rank: tokens/s of each rank, which is tokens/s/GPU",
    "loss error: largest absolute error of the loss in any step; allowed: error in that step from rounding alone",
)
_TONES: dict[str, Tone] = {"pass": "pass", "fail": "fail", "unknown": "warn"}


def render(run: TrainRun, look: Look = PLAIN) -> str:
    head = [*verdict_line(look, run.verdict.status, headline(run)), *circumstances(look, run.info)]
    below = [line for text in _beside_trainings(run, look.verbose) for line in look.wrapped(escaped(text), "    ")]
    table = [*_trainings(run, look).split("\n"), *below] if run.trainings else []
    legend = (line for text in LEGEND for line in look.wrapped(text, "    "))
    details = [*_details(run, look).split("\n"), *legend] if look.verbose and run.trainings else []
    found = [of_finding(one) for severity in SEVERITIES for one in run.findings if one.severity == severity]
    tuned = [*(_tuned(one, look) for one in run.trainings), _overlap(run, look)]
    notices = shown(look, found, len(head) + len(table) + sum(map(len, tuned)) + 2)
    return "\n\n".join("\n".join(block) for block in (head, table, *tuned, details, notices) if block) + "\n"


def headline(run: TrainRun) -> str:
    """Who differs from the reference, or that none does; what ended the run before that could be told."""
    by_status = {status: [one.strategy for one in run.trainings if one.status == status] for status in _STATUSES}
    ended = dict.fromkeys(one.code for one in run.findings if one.effect == "incomplete")
    compared = len(by_status["pass"]) + len(by_status["fail"])
    parts = [*([named(ended, _MOST_NAMED)] if ended else []), *suspects(run.findings)]
    if by_status["fail"]:
        verb = "differs" if len(by_status["fail"]) == 1 else "differ"
        parts.append(f"{named(by_status['fail'], _MOST_NAMED)} {verb} from the reference")
    if compared == 1 and by_status["pass"]:
        (one,) = (one for one in run.trainings if one.status == "pass")
        took = f", {format_seconds(one.step_time_s.seconds)} per step" if one.step_time_s else ""
        parts.append(f"{one.strategy} equals the reference{took}")
    elif not compared and not ended:
        parts.append("no strategy was compared with the reference")
    elif compared > 1:
        parts.append(f"{len(by_status['pass'])} of {compared} strategies equal the reference")
    rest = (("unknown", "not compared"), ("skip", "skipped"))
    parts += [f"{len(by_status[status])} {word}" for status, word in rest if by_status[status]]
    return f"{'interrupted: ' if run.verdict.exit_code == _INTERRUPTED else ''}train: {'; '.join(parts)}"


def _trainings(run: TrainRun, look: Look) -> str:
    rows = [_training_row(training, look) for training in run.trainings]
    headers: tuple[str, ...] = HEADERS
    if not any(training.model_flop_utilisation for training in run.trainings):
        rows = [row[:_MFU] + row[_MFU + 1 :] for row in rows]
        headers = headers[:_MFU] + headers[_MFU + 1 :]
    return look.table(headers, rows, _ALIGN[: len(headers)])


def _training_row(training: TrainingResult, look: Look) -> tuple[str, ...]:
    times = training.step_time_s
    memory = max((size for size in training.peak_memory_bytes if size is not None), default=None)
    return (
        training.strategy,
        look.painted(training.status, _TONES.get(training.status, "dim")),
        format_seconds(times.seconds) if times else "?",
        _rate(training.throughput_samples_per_s),
        _percent(training.exposed_communication_ratio),
        _percent(training.scaling_efficiency),
        _percent(training.model_flop_utilisation, ".1f"),
        "?" if memory is None else f"{memory / 2**20:.0f}",
    )


def _details(run: TrainRun, look: Look) -> str:
    rows = [
        (
            training.strategy,
            _rate(training.throughput_tokens_per_s),
            _rate(training.throughput_tokens_per_s_per_rank),
            _or_unknown(oracle.max_abs_error if oracle else None, ".2g"),
            _or_unknown(oracle.tolerance if oracle else None, ".2g"),
        )
        for training in run.trainings
        for oracle in (training.oracle,)
    ]
    return look.table(DETAILS, rows, ("left", "right", "right", "right", "right"))


def _tuned(training: TrainingResult, look: Look) -> list[str]:
    """The table of --tune, and its advice."""
    found = training.tuning
    if found is None:
        return []
    rows = look.table(TUNED, list(tuning.rows(found)), _ALIGN_TUNED)
    title = f"overlap of {training.strategy}, {counted(found.rounds, 'round')} in turns"
    lines = [title, "", *rows.split("\n")]
    lines += look.wrapped(escaped(f"{training.strategy}: {tuning.advice(found)}"), "    ")
    if hidden := tuning.hidden(found):
        lines += look.wrapped(escaped(f"{training.strategy}: {hidden}"), "    ")
    left_out = [one for one in found.settings if one.status == "skip"]
    for one in left_out:
        lines += look.wrapped(escaped(f"{one.name}: left out: {one.reason}"), "    ")
    return lines


def _overlap(run: TrainRun, look: Look) -> list[str]:
    """All tuned strategies in one table; a single strategy has its own table."""
    if sum(one.tuning is not None for one in run.trainings) < _FEWEST_TUNED:
        return []
    rows = list(tuning.overlap_rows(tuning.overlap(run.trainings)))
    return ["exposed communication by strategy", "", *look.table(OVERLAP, rows, _ALIGN_OVERLAP).split("\n")]


def _beside_trainings(run: TrainRun, verbose: bool) -> Iterator[str]:
    """What has no column: whose peak utilisation is of, ranks that stand out, steps that were not taken."""
    timed = [training for training in run.trainings if training.step_time_s]
    for source in dict.fromkeys(training.model_flop_utilisation_source for training in timed):
        if source and verbose:
            yield f"MFU, model FLOP utilisation: {source}"
    for training in timed:
        if training.bubble is not None:
            yield _bubble(training.strategy, training.bubble, verbose)
    slow = {f"rank {t.slowest_rank} in {t.strategy}": None for t in timed if t.slowest_rank is not None}
    if slow:
        yield f"at least 25 % slower than the typical rank, without communication: {', '.join(slow)}"
    yield from resources.lines(timed, verbose)
    for training in timed if verbose or len(timed) == 1 else ():
        yield from _losses(training)
    for training in run.trainings:
        yield from _parts(training, verbose)
    for training in run.trainings:
        if training.model is not None and training.model.grown and verbose:
            yield _shared(training.strategy, training.model)
    for training in run.trainings:
        overflowed = [str(step.step) for step in training.steps if step.overflowed]
        if overflowed:
            steps = ", ".join(overflowed)
            yield f"{training.strategy}: a gradient overflowed, so the parameters were not updated: step {steps}"


def _losses(training: TrainingResult) -> Iterator[str]:
    """The largest first."""
    parts = (
        f"{one.cause}{'' if one.rank is None else f' (rank {one.rank})'} {one.share:.0%}"
        for one in training.losses
    )
    if training.losses:
        yield f"a step of {training.strategy} loses time to: {', '.join(parts)}"


def _parts(training: TrainingResult, verbose: bool) -> Iterator[str]:
    """Of what some trainings have."""
    if training.experts is not None:
        yield _experts(training.strategy, training.experts)
    if any(step.validation_loss is not None for step in training.steps):
        yield _validation(training)
    if training.gradient_noise is not None:
        yield _noise(training.strategy, training.gradient_noise)
    if training.input is not None:
        yield _input(training.strategy, training.input, verbose)


def _shared(strategy: str, model: ModelShape) -> str:
    each = f"{model.ranks} ranks share a model"
    replicas = f" ({model.replicas} replicas)" if model.replicas > 1 else ""
    larger = ", ".join(f"{size} {getattr(model, size)}" for size in model.grown)
    return f"{strategy}: {each}{replicas}; enlarged to fit: {larger}"


def _experts(strategy: str, load: ExpertLoad) -> str:
    busiest = load.tokens.index(max(load.tokens))
    dropped = f"; {load.dropped_ratio:.0%} of the choices were dropped" if load.dropped_ratio else ""
    busy = f"expert {busiest} of {len(load.tokens)} got {load.imbalance:.2g} times the mean"
    return f"experts of {strategy}: {busy}{dropped}"


def _validation(training: TrainingResult) -> str:
    losses = [(step.validation_loss, step.step) for step in training.steps if step.validation_loss is not None]
    least, at = min(losses)
    stopped = "" if training.stopped_after is None else f"; all ranks stopped after step {training.stopped_after}"
    return f"validation loss of {training.strategy}: lowest in step {at} ({least:.6f}){stopped}"


def _noise(strategy: str, noise: GradientNoise) -> str:
    known = "" if noise.scale is None else f"{float(f'{noise.scale:.2g}'):g} sequences"
    scale = known or "unknown: the estimate is not positive"
    sizes = f"micro-batches of {noise.micro_batch}, batches of {noise.global_batch}"
    return f"gradient noise scale of {strategy}: {scale} ({counted(noise.steps, 'step')}, {sizes})"


def _input(strategy: str, one: TrainingInput, verbose: bool) -> str:
    waits = "not measured" if not one.wait_ratio else f"at most {max(one.wait_ratio):.0%} of a step on any rank"
    dealt = f"; {counted(one.sequences, 'sequence')} = {counted(one.epoch_steps, 'step')} per epoch"
    left_out = f" + {one.left_out} left out" if one.left_out else ""
    return f"waiting for input in {strategy}: {waits}{f'{dealt}{left_out}' if verbose or one.left_out else ''}"


def _bubble(strategy: str, bubble: Bubble, verbose: bool) -> str:
    least = "unknown" if bubble.formula is None else f"{bubble.formula:.0%}"
    measured = "unknown" if bubble.measured is None else f"{bubble.measured:.0%}"
    if not verbose:
        return f"bubble of {strategy}: {measured} of a step (at least {least} with {bubble.schedule})"
    stages = f", {bubble.stages_per_rank} stages each" if bubble.stages_per_rank > 1 else ""
    of = f"{bubble.schedule}, {bubble.ranks} ranks{stages}, {bubble.micro_batches} micro-batches"
    return (
        f"bubble of {strategy} ({of}): {measured} of a step; "
        f"expected {least} = {bubble.expression} with equal stages and no other waits"
    )


def _percent(share: float | None, form: str = ".0f") -> str:
    return _or_unknown(None if share is None else share * 100, form)


def _rate(number: float | None) -> str:
    return _or_unknown(number, ".3g" if number and number < 1000 else ".0f")


def _or_unknown(number: float | None, form: str) -> str:
    return "?" if number is None else format(number, form)
