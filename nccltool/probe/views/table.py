"""The result for people: the verdict, the rows or on a small screen a line an operation, then what was found."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nccltool.core import notices
from nccltool.core.host_lists import briefly
from nccltool.core.look import PLAIN, Align, Look
from nccltool.core.statistics import STATISTIC
from nccltool.core.text import escaped
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.probe import folding, group_summary, headline, traffic
from nccltool.probe.result import Measurement, Run
from nccltool.probe.stopping import VAGUE_ABOVE

_HEAVY_TAIL = 1.25
"""A time this far above the median is that of a few slow iterations, and the row says so under -v."""
LEGEND = (
    "size: as in nccl-tests, 1 MiB = 2**20 B   algbw, busbw: GB/s = 10**9 B/s",
    f"time: {STATISTIC} over iterations of the slowest rank   {{}}%: possible error, from 95 % intervals",
    "wrong: wrong elements on all ranks; - = not checked",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Table:
    """What is shown of the rows, and what is said once of all of them."""

    text: str
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


def render(run: Run, look: Look = PLAIN) -> str:
    folded = [notices.of_finding(finding) for finding in folding.folded(run.findings)]
    if not run.measurements:
        return _page(run, look, folded, None)
    text = _page(run, look, folded, _rows(run, look))
    if look.height is None or look.verbose or text.count("\n") <= look.height - notices.BELOW:
        return text
    return _page(run, look, folded, _operations(run, look))


def _page(run: Run, look: Look, found: Sequence[notices.Notice], table: _Table | None) -> str:
    head = notices.verdict_line(look, run.verdict.status, headline.of(run))
    head += notices.circumstances(look, run.info)
    blocks = [head]
    if table:
        head += [look.painted(line, "dim") for text in table.above for line in look.wrapped(text)]
        blocks += [["", *table.text.splitlines()], list(table.below)]
        if look.verbose:
            blocks += [[line.format(look.plus_minus) for line in LEGEND], _limits(run)]
    if look.verbose and run.models:
        blocks.append(["", *_models(run, look).splitlines(), ""])
    taken = sum(map(len, blocks))
    return "\n".join(line for block in (*blocks, notices.shown(look, found, taken)) for line in block) + "\n"


def _rows(run: Run, look: Look) -> _Table:
    """A row a measurement; what is the same in all of them, or nowhere, has no column."""
    rows = run.measurements
    error = f"{look.plus_minus}%"
    columns: list[tuple[str, Align, list[str]]] = [
        ("op", "left", [row.op for row in rows]),
        ("group", "left", [escaped(row.group.text) if row.group else "" for row in rows]),
        ("size", "right", [format_bytes(row.bytes) for row in rows]),
        ("time\nus", "right", [_microseconds(row.time_s.seconds) for row in rows]),
        ("algbw\nGB/s", "right", [format_gb_per_s(row.algbw_bytes_per_s) for row in rows]),
        ("busbw\nGB/s", "right", [format_gb_per_s(row.busbw_bytes_per_s) for row in rows]),
        ("of\nalone", "right", _of_alone(run)),
        ("% of\nlimit", "right", [_share(row) for row in rows] if _limits(run) else []),
        ("wrong", "right", [_wrong([row], look) for row in rows]),
        (error, "right", _errors(rows, look)),
        ("iterations", "right", [_count(row.iterations) for row in rows] if look.verbose else []),
        ("note", "left", [", ".join(_notes(row, run, look.verbose)) for row in rows]),
    ]
    return _Table(text=_drawn(columns, look), above=tuple(_of_all(run, look)), below=tuple(_slowest(run, look)))


def _operations(run: Run, look: Look) -> _Table:
    """A line an operation: latency of the smallest size, the peak, and how the bandwidth grows."""
    groups = headline.of_operations(run.measurements)
    peaks = [headline.peak(group) for group in groups]
    ranges = [headline.sizes(group) for group in groups]
    checked = all(row.wrong == 0 for row in run.measurements)
    columns: list[tuple[str, Align, list[str]]] = [
        ("op", "left", [escaped(headline.name(group[0])) for group in groups]),
        ("sizes", "left", ranges if len(set(ranges)) > 1 else []),
        ("latency\nus", "right", [_microseconds(group[0].time_s.seconds) for group in groups]),
        ("busbw\nGB/s", "right", [format_gb_per_s(row.busbw_bytes_per_s) for row in peaks]),
        ("peak\nat", "right", [format_bytes(row.bytes) for row in peaks]),
        ("worst\n" + f"{look.plus_minus}%", "right", _worst_errors(groups, look)),
        ("wrong", "right", [] if checked else [_wrong(group, look) for group in groups]),
        ("busbw by size", "left", [look.sparkline([r.busbw_bytes_per_s for r in group]) for group in groups]),
    ]
    nothing_wrong = ("no wrong elements in any row",) if checked else ()
    return _Table(
        text=_drawn(columns, look),
        above=(*_of_all(run, look), *nothing_wrong),
        below=(*_slowest(run, look), look.painted(_how_to_see_all(run), "dim")),
    )


def _of_alone(run: Run) -> list[str]:
    """What the other groups left of a group's bandwidth."""
    ratios = {
        (one.op, one.placement, one.bytes, one.group): one for one in group_summary.interference(run.measurements)
    }
    found = []
    for row in run.measurements:
        of = row.group if row.group and not row.group.alone else None
        one = ratios.get((row.op, row.placement, row.bytes, of.name)) if of else None
        found.append(f"{one.ratio:.2f}" if one else "")
    return found


