"""Pages of rules and variables, for the terminal and for docs/."""

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

from nccltool.doctor.diagnosis import RulePage
from nccltool.hosts.nccl.variables import KnownVariable

_DOCS_WIDTH = 115


def variable(entry: KnownVariable, rules: Iterable[RulePage]) -> str:
    """Everything that the catalogue has about a variable, and the rules that are about it, in Markdown."""
    low, high = ("any" if limit is None else str(limit) for limit in (entry.min, entry.max))
    bounded = entry.min is not None or entry.max is not None
    rows = {
        "read by": {"reserved": "scripts and images, not NCCL"}.get(entry.status, _reader(entry)),
        "type": entry.type,
        "values": entry.values if entry.values != "-" else "",
        "default": entry.default if entry.default != "-" else "",
        "range": f"{low} to {high}" if bounded else "",
        "since": f"NCCL {entry.since}" if entry.since else "",
        "removed": f"in NCCL {entry.removed}" if entry.removed else "",
        "use instead": entry.instead or "",
        "on all ranks": "the same value" if entry.must_match else "",
        "documented": "yes" if entry.documented else "no",
        "kind": "debugging only: do not set it in scripts or configuration files" if entry.debugging else "",
        "rules": ", ".join(f"{page.code} {page.name}" for page in rules),
        "source": entry.source,
    }
    table = [f"| {title} | {_cell(text)} |" for title, text in rows.items() if text]
    parts = [f"# {entry.name}", plain(entry.summary), "\n".join(table), plain(entry.note)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _reader(entry: KnownVariable) -> str:
    return "nobody" if entry.status == "ghost" else entry.component


def variables(entries: Collection[KnownVariable]) -> str:
    """The list of variables: name, who reads it, what it does; a line each."""
    name = max(len(entry.name) for entry in entries)
    reader = max(len(_reader(entry)) for entry in entries)
    lines = (f"{entry.name:{name}}  {_reader(entry):{reader}}  {entry.summary}" for entry in entries)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def rules(pages: Sequence[RulePage]) -> str:
    """The list of rules: a line each."""
    width = max(len(page.name) for page in pages)
    return "".join(f"{page.code:9} {page.severity:8} {page.name:{width}}  {page.what}\n" for page in pages)


def rule(page: RulePage) -> str:
    """The page of one rule, in Markdown."""
    parts = (
        ("What it finds", page.what),
        ("Why it matters", page.why),
        ("Example", page.example),
        ("Remedy", page.instead),
        ("Since", page.since),
        ("Source", page.source),
    )
    sections = (f"## {title}\n\n{plain(text)}\n" for title, text in parts if text)
    return "\n".join([f"# {page.code} {page.name} ({page.severity})\n", *sections])


def family(name: str, summary: str, pages: Sequence[RulePage]) -> str:
    """The page of a family of rules, in Markdown."""
    head = [f"# Rules {name}", "", *_wrapped(summary), ""]
    return "\n".join([*head, *(line for page in pages for line in _section(page))]).rstrip("\n") + "\n"


def _section(page: RulePage) -> Iterator[str]:
    yield from (f"## {page.code}", "", f"`{page.name}`, {page.severity}", "")
    yield from (*_wrapped(page.what), "")
    yield from (*_wrapped(f"**Why it matters.** {plain(page.why)}", raw=True), "")
    yield from (f"- Example: {_code(page.example)}", f"- Remedy: {_code(page.instead)}")
    yield from (f"- Since: {page.since}",) if page.since else ()
    yield from (f"- Source: {plain(page.source)}", "")


def _wrapped(text: str, raw: bool = False) -> list[str]:
    shown = text if raw else plain(text)
    return textwrap.wrap(shown, _DOCS_WIDTH, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


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
