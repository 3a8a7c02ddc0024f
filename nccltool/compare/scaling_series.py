"""A series of runs that differ in the number of ranks: what came of it, and how it is shown."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from nccltool.compare.scaling import ScalingCurve, ScalingPoint
from nccltool.core import documents
from nccltool.core.findings import Finding
from nccltool.core.look import PLAIN, Align, Look
from nccltool.core.notices import verdict_line
from nccltool.core.text import counted, escaped
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.core.verdicts import Status, Verdict
from nccltool.train.judge import NOT_KNOWN
from nccltool.train.series import LeftOut

FORMATS = ("table", "json", "csv")
_OF_TRAINING = ("ranks", "sequences/s", "step", "compute", "exposed", "other", "efficiency", "95 % interval")
_OF_COLLECTIVE = ("ranks", "busbw GB/s", "time", "efficiency", "95 % interval")
_UNKNOWN = "?"
_PARTS = (
    "compute: the work of a rank while the others wait; exposed: waiting for communication; other: what ranks "
    "lose to each other"
)
_EFFICIENCY = "efficiency: sequences per second and rank, relative to the fewest ranks"
_OF_PARTS = slice(3, 6)
_COLUMNS = ("of", "detail", "kind", "bytes", "base", *(field.name for field in fields(ScalingPoint)))


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesMember:
    """A run of the series."""

    run: str
    """Its id."""
    folder: str
    ranks: int
    nodes: int
    status: Status
    exit_code: int
    findings: tuple[Finding, ...] = ()
    """Errors: why it failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalingSeries:
    """What came of all of them."""

    command: str
    """probe or train."""
    verdict: Verdict
    members: tuple[SeriesMember, ...]
    asked: int
    """Runs that were asked for: fewer came when it was interrupted."""
    curves: tuple[ScalingCurve, ...]
    left_out: tuple[LeftOut, ...] = ()
    """Strategies without a point at some numbers of ranks."""


def render(series: ScalingSeries, form: str, look: Look = PLAIN) -> str:
    if form == "json":
        verdict = series.verdict
        return documents.headed(
            "scaling",
            status=verdict.status,
            exit_code=verdict.exit_code,
            command=series.command,
            asked=series.asked,
            runs=series.members,
            curves=series.curves,
            left_out=series.left_out,
        )
    return _csv(series) if form == "csv" else "\n".join(_table(series, look)) + "\n"


def _table(series: ScalingSeries, look: Look) -> Iterator[str]:
    yield from verdict_line(look, series.verdict.status, headline(series))
    for one in shown(series.curves, look.verbose):
        yield ""
        yield from look.wrapped(escaped(title(one)), "    ")
        yield from _curve(one, look).split("\n")
    notes = [f"{one.of}: no point at {_ranks(one)}: {one.reason}" for one in series.left_out]
    trained = [one for one in series.curves if one.kind != "collective"]
    unknown = dict.fromkeys(one.of for one in trained if not has_parts(one))
    if unknown:
        notes.append(f"compute and exposed of {', '.join(unknown)}: {NOT_KNOWN}")
    if notes:
        yield ""
        for note in notes:
            yield from look.wrapped(escaped(note), "    ")
    if trained:
        yield ""
        legend = f"{_PARTS}; {_EFFICIENCY}" if len(unknown) < len({one.of for one in trained}) else _EFFICIENCY
        yield from look.wrapped(look.painted(legend, "dim"), "    ")
    bad = [one for one in series.members if one.findings]
    for member in bad:
        yield ""
        yield from look.wrapped(escaped(f"{_where(member)}: {member.status}"), "    ")
        for finding in member.findings:
            yield from look.wrapped(escaped(f"    {finding.headline}"), "        ")


def _ranks(one: LeftOut) -> str:
    return f"{', '.join(map(str, one.ranks))} rank{'' if one.ranks == (1,) else 's'}"


def _where(one: SeriesMember) -> str:
    return f"{counted(one.ranks, 'rank')} on {counted(one.nodes, 'node')} ({one.run})"


