"""PNG, drawn by Pillow, which is not installed with nccltool: few need it, and it is as large as all the rest."""

import io
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from nccltool.core.errors import BadInput
from nccltool.probe.chart import HEIGHT, WIDTH, Box, Curve, Dot, Label, Line, Shape

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

_SCALE = 2
"""Pixels of each unit: sharp on screens of today, and as wide as a slide."""
_ANCHORS = {"left": "ls", "middle": "ms", "right": "rs"}


def require(path: str) -> None:
    """Raises BadInput where Pillow is missing."""
    if find_spec("PIL") is None:
        remedy = "run pip install 'nccltool[plot]' or name a file that ends in .svg"
        raise BadInput(f"--plot {path} needs Pillow, which is not installed", remedy)


def render(shapes: Sequence[Shape]) -> bytes:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), "white")
    draw = ImageDraw.Draw(image)
    for shape in shapes:
        _draw(image, draw, shape)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _draw(image: "Image.Image", draw: "ImageDraw.ImageDraw", shape: Shape) -> None:
    match shape:
        case Line(x1=x1, y1=y1, x2=x2, y2=y2, color=color):
            draw.line([_at(x1, y1), _at(x2, y2)], fill=color, width=_SCALE)
        case Curve(points=points, color=color):
            draw.line([_at(*point) for point in points], fill=color, width=2 * _SCALE, joint="curve")
        case Dot(x=x, y=y, color=color):
            draw.ellipse([_at(x - 3, y - 3), _at(x + 3, y + 3)], fill=color)
        case Box(x=x, y=y, width=width, height=height, color=color):
            draw.rectangle([_at(x, y), _at(x + width, y + height)], fill=color)
        case Label():
            _write(image, draw, shape)


def _write(image: "Image.Image", draw: "ImageDraw.ImageDraw", label: Label) -> None:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(label.size * _SCALE)
    if not label.upright:
        draw.text(_at(label.x, label.y), label.text, "black", font, anchor=_ANCHORS[label.anchor])
        return
    width, height = int(draw.textlength(label.text, font)), label.size * _SCALE * 2
    across = Image.new("L", (width, height), 0)
    ImageDraw.Draw(across).text((0, height * 3 // 4), label.text, 255, font, anchor="ls")
    turned = across.rotate(90, expand=True)
    x, y = _at(label.x, label.y)
    image.paste("black", (int(x - height * 3 / 4), int(y - width / 2)), turned)


def _at(x: float, y: float) -> tuple[float, float]:
    return x * _SCALE, y * _SCALE
