"""One HTML file that needs nothing else: styles, script, charts, and the raw data are inside."""

import base64
import hashlib
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from nccltool.core import markdown
from nccltool.core.text import escaped_lines
from nccltool.report import drawing, html_data, matrix
from nccltool.report.parts import ChartPart, ReportPage

_FOLDER = Path(__file__).parents[1] / "templates"
_WIDE = 100


def render(page: ReportPage) -> str:
    """Raises BadInput where Jinja2 or vl-convert is not installed."""
    drawing.require()
    style, script = (_text(name) for name in ("style.css", "script.js"))
    made: str = _template().render(
        page=page,
        style=style,
        script=script,
        policy=_policy(style, script),
        raw=html_data.block(page.documents),
        shades=matrix.SHADES,
        numbers=count(),
    )
    return made


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, and nothing runs but the style and the script of this file."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    import jinja2
    from markupsafe import Markup

    def chart(part: ChartPart, name: str) -> str:
        return Markup(drawing.svg(part.spec, part.values, name))  # noqa: S704 - vega escapes its texts

    def map_svg(part: Any) -> str:
        return Markup(matrix.svg(part))  # noqa: S704 - it escapes its texts

    def map_data(part: Any) -> str:
        return Markup(matrix.as_json(matrix.data(part)))  # noqa: S704 - it has no mark of HTML

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    made.filters |= {"chart": chart, "map_svg": map_svg, "map_data": map_data, "manual": _manual}
    made.filters |= {"own": Markup, "next": next}
    made.tests["of_kind"] = lambda part, kind: type(part).__name__ == kind
    return made.get_template("report.html")


def _plain(value: Any) -> Any:
    """Texts of hosts and logs, with each character that does not show as it is written as an escape."""
    if type(value) is str and not value.isprintable():
        return "\n".join(escaped_lines(value))
    return value


def _manual(text: str) -> str:
    return markdown.to_text(text, _WIDE).rstrip()
