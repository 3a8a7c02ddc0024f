"""Charts as SVG, drawn while the report is written: the file needs no program to show them."""

import json
import re
import resource
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped, shortened
from nccltool.core.units import format_bytes
from nccltool.report import charts

_CLIP = re.compile(r'(id="|url\(#)(clip\d+|gradient_\d+)')
_SIZE = re.compile(r'^<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"')
_EMPTY = re.compile(
    r'<path class="background" aria-hidden="true" d="M0,0h0v0h0Z"[^>]*/>|<path class="foreground"[^>]*/>'
    r'| (?:opacity="1"|pointer-events="none"|font-family="[^"]*"|xmlns:xlink="[^"]*"|version="1.1")'
)
_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
_DIGITS = re.compile(r"(\d+\.\d\d)\d+")
"""Of places alone: in a text, a digit that is dropped is a wrong number."""
_LONGEST = 300
_ADDRESSES = 96 << 30
"""V8, which draws, reserves addresses and aborts the process where it may not: with vl-convert 1.9, 64 GiB were
too few and 72 GiB enough. It writes to a small part of them."""


def require(what: str = "HTML") -> None:
    """Find out before the work that charts can be drawn. Raises BadInput."""
    instead = "use --format markdown" if what == "HTML" else f"leave out {what}"
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed != resource.RLIM_INFINITY and allowed < _ADDRESSES:
        needs, has = format_bytes(_ADDRESSES), format_bytes(allowed)
        raise BadInput(
            f"{what} needs {needs} of address space, and ulimit -v allows {has}",
            f"run ulimit -v unlimited, or {instead}",
        )
    try:
        import jinja2
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise BadInput(
            f"{what} needs Jinja2 and vl-convert-python, which are not installed",
            f"pip install 'nccltool[report]', or {instead}",
        ) from error
    del jinja2


def svg(spec: Mapping[str, Any], values: Sequence[Mapping[str, Any]], name: str) -> str:
    """The chart; `name` makes its ids different from those of other charts on the page."""
    import vl_convert

    vega = json.loads(_compiled(json.dumps(spec, sort_keys=True)))
    for data in vega["data"]:
        if data["name"] == charts.DATA:
            data["values"] = [_harmless(value) for value in values]
    drawn: str = vl_convert.vega_to_svg(vega, allowed_base_urls=[])
    lean = _PLACES.sub(lambda found: _DIGITS.sub(r"\1", found[0]), _EMPTY.sub("", drawn))
    ids: dict[str, int] = {}
    return _CLIP.sub(lambda found: f"{found[1]}{name}-{ids.setdefault(found[2], len(ids))}", _sized(lean))


def _harmless(value: Mapping[str, Any]) -> dict[str, Any]:
    """XML has no place for control characters."""
    return {name: escaped(shortened(of, _LONGEST)) if isinstance(of, str) else of for name, of in value.items()}


@cache
def _compiled(spec: str) -> str:
    """Vega for Vega-Lite: it costs more than drawing, and charts of one kind differ only in their data."""
    import vl_convert

    return json.dumps(vl_convert.vegalite_to_vega(json.loads(spec)))


def _sized(drawn: str) -> str:
    """It grows and shrinks with the page; readers of screens get the words and the table beside it."""
    return _SIZE.sub(r'<svg aria-hidden="true" focusable="false" \1', drawn)
