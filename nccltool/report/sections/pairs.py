"""Who is slow with whom: the matrix of pairs of nodes, in colors that always mean the same."""

from nccltool.core.text import counted, named
from nccltool.core.units import format_gb_per_s
from nccltool.localize import heat_map
from nccltool.localize.encounter import Encounter
from nccltool.localize.heat_map import HeatMap
from nccltool.localize.localized import LocalizedRun
from nccltool.report.material import Material
from nccltool.report.parts import KeyFigure, MatrixPart, NotePart, ReportSection, TablePart
from nccltool.report.sections import base

_MOST = 1024
_MOST_OF_MANY = 256
_MANY = 120_000
"""Measurements from which cells are folded: a screen has no more."""
_HEADERS = ("nodes", "round", "rail", "busbw GB/s", "share of the healthy speed")


def of(material: Material) -> ReportSection | None:
    run = material.newest
    if not isinstance(run, LocalizedRun) or not run.encounters:
        return None
    healthy = run.localization.healthy_busbw_bytes_per_s
    most = _MOST if len(run.encounters) < _MANY else _MOST_OF_MANY
    made = heat_map.of(run.encounters, healthy, most, most)
    parts = (
        (_matrix(made, run, healthy),) if made else (NotePart(text="No pair can be compared.", tone="unknown"),)
    )
    return ReportSection(
        id="pairs",
        title="Pairs of nodes",
        headline=_headline(run, healthy),
        figure=KeyFigure(value=base.gb_per_s(healthy), label="healthy busbw"),
        parts=parts if made else (*parts, _table(run.encounters, healthy)),
    )


def _headline(run: LocalizedRun, healthy: float | None) -> str:
    measured = [one for one in run.encounters if one.busbw_bytes_per_s]
    slow = [one for one in measured if healthy and (one.busbw_bytes_per_s or 0) < heat_map.STEPS[-1] * healthy]
    silent = len(run.encounters) - len(measured)
    without = f"; {silent} without a result" if silent else ""
    noise = run.localization.noise
    within = "" if noise is None or not slow else f"; the noise is {base.percent(noise)}"
    return (
        f"{len(slow)} of {counted(len(measured), 'measurement')} below"
        f" {base.percent(heat_map.STEPS[-1])} of the healthy speed{within}{without}."
    )


def _matrix(made: HeatMap, run: LocalizedRun, healthy: float | None) -> MatrixPart:
    more = f"; {counted(made.more_rows, 'faster node')} not shown" if made.more_rows else ""
    folded = f"; a column is the slowest of {len(made.columns[0])} nodes" if len(made.columns[0]) > 1 else ""
    directed = any(one.is_directed for one in run.encounters)
    rows = "rows send, columns receive" if directed else "rows and columns are nodes"
    return MatrixPart(
        title="Share of the healthy speed",
        about=f"{rows}, the slowest first{folded}{more}; the table has the numbers",
        rows=made.rows,
        columns=tuple(named(column, 3) for column in made.columns),
        cells=made.cells,
        table=_table(run.encounters, healthy),
    )


def _table(encounters: tuple[Encounter, ...], healthy: float | None) -> TablePart:
    """The slowest first."""
    ordered = sorted(encounters, key=lambda one: one.busbw_bytes_per_s or 0.0)
    return base.table(
        "Measurements, the slowest first", _HEADERS, [_row(one, healthy) for one in ordered], 1, 3, 4
    )


def _row(one: Encounter, healthy: float | None) -> tuple[str, ...]:
    rate = one.busbw_bytes_per_s
    return (
        (" to " if one.is_directed else " - ").join(one.members),
        str(one.round),
        one.rail or "all",
        f"no result: {one.reason or 'unknown'}" if rate is None else format_gb_per_s(rate),
        base.percent(rate / healthy if rate is not None and healthy else None),
    )
