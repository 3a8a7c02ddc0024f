"""A comparison for people and programs: table, JSON, CSV, Markdown, JUnit."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from tabulate import tabulate

from nccltool.compare.change_text import WORDS, changed, headline, size, span
from nccltool.compare.result import Comparable, ComparedRow, Comparison, Effect, RowKey, Side
from nccltool.compare.views import junit
from nccltool.core.documents import SCHEMA, encoded
from nccltool.core.look import PLAIN, Align, Look, Tone
from nccltool.core.notices import BELOW
from nccltool.core.text import counted, escaped, escaped_lines, named
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds

HEADERS = ("op", "size", "time A", "time B", "busbw A", "busbw B", "change", "95 % interval", "verdict")
_ALIGN: tuple[Align, ...] = tuple("left" if name in ("op", "verdict") else "right" for name in HEADERS)
_NARROWER = ((), ("busbw A", "busbw B"), ("busbw A", "busbw B", "time A", "time B"))
"""Columns that are left out, one step after the other, until the table fits."""
_DETAILS = ("of_group", "dtype", "reduce_op", "placement", "cadence")
_LEGEND = (
    "time: median of the runs' {statistic}s   busbw: computed from that time; 1 GB/s = 10**9 B/s\n"
    "change: bus bandwidth of B compared with A; interval: for this row only; margin: {margin:.3g} %\n"
    "verdict: across all rows; at most {alpha:.3g} of comparisons between equal runs report a difference"
)
_TONES: dict[Comparable, Tone] = {"worse": "fail", "better": "pass", "same": "pass", "cannot-tell": "warn"}
CSV_COLUMNS = (
    *("op", "bytes", "dtype", "reduce_op", "placement", "cadence", "runs_a", "runs_b", "time_a_s", "time_b_s"),
    *("busbw_a_bytes_per_s", "busbw_b_bytes_per_s", "change", "low", "high", "p_adjusted", "spread"),
    *("spread_is_measured", "outcome", "reason", "of_group"),
)


def render(comparison: Comparison, form: str, look: Look = PLAIN) -> str:
    if form == "table":
        return _table(comparison, look)
    return {"json": _json, "csv": _csv, "markdown": _markdown, "junit": junit.render}[form](comparison)


def _json(comparison: Comparison) -> str:
    plain: dict[str, Any] = msgspec.to_builtins(comparison)
    verdict = plain.pop("verdict")
    document = {"schema": SCHEMA, "kind": "compare", **verdict, "run": plain.pop("info"), **plain}
    for side in (document["a"], document["b"]):
        for run in side["runs"]:
            del run["rows"], run["left_out"]
    return encoded(document) + "\n"


def _csv(comparison: Comparison) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows([_cell(row, name) for name in CSV_COLUMNS] for row in comparison.rows)
    return text.getvalue()


def _cell(row: ComparedRow, name: str) -> object:
    value = next(getattr(part, name) for part in (row.key, row.effect, row) if hasattr(part, name))
    return str(value).lower() if isinstance(value, bool) else value


def _table(comparison: Comparison, look: Look) -> str:
    tone = _TONES[comparison.outcome]
    above = [
        *(look.painted(line, tone) for line in _wrapped([headline(comparison)], look)),
        *_wrapped(_head(comparison), look),
    ]
    below = [
        *_wrapped(_foot(comparison, legend=look.verbose), look),
        *(line for finding in comparison.findings for line in finding.lines(look)),
        *_wrapped([_last(comparison)], look),
    ]
    table = _fitting(comparison, look).split("\n")
    if look.height is not None and not look.verbose:
        table = _largest(comparison, table, look.height - BELOW - len(above) - len(below))
    return "\n".join((*above, *table, *below)) + "\n"


def _largest(comparison: Comparison, table: list[str], room: int) -> list[str]:
    """The table, or the rows of the largest changes where the screen is too small for all of them."""
    if len(table) <= room:
        return table
    rows = comparison.rows
    order = sorted(range(len(rows)), key=lambda number: -size(rows[number].effect))
    typical = table[len(rows) + 2 :]
    kept = sorted(order[: max(room - 3 - len(typical), 1)])
    note = f"and {counted(len(rows) - len(kept), 'smaller change')}; -v shows all"
    return [*table[:2], *(table[number + 2] for number in kept), *typical, note]


def _wrapped(texts: Iterable[str], look: Look) -> Iterator[str]:
    for text in texts:
        for line in escaped_lines(text):
            yield from look.wrapped(line, "   ")


def _fitting(comparison: Comparison, look: Look) -> str:
    """The table with as many of its columns as the screen is wide."""
    rows = [[escaped(cell) for cell in row] for row in _rows(comparison)]
    table = ""
    for left_out in _NARROWER:
        places = [place for place, name in enumerate(HEADERS) if name not in left_out]
        cells = [[row[place] for place in places] for row in rows]
        table = look.table([HEADERS[place] for place in places], cells, [_ALIGN[place] for place in places])
        if look.width is None or max(map(len, table.split("\n"))) <= look.width:
            break
    worse = WORDS["worse"]
    return "\n".join(
        line.removesuffix(worse) + look.painted(worse, "fail") if line.endswith(worse) else line
        for line in table.split("\n")
    )


def _markdown(comparison: Comparison) -> str:
    rows = str(tabulate(_rows(comparison), HEADERS, tablefmt="github", colalign=_ALIGN, disable_numparse=True))
    findings = [line for finding in comparison.findings for line in finding.lines()]
    texts = (*_head(comparison), *_foot(comparison, legend=False), *findings, _last(comparison))
    lists = [f"- {escaped(line.strip())}" for line in texts]
    return "\n".join((f"**{escaped(headline(comparison))}**", "", rows, "", *lists)) + "\n"


def _head(comparison: Comparison) -> list[str]:
    lines = [f"A: {_side(comparison.a)}", f"B: {_side(comparison.b)}"]
    return lines + [f"ignored: {found.key} differs ({found.a}; {found.b})" for found in comparison.ignored]


def _side(side: Side) -> str:
    days = sorted(run.started for run in side.runs)
    count = f"{len(side.runs)} run{'' if len(side.runs) == 1 else 's'}"
    when = days[0] if len(set(days)) == 1 else f"{days[0]} to {days[-1]}"
    return f"{side.name}, {count}, {when}"


def _rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    keys = [row.key for row in comparison.rows]
    ops = {key.op for key in keys}
    # what is the same in all rows of an operation is not named in each
    named = [name for name in _DETAILS if len({(key.op, getattr(key, name)) for key in keys}) > len(ops)]
    for row in comparison.rows:
        yield (
            " ".join((row.key.op, *(str(word) for name in named if (word := getattr(row.key, name)) is not None))),
            format_bytes(row.key.bytes),
            format_seconds(row.time_a_s),
            format_seconds(row.time_b_s),
            format_gb_per_s(row.busbw_a_bytes_per_s),
            format_gb_per_s(row.busbw_b_bytes_per_s),
            *_shown(row.effect),
        )
    if comparison.overall:
        yield ("typical row", "", "", "", "", "", *_shown(comparison.overall))


def _shown(effect: Effect) -> tuple[str, str, str]:
    return changed(effect.change), span(effect.low, effect.high), WORDS[effect.outcome]


def _foot(comparison: Comparison, legend: bool) -> Iterator[str]:
    if legend:
        yield _LEGEND.format(
            statistic=comparison.statistic, alpha=comparison.alpha, margin=comparison.margin * 100
        )
    measured = [row.effect.spread for row in comparison.rows if row.effect.spread_is_measured]
    if measured:
        yield f"spread between runs (measured): {min(measured) * 100:.1f} % to {max(measured) * 100:.1f} %"
    for name, keys in (("A", comparison.only_a), ("B", comparison.only_b)):
        if keys:
            texts = [_named(key) for key in keys]
            yield f"only in {name}: {named(texts, 4)}"
    yield from (f"note: {note}" for note in comparison.notes)


def _named(key: RowKey) -> str:
    of = f" in {key.of_group}" if key.of_group else ""
    return f"{key.op} {format_bytes(key.bytes)} {key.dtype} {key.placement}{of}"


def _last(comparison: Comparison) -> str:
    found: Counter[Comparable] = Counter(row.effect.outcome for row in comparison.rows)
    counts = [f"{found[word]} {shown.lower()}" for word, shown in WORDS.items() if word in found]
    rows = f"{found.total()} row{'' if found.total() == 1 else 's'}"
    return f"{rows}: {', '.join(counts)}; exit code {comparison.verdict.exit_code}"
