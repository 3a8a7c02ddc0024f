"""The charts of a report as single files: SVG with a title, a key, and the colors of the light page, and PNG."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from nccltool.core.text import escaped, shortened
from nccltool.report import drawing, matrix
from nccltool.report.parts import ChartPart, FoldPart, KeyEntry, MatrixPart, Part, ReportPage, SwitchPart

_STYLE = Path(__file__).parent / "templates/style.css"
_COLOR = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]{6})")
_USED = re.compile(r"var\(--([a-z0-9-]+)\)")
_BOX = re.compile(r'^<svg [^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>(.*)</svg>$', re.DOTALL)
_SHADE = re.compile(r'class="shade-(\d)"')
_NO_NAME = re.compile(r"[^A-Za-z0-9_]+")
_FONT = "system-ui, 'DejaVu Sans', Arial, sans-serif"
_TOP, _LINE, _LETTER, _PAD = 30.0, 18.0, 6.6, 10.0
_LONGEST, _NAME = 60, 40
_SHARP = 2.0
"""Pixels of a PNG for one of the SVG."""
_MOST = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class PictureFile:
    """A chart with the name of its file, without an ending."""

    name: str
    svg: str


def of(page: ReportPage) -> Iterator[PictureFile]:
    """Those of all sections, in their order."""
    drawn = ((section.id, *one) for section in page.sections for part in section.parts for one in _charts(part))
    for number, (section, title, chart) in zip(range(1, _MOST + 1), drawn, strict=False):
        slug = _NO_NAME.sub("-", title)[:_NAME].strip("-").lower()
        yield PictureFile(name=f"{number:02}-{section}-{slug}".strip("-"), svg=_whole(chart, title, f"p{number}"))


def png(picture: PictureFile) -> bytes:
    """Raises ValueError where it cannot be drawn."""
    import vl_convert

    drawn: bytes = vl_convert.svg_to_png(picture.svg, scale=_SHARP)
    return drawn


def _charts(part: Part) -> Iterator[tuple[str, ChartPart | MatrixPart]]:
    match part:
        case ChartPart() | MatrixPart():
            yield part.title, part
        case SwitchPart():
            yield from ((f"{part.title}, {word}", one) for word, one in part.charts)
        case FoldPart():
            for one in part.parts:
                yield from _charts(one)


def _whole(part: ChartPart | MatrixPart, title: str, name: str) -> str:
    """The chart between its title and its key."""
    drawn = drawing.svg(part.spec, part.values, name) if isinstance(part, ChartPart) else matrix.svg(part)
    found = _BOX.match(drawn)
    assert found, "a chart is one SVG element with a viewBox"
    width, height = float(found[1]), float(found[2])
    entries = part.key if isinstance(part, ChartPart) else _shades()
    key, lines = _key(entries, width)
    words = escape(escaped(shortened(title, _LONGEST)))
    whole = f"{width + 2 * _PAD:g} {_TOP + height + lines * _LINE + _PAD:g}"
    across, down = whole.split()
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}" viewBox="0 0 {whole}"'
        f' font-family="{_FONT}"><rect width="100%" height="100%" fill="var(--page)"/>'
        f'<text x="{_PAD}" y="20" font-size="14" font-weight="600" fill="var(--ink)">{words}</text>'
        f'<g transform="translate({_PAD} {_TOP})" fill="var(--quiet)">{found[3]}</g>'
        f'<g transform="translate({_PAD} {_TOP + height})">{key}</g></svg>'
    )
    return _USED.sub(lambda used: _colors()[used[1]], _SHADE.sub(r'fill="var(--shade-\1)"', text))


def _shades() -> Sequence[KeyEntry]:
    return [
        KeyEntry(shape="box", color=f"shade-{number}", label=label) for number, label in enumerate(matrix.SHADES)
    ]


def _key(entries: Sequence[KeyEntry], width: float) -> tuple[str, int]:
    """Marks with their words, and how many lines they take."""
    at, line, marks = 0.0, 1, []
    for one in entries:
        label = escaped(shortened(one.label, _LONGEST))
        takes = 28 + _LETTER * len(label)
        if at and at + takes > width:
            at, line = 0.0, line + 1
        y = line * _LINE - 5
        marks.append(_mark(one, at, y))
        marks.append(
            f'<text x="{at + 20:g}" y="{y + 4:g}" font-size="11.5" fill="var(--quiet)">{escape(label)}</text>'
        )
        at += takes
    return "".join(marks), line if entries else 0


def _mark(one: KeyEntry, x: float, y: float) -> str:
    color = f"var(--{one.color})"
    dashes = {"dashed": ' stroke-dasharray="4 3"', "dotted": ' stroke-dasharray="2 2"'}
    match one.shape:
        case "box" | "band":
            faint = ' fill-opacity="0.3"' if one.shape == "band" else ""
            return f'<rect x="{x:g}" y="{y - 5:g}" width="14" height="10" fill="{color}"{faint}/>'
        case "dot":
            return f'<circle cx="{x + 7:g}" cy="{y:g}" r="4.5" fill="{color}"/>'
    dash = dashes.get(one.shape, "")
    return f'<path d="M{x:g} {y:g}h16" stroke="{color}" stroke-width="2"{dash}/>'


@cache
def _colors() -> dict[str, str]:
    """Of the light page."""
    light, _, _ = _STYLE.read_text(encoding="utf-8").partition("@media")
    return dict(_COLOR.findall(light))