def headline(series: ScalingSeries) -> str:
    """How efficient the largest runs are, and how many failed."""
    bad = [one for one in series.members if one.exit_code]
    parts = efficiencies(series.curves)
    if not parts:
        parts.append("no scaling known: fewer than two runs have numbers")
    if bad:
        parts.append(f"{len(bad)} of {counted(len(series.members), 'run')} did not pass")
    if len(series.members) < series.asked:
        parts.insert(0, f"interrupted after {len(series.members)} of {counted(series.asked, 'run')}")
    return f"{series.command}: {'; '.join(parts)}"


def efficiencies(curves: Sequence[ScalingCurve]) -> list[str]:
    """Of each kind of scaling, how efficient the largest run is of the curve that is worst."""
    parts = []
    for kind in ("weak", "strong", "collective"):
        of_kind = [one for one in curves if one.kind == kind]
        if of_kind:
            least = min(of_kind, key=lambda one: one.points[-1].efficiency)
            name = "bandwidth" if kind == "collective" else f"{kind} scaling"
            point = least.points[-1]
            lowest = f", lowest for {_name(least)}" if len(of_kind) > 1 else ""
            parts.append(f"{name} {100 * point.efficiency:.0f} % from {least.base} to {point.ranks} ranks{lowest}")
    return parts


def shown(curves: Sequence[ScalingCurve], is_verbose: bool) -> list[ScalingCurve]:
    """Of an operation with many sizes, the smallest and the largest."""
    sizes: dict[str, list[int]] = {}
    for one in curves:
        if one.bytes is not None:
            sizes.setdefault(one.of, []).append(one.bytes)
    return [one for one in curves if is_verbose or one.bytes is None or one.bytes in _ends(sizes[one.of])]


def _ends(sizes: Sequence[int]) -> tuple[int, int]:
    return min(sizes), max(sizes)


def _name(one: ScalingCurve) -> str:
    return one.of if one.bytes is None else f"{one.of} {format_bytes(one.bytes)}"


def title(one: ScalingCurve) -> str:
    """`ddp, weak scaling (gloo, 4 layers, ...; 4 sequences per rank)`."""
    kind = "" if one.kind == "collective" else f", {one.kind} scaling"
    return f"{_name(one)}{kind} ({one.detail})"


def headers(curve: ScalingCurve) -> tuple[str, ...]:
    """Of the rows below."""
    if curve.kind == "collective":
        return _OF_COLLECTIVE
    return _OF_TRAINING if has_parts(curve) else _without_parts(_OF_TRAINING)


def has_parts(curve: ScalingCurve) -> bool:
    """Whether any run of several ranks knows what its steps are made of."""
    return any(point.compute_s is not None for point in curve.points if point.ranks > 1)


def _without_parts(cells: tuple[str, ...]) -> tuple[str, ...]:
    return cells[: _OF_PARTS.start] + cells[_OF_PARTS.stop :]


def row(point: ScalingPoint, curve: ScalingCurve) -> tuple[str, ...]:
    """A point as words."""
    known = point.efficiency_low is not None and point.efficiency_high is not None
    interval = f"{point.efficiency_low:.0%} to {point.efficiency_high:.0%}" if known else _UNKNOWN
    end = (f"{point.efficiency:.0%}", "" if point.ranks == curve.base else interval)
    if curve.kind == "collective":
        return (str(point.ranks), format_gb_per_s(point.rate), format_seconds(point.time_s), *end)
    parts = (point.compute_s, point.exposed_s, other_s(point))
    times = (_UNKNOWN if one is None else format_seconds(one) for one in parts)
    cells = (str(point.ranks), f"{point.rate:.4g}", format_seconds(point.time_s), *times, *end)
    return cells if has_parts(curve) else _without_parts(cells)


def other_s(point: ScalingPoint) -> float | None:
    """What is left of a step; None = not known."""
    if point.compute_s is None or point.exposed_s is None:
        return None
    return max(point.time_s - point.compute_s - point.exposed_s, 0.0)


def _curve(curve: ScalingCurve, look: Look) -> str:
    names = headers(curve)
    align: list[Align] = ["right"] * len(names)
    return look.table(names, [row(point, curve) for point in curve.points], align)


def _csv(series: ScalingSeries) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for curve in series.curves:
        head = (curve.of, curve.detail, curve.kind, curve.bytes, curve.base)
        for point in curve.points:
            cells = (*head, *(getattr(point, field.name) for field in fields(point)))
            writer.writerow(escaped(cell) if isinstance(cell, str) else cell for cell in cells)
    return text.getvalue()