def _slowest(run: Run, look: Look) -> Iterator[str]:
    """Destinations of uneven operations, and groups."""
    uneven = [(headline.name(row), row.bytes, row.traffic) for row in run.measurements if row.traffic]
    for line in traffic.lines(uneven):
        yield from look.wrapped(escaped(line), "    ")
    nodes = {group.name: briefly(group.nodes) for group in run.groups}
    for one in group_summary.slowest(run.measurements, run.groups):
        rates = (one.busbw_bytes_per_s, one.low_busbw_bytes_per_s, one.high_busbw_bytes_per_s)
        rate, low, high = map(format_gb_per_s, rates)
        on = nodes.get(one.group, "")
        clear = "" if one.stands_out else "; its interval overlaps with others, so no group stands out"
        text = (
            f"slowest group of {one.op} at {format_bytes(one.bytes)}: {one.group}"
            f"{f' ({on})' if on and on != one.group else ''}, busbw {rate} GB/s ({low} to {high}), "
            f"{one.share_of_others * 100:.0f} % of the median of the others{clear}"
        )
        yield from look.wrapped(escaped(text), "    ")
    if group_summary.is_mixed(run.groups):
        yield "groups of one node are not compared with groups of several"


def _drawn(columns: Sequence[tuple[str, Align, list[str]]], look: Look) -> str:
    shown = [column for column in columns if any(column[2])]
    rows = list(zip(*(cells for _, _, cells in shown), strict=True))
    return look.table([header for header, _, _ in shown], rows, [align for _, align, _ in shown])


def _of_all(run: Run, look: Look) -> Iterator[str]:
    """What is true of all rows, or explains a mark."""
    rows = run.measurements
    vague = sum(map(_is_vague, rows))
    if vague:
        which = f"{vague} of {len(rows)} rows, marked !," if vague < len(rows) else "every row"
        yield f"{which} could be off by more than {look.plus_minus}{VAGUE_ABOVE:.0%}"
    if all(row.cadence == "isolated" for row in rows):
        yield "isolated: each call was timed separately"
    launched = sum(row.launch_limited for row in rows)
    if launched:
        yield f"{launched} of {len(rows)} rows (launch) show the launch time in Python, not the time on the fabric"


def _errors(rows: Sequence[Measurement], look: Look) -> list[str]:
    """How far off each row could be; marked where that is too much, unless it is of all."""
    marks = len({_is_vague(row) for row in rows}) > 1
    return [_error(row, look, marks) for row in rows]


