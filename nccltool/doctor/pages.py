"""Pages of rules and variables, for the terminal and for docs/."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from nccltool.doctor.diagnosis import RulePage, VariablePage

_WIDTH = 100
_DOCS_WIDTH = 115
_INDENT = "    "


def render(page: RulePage | VariablePage | str) -> str:
    """A page for the terminal; a text is one already."""
    if isinstance(page, RulePage):
        return rule(page)
    return variable(page) if isinstance(page, VariablePage) else page


def variable(page: VariablePage) -> str:
    """Everything that the catalogue has about a variable."""
    rows = [(name, value) for name, value in page.rows if value]
    width = max(len(name) for name, _ in rows)
    lines = [page.name, ""]
    if page.summary:
        lines += [*textwrap.wrap(page.summary, _WIDTH), ""]
    for name, value in rows:
        indent = " " * (width + 2)
        lines += textwrap.wrap(
            f"{name:{width}}  {value}", _WIDTH, subsequent_indent=indent, break_long_words=False
        )
    if page.note:
        lines += ["", *textwrap.wrap(page.note, _WIDTH)]
    return "\n".join(lines) + "\n"


def variables(rows: Iterable[tuple[str, str, str]]) -> str:
    """The list of variables: name, who reads it, what it does; a line each."""
    listed = list(rows)
    widths = [max(len(row[column]) for row in listed) for column in (0, 1)]
    return "".join(
        f"{name:{widths[0]}}  {reader:{widths[1]}}  {what}".rstrip() + "\n" for name, reader, what in listed
    )


def rules(pages: Sequence[RulePage]) -> str:
    """The list of rules: a line each."""
    width = max(len(page.name) for page in pages)
    return "".join(f"{page.code:9} {page.severity:8} {page.name:{width}}  {page.what}\n" for page in pages)


def rule(page: RulePage) -> str:
    """The page of a rule for the terminal."""
    parts = (
        ("What it finds", page.what),
        ("Why this is bad", page.why),
        ("Example", page.example),
        ("Use instead", page.instead),
        ("Source", page.source),
    )
    lines = [f"{page.code} {page.name} ({page.severity})"]
    for title, text in parts:
        wrapped = textwrap.wrap(text, _WIDTH - len(_INDENT), break_long_words=False)
        lines += ["", title, *(f"{_INDENT}{line}" for line in wrapped)]
    return "\n".join(lines) + "\n"


def family(name: str, summary: str, pages: Sequence[RulePage]) -> str:
    """The page of a family of rules, in Markdown."""
    head = [f"# Rules {name}", "", *_wrapped(summary), ""]
    return "\n".join([*head, *(line for page in pages for line in _section(page))]).rstrip("\n") + "\n"


def _section(page: RulePage) -> Iterator[str]:
    yield from (f"## {page.code}", "", f"`{page.name}`, {page.severity}", "")
    yield from (*_wrapped(page.what), "")
    yield from (*_wrapped(f"**Why this is bad.** {plain(page.why)}", raw=True), "")
    yield from (f"- Example: {_code(page.example)}", f"- Use instead: {_code(page.instead)}")
    yield from (f"- Source: {plain(page.source)}", "")


def _wrapped(text: str, raw: bool = False) -> list[str]:
    shown = text if raw else plain(text)
    return textwrap.wrap(shown, _DOCS_WIDTH, break_long_words=False, break_on_hyphens=False)


def plain(text: str) -> str:
    """Prose whose letters mean nothing to Markdown, except for `code`."""
    pieces = " ".join(text.split()).split("`")
    quoted = [re.sub(r"([*<>|\[\]])", r"\\\1", piece) for piece in pieces[::2]]
    pieces[::2] = quoted
    return "`".join(pieces)


def _code(text: str) -> str:
    """A setting or a command stands as code, all else as prose."""
    is_code = re.fullmatch(r"(export |unset )?\w+(=\S*)?", text) and (" " in text or "=" in text)
    return f"`{' '.join(text.split())}`" if is_code else plain(text)
