"""The table for people: where it ran, a row a measurement, then what was found."""

from collections.abc import Iterator

from tabulate import tabulate

from nccltool.core.findings import Finding
from nccltool.core.run_info import RunInfo
from nccltool.core.text import escaped
from nccltool.core.units import format_bytes, format_gb_per_s, format_mib, format_seconds
from nccltool.probe.result import LatencyModel, Measurement, Run
from nccltool.train.result import Bubble, Training

HEADERS = ("op", "size", "time", "algbw", "busbw", "% of limit", "wrong", "iterations", "note")
_LIMIT = HEADERS.index("% of limit")
_HEAVY_TAIL = 1.25
"""A mean this far above the median is that of a few slow iterations, and the row says so."""
_IN_PLACE = ("all_reduce", "broadcast", "reduce")
"""Operations that torch.distributed does in place, the others out of place; the table names the rarer form."""
LEGEND = (
    "size: as in nccl-tests, 1 MiB = 2**20 B   time: mean over iterations of the slowest rank\n"
    "algbw, busbw: GB/s = 10**9 B/s   wrong: elements over all ranks"
)


def render(run: Run) -> str:
    """Plain text, with a newline at its end."""
    blocks = [_circumstances(run.info)]
    if run.measurements:
        blocks += [_rows(run), LEGEND, *_limits(run)]
    if run.models:
        blocks.append(_models(run))
    if run.trainings:
        blocks += [_trainings(run), TRAIN_LEGEND, *_beside_trainings(run)]
    blocks += [_finding(finding) for finding in run.findings]
    return "\n".join([*blocks, _last_line(run)]) + "\n"


def _circumstances(info: RunInfo) -> str:
    where = f" on {escaped(', '.join(info.hosts))}" if info.hosts else "; no host answered"
    nodes = f"{info.nodes or '?'} node{'' if info.nodes == 1 else 's'}"
    lines = [
        f"nccltool {info.nccltool}, torch {info.torch or 'unknown'}, run {info.id}",
        f"{nodes}, {info.world_size or '?'} rank{'' if info.world_size == 1 else 's'}{where}",
    ]
    if info.backend:
        lines.append(f"backend {info.backend}: {info.backend_reason}")
    if info.emulated:
        lines.append("EMULATED: the nodes are processes of one host; no network between nodes was measured")
    return "\n".join(lines)


def _rows(run: Run) -> str:
    rows = [HEADERS, *(_row(row, run.info) for row in run.measurements)]
    align = ["left", *["right" for _ in HEADERS[1:-1]], "left"]
    if not _limits(run):
        rows = [row[:_LIMIT] + row[_LIMIT + 1 :] for row in rows]
        del align[_LIMIT]
    return str(tabulate(rows, "firstrow", tablefmt="simple", colalign=align, disable_numparse=True))


def _row(row: Measurement, info: RunInfo) -> tuple[str, ...]:
    return (
        row.op,
        format_bytes(row.bytes),
        format_seconds(row.time_s.mean),
        format_gb_per_s(row.algbw_bytes_per_s),
        format_gb_per_s(row.busbw_bytes_per_s),
        _share(row),
        "not checked" if row.wrong is None else str(row.wrong),
        "?" if row.iterations is None else str(row.iterations),
        ", ".join(_notes(row, info)),
    )


def _share(row: Measurement) -> str:
    if row.limit_busbw_bytes_per_s is None:
        return ""
    percent = row.busbw_bytes_per_s / row.limit_busbw_bytes_per_s * 100
    return f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"


def _limits(run: Run) -> list[str]:
    """What the limits are made of, or why there are none; empty where nothing limits."""
    lines = []
    if run.info.limit_source:
        lines.append(f"% of limit: of what the wires allow. {run.info.limit_source}")
    if run.info.limit_unknown_reason:
        lines.append(f"% of limit is not known: {run.info.limit_unknown_reason}")
    above = dict.fromkeys(row.op for row in run.measurements if row.limit_may_be_exceeded)
    if above:
        lines.append(f"{', '.join(above)} can be above 100 % where switches reduce (NVLS, SHARP)")
    return lines


def _notes(row: Measurement, info: RunInfo) -> Iterator[str]:
    if info.emulated:
        yield "emulated"
    if _is_rare(row):
        yield row.placement.replace("-", " ")
    if row.cadence == "isolated":
        yield "isolated"
    middle = row.time_s.median
    if middle is not None and row.time_s.mean > _HEAVY_TAIL * middle:
        yield f"tail: median {format_seconds(middle)}"
    if row.noisy:
        yield f"noisy: {_spread(row)}"
    if row.late_rank is not None and row.late_s is not None:
        yield f"waited {format_seconds(row.late_s)} for rank {row.late_rank}"


