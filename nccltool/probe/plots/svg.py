"""SVG, written as text: no library, and sharp at any size."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from nccltool.probe.chart import HEIGHT, WIDTH, Box, Curve, Dot, Label, Line, Shape

_ANCHORS = {"left": "start", "middle": "middle", "right": "end"}


def require(path: str) -> None:
    """It needs nothing."""


def render(shapes: Sequence[Shape]) -> bytes:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    return "\n".join([head, ground, *map(_drawn, shapes), "</svg>\n"]).encode()


def _drawn(shape: Shape) -> str:
    match shape:
        case Line(x1=x1, y1=y1, x2=x2, y2=y2, color=color):
            return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'
        case Curve(points=points, color=color):
            where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            return f'<polyline points="{where}" fill="none" stroke="{color}" stroke-width="2"/>'
        case Dot(x=x, y=y, color=color):
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
        case Box(x=x, y=y, width=width, height=height, color=color):
            return f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{color}"/>'
        case Label(x=x, y=y, text=text, size=size, anchor=anchor, upright=upright):
            turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if upright else ""
            at = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{_ANCHORS[anchor]}"{turned}'
            return f"<text {at}>{escape(text)}</text>"
