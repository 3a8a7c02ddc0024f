"""Traces for people: the verdict, findings, what each rank's time was used for, who came last, and top kernels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from nccltool.core import notices
from nccltool.core.look import Align, Look
from nccltool.core.notices import INDENT, verdict_line
from nccltool.core.text import counted, escaped, shortened
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.trace.communicators import told
from nccltool.trace.document import to_json
from nccltool.trace.report import TraceReport
from nccltool.trace.result import Cause, NamedTime, RankTrace, StepArrivals

FORMATS = ("table", "json")
_MOST_RANKS = 16
_MOST_NAMES = 5
_LONGEST_NAME = 60
_MOST_GROUPS = 4


def renderer(form: str, look: Look) -> Callable[[TraceReport], str]:
    return to_json if form == "json" else lambda report: render(report, look)


def render(report: TraceReport, look: Look) -> str:
    head = verdict_line(look, report.verdict.status, f"trace: {headline(report)}")
    head += look.wrapped(INDENT + escaped(_circumstances(report)), 2 * INDENT)
    below = [
        [_ranks(report, look)] if report.traces else [],
        list(_arrivals(report, look)),
        [_names(report, look)],
        [_calls(report, look)],
        list(_lateness(report, look)),
    ]
    taken = len(head) + sum(len("\n".join(block).split("\n")) + 1 for block in below) + 2
    found = notices.shown(look, [notices.of_finding(one) for one in report.findings], taken)
    return "\n\n".join("\n".join(block) for block in (head, found, *below) if any(block)) + "\n"


_COSTS: Mapping[Cause, str] = {
    "input": "waiting for input",
    "launch": "launching kernels",
    "late rank": "waiting for the late rank",
    "communication": "exposed communication",
}


def headline(report: TraceReport) -> str:
    """Who is late, what costs most, and how long a step takes."""
    step, of = "no steps marked", "the time"
    if report.step_s is not None:
        step, of = f"{format_seconds(report.step_s)} per step", "a step"
    if not report.traces:
        step = "steps unknown: NCCL Inspector records collectives"
    late = [] if report.late_rank is None else [f"suspect: rank {report.late_rank}"]
    most = [f"{_COSTS[one.cause]} takes {one.share * 100:.0f} % of {of}" for one in report.losses[:1]]
    return "; ".join((*late, *most, step))


def _circumstances(report: TraceReport) -> str:
    hosts = f" from {counted(len(report.info.hosts), 'host')}" if report.info.hosts else ""
    parts = [f"{counted(len(report.traces), 'trace')}{hosts}"] if report.traces else []
    parts += [f"{report.info.world_size} ranks"] if report.info.world_size else []
    parts += [report.info.backend] if report.info.backend else []
    parts += [f"{sum(one.events for one in report.traces)} events"] if report.traces else []
    if report.communicators:
        parts.append(f"{counted(len(report.communicators), 'communicator')} recorded by NCCL Inspector")
    return ", ".join(parts)


_HEADERS = ("rank", "steps", "step", "compute", "hidden", "exposed", "input", "launch", "other", "waited")


def _ranks(report: TraceReport, look: Look) -> str:
    waited = {
        rank: seconds
        for one in reversed(report.arrivals)
        for rank, seconds in zip(one.ranks, one.waited_s, strict=True)
    }
    shown = report.traces if look.verbose else report.traces[:_MOST_RANKS]
    rows = [_row(one, waited.get(one.rank) if one.rank is not None else None) for one in shown]
    left = len(report.traces) - len(shown)
    more = [f"and {counted(left, 'more rank')}; -v shows all"] if left else []
    align: list[Align] = ["right"] * len(_HEADERS)
    return "\n".join([look.table(_HEADERS, rows, align), *more])


def _row(one: RankTrace, waited_s: float | None) -> Sequence[str]:
    use = one.use
    parts = (use.compute_s, use.hidden_s, use.exposed_s, use.input_s, use.launch_s, use.other_s)
    return (
        "?" if one.rank is None else str(one.rank),
        str(len(one.steps)) if one.steps else "?",
        format_seconds(median(step.seconds for step in one.steps)) if one.steps else "?",
        *("?" if part is None or not use.window_s else f"{part / use.window_s * 100:.0f} %" for part in parts),
        "?" if waited_s is None else format_seconds(waited_s),
    )


def _arrivals(report: TraceReport, look: Look) -> Iterator[str]:
    """Who came last, by group; why nobody is named, where nobody is."""
    for one in report.arrivals[: None if look.verbose else _MOST_GROUPS]:
        last = _last_text(one)
        why = f"; no rank named: {one.why_not}" if one.why_not else ""
        text = f"group {one.group}: {counted(one.collectives, 'collective')} matched{last}{why}"
        yield from look.wrapped(escaped(text), INDENT)


def _last_text(one: StepArrivals) -> str:
    most = sorted(range(len(one.ranks)), key=lambda at: -one.last_in[at] if one.steps else 0)[:4]
    told = [f"rank {one.ranks[at]} in {one.last_in[at]}" for at in most if one.steps and one.last_in[at]]
    return f"; last of {counted(one.steps, 'step')}: {', '.join(told)}" if told else ""


def _calls(report: TraceReport, look: Look) -> str:
    """Bus bandwidth by communicator, operation, and size; those that took longest."""
    every = [(one, row) for one in report.communicators for row in one.collectives]
    every.sort(key=lambda pair: -pair[1].time_s * pair[1].calls)
    shown = every if look.verbose else every[:_MOST_RANKS]
    rows = [
        (
            one.communicator,
            f"{len(one.ranks_read)} of {one.ranks}",
            row.operation,
            format_bytes(row.bytes),
            str(row.calls),
            format_seconds(row.time_s),
            "?" if row.busbw_bytes_per_s is None else f"{format_gb_per_s(row.busbw_bytes_per_s)} GB/s",
        )
        for one, row in shown
    ]
    more = [f"and {counted(len(every) - len(shown), 'more row')}; -v shows all"] if len(every) > len(shown) else []
    align: list[Align] = ["left", "right", "left", "right", "right", "right", "right"]
    heads = ("communicator", "ranks read", "operation", "size", "calls", "time", "busbw")
    return "\n".join([look.table(heads, rows, align), *more]) if rows else ""


def _lateness(report: TraceReport, look: Look) -> Iterator[str]:
    for one in report.communicators[: None if look.verbose else _MOST_GROUPS]:
        yield from look.wrapped(told(one), INDENT)


def _names(report: TraceReport, look: Look) -> str:
    """Of the rank with the longest step, or of the first."""
    if not report.traces:
        return ""
    chosen = max(report.traces, key=lambda one: median(s.seconds for s in one.steps) if one.steps else 0.0)
    kinds = {
        "kernel": chosen.kernels,
        "operator": chosen.operators,
        "communication": chosen.communication_kernels,
    }
    most = 2 * _MOST_NAMES if look.verbose else _MOST_NAMES
    rows = [_name_row(kind, row) for kind, named in kinds.items() for row in named[:most]]
    who = chosen.file if chosen.rank is None else f"rank {chosen.rank}"
    align: list[Align] = ["left", "right", "right", "left"]
    table = look.table(("kind", "total", "count", "name"), rows, align, flexible=3)
    return f"most time on {escaped(who)}:\n{table}" if rows else ""


def _name_row(kind: str, row: NamedTime) -> Sequence[str]:
    return kind, format_seconds(row.total_s), str(row.count), escaped(shortened(row.name, _LONGEST_NAME))