def _is_rare(row: Measurement | LatencyModel) -> bool:
    return (row.placement == "in-place") != (row.op in _IN_PLACE)


def _spread(row: Measurement) -> str:
    if row.time_s.ci95 is None:
        return "too few iterations"
    low, high = row.time_s.ci95
    return f"+-{(high - low) / 2 / (row.time_s.median or row.time_s.mean) * 100:.0f} %"


def _about(size: float) -> str:
    """A size that is an estimate: whole KiB where there are any."""
    return format_bytes(round(size / 1024) * 1024 if size >= 1024 else round(size))


def _models(run: Run) -> str:
    headers = ("model t = alpha + bytes / beta", "alpha", "beta", "n-half", "residual")
    rows = [
        (
            f"{model.op} {model.placement.replace('-', ' ')}" if _is_rare(model) else model.op,
            format_seconds(model.alpha_s),
            f"{format_gb_per_s(model.beta_bytes_per_s)} GB/s",
            _about(model.n_half_bytes),
            f"{model.residual * 100:.0f} %",
        )
        for model in run.models
    ]
    align = ("left", "right", "right", "right", "right")
    return "\n" + str(tabulate(rows, headers, tablefmt="simple", colalign=align, disable_numparse=True)) + "\n"


TRAIN_HEADERS = (
    *("strategy", "ok", "loss error", "allowed", "step", "samples/s", "tokens/s"),
    *("exposed", "efficiency", "MFU", "memory"),
)
_MFU = TRAIN_HEADERS.index("MFU")
TRAIN_LEGEND = (
    "loss error: largest of any step, absolute   allowed: at that step, from rounding alone\n"
    "exposed: share of a step that waits for communication   efficiency: against rank 0 alone with its part\n"
    "memory: most of any rank while steps were timed"
)


def _trainings(run: Run) -> str:
    rows = [TRAIN_HEADERS, *(_training_row(training) for training in run.trainings)]
    align = ["left", "left", *["right" for _ in TRAIN_HEADERS[2:]]]
    if not any(training.model_flop_utilisation for training in run.trainings):
        rows = [row[:_MFU] + row[_MFU + 1 :] for row in rows]
        del align[_MFU]
    return str(tabulate(rows, "firstrow", tablefmt="simple", colalign=align, disable_numparse=True))


def _beside_trainings(run: Run) -> Iterator[str]:
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
        overflowed = [str(step.step) for step in training.steps if step.overflowed]
        if overflowed:
            yield f"{training.strategy}: a gradient overflowed in step {', '.join(overflowed)}; it changed nothing"


def _bubble(strategy: str, bubble: Bubble) -> str:
    stages = f", {bubble.stages_per_rank} stages each" if bubble.stages_per_rank > 1 else ""
    of = f"{bubble.schedule}, {bubble.ranks} ranks{stages}, {bubble.micro_batches} micro-batches"
    least = "not known" if bubble.formula is None else f"{bubble.formula:.0%}"
    measured = "not known" if bubble.measured is None else f"{bubble.measured:.0%}"
    return (
        f"bubble of {strategy} ({of}): {measured} of a step; "
        f"{least} = {bubble.expression} if stages were equal and nothing else was waited for"
    )


def _training_row(training: Training) -> tuple[str, ...]:
    oracle, times = training.oracle, training.step_time_s
    words = {"pass": "yes", "fail": "NO", "skip": "left out", "unknown": "not known", "warn": "yes"}
    memory = max((size for size in training.peak_memory_bytes if size is not None), default=None)
    return (
        training.strategy,
        words[training.status],
        _or_unknown(oracle.max_abs_error if oracle else None, ".2g"),
        _or_unknown(oracle.tolerance if oracle else None, ".2g"),
        format_seconds(times.mean) if times else "?",
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


def _finding(finding: Finding) -> str:
    """Hosts and ranks are quoted in it, and what they print is not to be trusted with a terminal."""
    lines = [f"{finding.severity.upper()} {finding.code}: {finding.message}"]
    lines += [f"    {line}" for text in finding.evidence for line in text.splitlines()]
    if finding.remedy:
        lines.append(f"    -> {finding.remedy}")
    if finding.severity != "info":
        lines.append(f"    page: {finding.page}")
    return "\n".join(escaped(line) for line in lines)


def _last_line(run: Run) -> str:
    if run.kind == "train":
        right = sum(training.status == "pass" for training in run.trainings)
        return f"{run.verdict.status}: {right} of {len(run.trainings)} right, exit code {run.verdict.exit_code}"
    count = len(run.measurements)
    return (
        f"{run.verdict.status}: {count} measurement{'' if count == 1 else 's'}, exit code {run.verdict.exit_code}"
    )