def _worst_errors(groups: Sequence[Sequence[Measurement]], look: Look) -> list[str]:
    rows = [row for group in groups for row in group]
    marks = len({_is_vague(row) for row in rows}) > 1
    return [_error(max(group, key=_uncertainty), look, marks) for group in groups]


def _uncertainty(row: Measurement) -> float:
    error = row.time_s.relative_error
    return math.inf if error is None else error


def _is_vague(row: Measurement) -> bool:
    return round(_uncertainty(row), 3) > VAGUE_ABOVE  # as it is shown


def _error(row: Measurement, look: Look, marks: bool) -> str:
    error = row.time_s.relative_error
    text = "?" if error is None else f"{error * 100:.1f}" if error < 0.0995 else f"{error * 100:.0f}"
    if not marks:
        return text
    return look.painted(f"{text}!", "warn") if _is_vague(row) else f"{text} "


def _wrong(rows: Sequence[Measurement], look: Look) -> str:
    counts = [row.wrong for row in rows if row.wrong is not None]
    if not counts:
        return "-"
    return look.painted(str(sum(counts)), "fail") if any(counts) else "0"


def _microseconds(seconds: float) -> str:
    micros = seconds * 1e6
    return f"{micros:.2f}" if micros < 9.995 else f"{micros:.1f}" if micros < 99.95 else f"{micros:.0f}"


def _count(number: int | None) -> str:
    return "?" if number is None else str(number)


def _share(row: Measurement) -> str:
    if row.limit_busbw_bytes_per_s is None:
        return ""
    percent = row.busbw_bytes_per_s / row.limit_busbw_bytes_per_s * 100
    return f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"


def _limits(run: Run) -> list[str]:
    """What the limits are made of, or why there are none; empty where nothing limits."""
    lines = []
    if run.info.limit_source:
        lines.append(f"% of limit: share of what the links allow. {run.info.limit_source}")
    if run.info.limit_unknown_reason:
        lines.append(f"% of limit is unknown: {run.info.limit_unknown_reason}")
    above = dict.fromkeys(row.op for row in run.measurements if row.limit_may_be_exceeded)
    if above:
        lines.append(f"{', '.join(above)} can be above 100 % where switches reduce (NVLS, SHARP)")
    return lines


def _notes(row: Measurement, run: Run, verbose: bool) -> Iterator[str]:
    if headline.is_rare(row):
        yield row.placement
    if row.cadence == "isolated" and any(other.cadence != "isolated" for other in run.measurements):
        yield "isolated"
    if row.launch_limited:
        yield "limited by launch overhead" if verbose else "launch"
    if verbose and row.late_rank is not None and row.late_s is not None:
        yield f"others waited {format_seconds(row.late_s)} for rank {row.late_rank}"
    middle = row.time_s.median
    if verbose and middle is not None and row.time_s.seconds > _HEAVY_TAIL * middle:
        yield f"tail: median {format_seconds(middle)}"


def _how_to_see_all(run: Run) -> str:
    count = len(run.measurements)
    if run.info.tool:  # imported, perhaps not saved
        return f"-v shows all {count} rows"
    words = run.info.command
    folder = next((words[at + 1 : at + 2] for at, word in enumerate(words) if word == "--run-dir"), ())
    where = f" --run-dir {folder[0]}" if folder else ""
    return escaped(f"all {count} rows: nccltool runs {run.info.id} -v{where}")


def _about(size: float) -> str:
    """A size that is an estimate: whole KiB where there are any."""
    return format_bytes(round(size / 1024) * 1024 if size >= 1024 else round(size))


def _models(run: Run, look: Look) -> str:
    headers = ("model t = alpha + bytes / beta", "alpha", "beta", "n-half", "residual")
    rows = [
        (
            f"{model.op} {model.placement.replace('-', ' ')}" if headline.is_rare(model) else model.op,
            format_seconds(model.alpha_s),
            f"{format_gb_per_s(model.beta_bytes_per_s)} GB/s",
            _about(model.n_half_bytes),
            f"{model.residual * 100:.0f} %",
        )
        for model in run.models
    ]
    return look.table(headers, rows, ("left", "right", "right", "right", "right"))
