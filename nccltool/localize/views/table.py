"""A localization for people: the verdict, suspects with their proof, doubts, and a map of the slowest nodes."""

from collections.abc import Iterator

from nccltool.core.look import PLAIN, Align, Look
from nccltool.core.notices import INDENT, circumstances, verdict_line
from nccltool.core.text import counted, escaped, shortened
from nccltool.localize import heat_map, within
from nccltool.localize.accusations import next_text, rate_text
from nccltool.localize.headline import headline, noise_line, unseen_line
from nccltool.localize.localized import LocalizedRun

_SIGNS = ("█", "▓", "▒", "░", "·")
_ASCII_SIGNS = ("#", "x", "+", "-", ".")
_ROWS, _COLUMNS = 16, 48
_SHOWN = 6
_NAME = 24
"""Letters of a node's name beside its row."""
_HEADERS = ("pair", "busbw GB/s", "round", "rail", "reason")
_ALIGN: tuple[Align, ...] = ("left", "right", "right", "left", "left")


def render(run: LocalizedRun, look: Look = PLAIN) -> str:
    blocks = (
        list(_verdict(run, look)),
        [line for finding in run.findings for line in finding.lines(look)],
        list(_next(run, look)),
        list(_map(run, look)),
        list(_rows(run, look)) if look.verbose else [],
    )
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _verdict(run: LocalizedRun, look: Look) -> Iterator[str]:
    yield from verdict_line(look, run.verdict.status, headline(run))
    if run.kind == "pairs":
        yield from circumstances(look, run.info)
    found = run.localization
    expected = run.expected_busbw_bytes_per_s
    speed = found.healthy_busbw_bytes_per_s
    healthy = "healthy speed unknown" if speed is None else f"healthy {rate_text(speed)}"
    told = f", expected {rate_text(expected)}" if expected is not None else ""
    yield from look.wrapped(f"{INDENT}{healthy}{told}; {noise_line(run)}", 2 * INDENT)
    if unseen := unseen_line(run):
        yield from look.wrapped(f"{INDENT}{unseen}", 2 * INDENT)


def _next(run: LocalizedRun, look: Look) -> Iterator[str]:
    tests = run.localization.next_tests
    if not tests:
        return
    yield "measure next"
    for test in tests if look.verbose else tests[:_SHOWN]:
        yield from look.wrapped(INDENT + escaped(next_text(test)), 2 * INDENT)
    if len(tests) > _SHOWN and not look.verbose:
        yield f"{INDENT}and {len(tests) - _SHOWN} more; -v shows all"


def _map(run: LocalizedRun, look: Look) -> Iterator[str]:
    """The slowest nodes and whom they met; nothing where no node is slow."""
    signs = _SIGNS if look.unicode else _ASCII_SIGNS
    healthy = run.localization.healthy_busbw_bytes_per_s
    room = _COLUMNS if look.width is None else max(min(_COLUMNS, look.width - _NAME - 2), 8)
    made = heat_map.of(run.encounters, healthy, _ROWS, room)
    if made is None or not (look.verbose or run.localization.scope != "nothing-slow"):
        return
    folded, who = len(made.columns[0]), within.who(run.is_within)
    each = f"; a column is {folded} {who}s, the slowest of each counts" if folded > 1 else ""
    yield f"slowest {who}s first, columns in the same order{each}"
    names = [shortened_name(name) for name in made.rows]
    width = max(map(len, names))
    for name, cells in zip(names, made.cells, strict=True):
        row = "".join(" " if share is None else signs[heat_map.shade(share)] for share in cells)
        yield f"{INDENT}{name:{width}}  {row}".rstrip()
    if made.more_rows:
        yield f"{INDENT}and {counted(made.more_rows, f'faster {who}')}"
    yield from look.wrapped(f"{INDENT}{legend(signs)}", 2 * INDENT)


def shortened_name(name: str) -> str:
    """A name that fits beside its row; of a long one the end, which tells nodes apart."""
    text = escaped(name)
    return text if len(text) <= _NAME else f"..{text[2 - _NAME :]}"


def legend(signs: tuple[str, ...]) -> str:
    """What the signs are: shares of the healthy speed."""
    bounds = [f"{sign} under {100 * step:.0f} %" for sign, step in zip(signs, heat_map.STEPS, strict=False)]
    return f"share of the healthy speed: {', '.join(bounds)}, {signs[-1]} from {100 * heat_map.STEPS[-1]:.0f} %"


def _rows(run: LocalizedRun, look: Look) -> Iterator[str]:
    """Each measurement, the slowest first."""
    slowest = sorted(run.encounters, key=lambda one: (one.busbw_bytes_per_s or 0.0, one.members))
    rows = [
        (
            (" -> " if one.is_directed else " - ").join(escaped(name) for name in one.members),
            "?" if one.busbw_bytes_per_s is None else rate_text(one.busbw_bytes_per_s).removesuffix(" GB/s"),
            str(one.round),
            escaped(one.rail or ""),
            escaped(shortened(one.reason or "", 60)),
        )
        for one in slowest
    ]
    kept = [
        place
        for place, name in enumerate(_HEADERS)
        if place < 2 or any(row[place] not in ("", "0") for row in rows)
    ]
    table = look.table(
        [_HEADERS[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        [_ALIGN[place] for place in kept],
    )
    yield from table.split("\n")
