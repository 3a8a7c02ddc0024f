"""Markdown as plain text of a given width for a terminal, and text that means nothing in Markdown."""

import re
import textwrap
from collections.abc import Iterator
from html import escape

from nccltool.core.look import PLAIN, Look
from nccltool.core.manual import cells, is_rule
from nccltool.core.text import escaped, shortened

WIDTH = 80
_INDENT = 4
_LEAST = 24
"""Columns that text gets at least, beside what stands in front of it."""
_MARKS = re.compile(r"([\\`*_\[\]#|~!])")
_LONGEST = 500
_ITEM = re.compile(r"(\s*)([*+-]|\d+\.) +(.*)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^()\s]+\)")
_COMMENTED = re.compile(r"(\s+\S.*?)\s+# +(.+)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def literal(text: str) -> str:
    """Text for Markdown, without any meaning there or in HTML."""
    return _MARKS.sub(r"\\\1", escape(escaped(shortened(text, _LONGEST)), quote=False))


def to_text(markdown: str, width: int = WIDTH, look: Look = PLAIN) -> str:
    """The text, with a newline at its end. What stands below a heading that is not the title is indented."""
    lines: list[str] = []
    indent, is_below = 0, False
    for block in _blocks(_COMMENT.sub("", markdown)):
        if lines and not is_below:
            lines.append("")
        if heading := re.match(r"(#+) (.*)", block[0]):
            indent, is_below = (0, False) if len(heading[1]) == 1 else (_INDENT, True)
            lines.append(look.painted(inline(heading[2]), "strong"))
            continue
        is_below = False
        if _is_code(block):
            lines += [line for each in block for line in _code(each, width)]
        else:
            lines += [f"{' ' * indent}{line}".rstrip() for line in _shown(block, width - indent)]
    return "\n".join(lines) + "\n"


def _blocks(text: str) -> Iterator[list[str]]:
    """Headings, fenced code, and else what stands between blank lines."""
    block: list[str] = []
    fence = ""
    for line in text.expandtabs().splitlines():
        starts = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            block.append(line)
            fence = "" if line.strip() == fence else fence
            if not fence:
                yield block
                block = []
        elif starts or re.match(r"#+ ", line):
            if block:
                yield block
            block = [line]
            fence = starts[1] if starts else ""
            if not fence:
                yield block
                block = []
        elif line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _is_code(block: list[str]) -> bool:
    return all(line.startswith(" " * _INDENT) for line in block)


def _code(line: str, width: int) -> list[str]:
    """A command as it is; what follows it as a comment stands above it where both are too long for a line."""
    said = _COMMENTED.fullmatch(line)
    if len(line) <= width or not said:
        return [line.rstrip()]
    return [*_wrapped(said[2], width, f"{' ' * _INDENT}# ", f"{' ' * _INDENT}# "), said[1]]


def _shown(block: list[str], width: int) -> list[str]:
    if re.match(r"\s*(```|~~~)", block[0]):
        return [f"{' ' * _INDENT}{line}" for line in block[1:-1]]
    if block[0].lstrip().startswith("|"):
        return _table([cells(line) for line in block if not is_rule(line)], width)
    if _ITEM.match(block[0]):
        return list(_list(block, width))
    return list(_paragraphs(block, width))


def _paragraphs(block: list[str], width: int) -> Iterator[str]:
    """Lines that begin with bold words begin anew, as those of a runbook do."""
    parts: list[list[str]] = []
    for line in block:
        if not parts or re.match(r"\*\*[^*]+[.:]\*\*", line):
            parts.append([])
        parts[-1].append(line)
    for part in parts:
        yield from _wrapped(inline(" ".join(part)), width)


def _list(block: list[str], width: int) -> Iterator[str]:
    items: list[tuple[str, list[str]]] = []
    for line in block:
        if item := _ITEM.match(line):
            items.append((f"{item[1]}{'-' if item[2] in '*+' else item[2]} ", [item[3]]))
        else:
            items[-1][1].append(line.strip())
    for mark, text in items:
        yield from _wrapped(inline(" ".join(text)), width, mark)


def _table(rows: list[tuple[str, ...]], width: int) -> list[str]:
    """Aligned where its last column has room, else a paragraph for each row."""
    shown = [tuple(inline(cell) for cell in row) for row in rows]
    first = [max(map(len, column), default=0) for column in list(zip(*shown, strict=False))[:-1]]
    taken = sum(first) + 2 * len(first)
    if width - taken < _LEAST:
        headers, *rest = shown
        told = (zip(headers, row, strict=False) for row in rest)
        return [line for row in told for line in _record([f"{name}: {cell}" for name, cell in row if cell], width)]
    lines = []
    for *cells_, last in shown:
        mark = "".join(f"{cell:{size}}  " for cell, size in zip(cells_, first, strict=False))
        lines += _wrapped(last, width, mark) or [mark.rstrip()]
    return lines


def _record(cells_: list[str], width: int) -> Iterator[str]:
    for number, cell in enumerate(cells_):
        yield from _wrapped(cell, width, "" if not number else "  ")


def _wrapped(text: str, width: int, mark: str = "", below: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, len(mark) + _LEAST),
        initial_indent=mark,
        subsequent_indent=" " * len(mark) if below is None else below,
        break_long_words=False,
        break_on_hyphens=False,
    )


def inline(text: str) -> str:
    """A line without marks of Markdown; what is code stays as it is."""
    pieces = text.split("`")
    pieces[::2] = [_prose(piece) for piece in pieces[::2]] if len(pieces) % 2 else pieces[::2]
    joined = "".join(pieces) if len(pieces) % 2 else text
    return _LINK.sub(r"\1", joined)


def _prose(text: str) -> str:
    text = re.sub(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*", r"\1", text)
    text = re.sub(r"(?<![\w*\\])\*(?=\S)([^*]+?)(?<=[^\s\\])\*(?![\w*])", r"\1", text)
    return re.sub(r"\\([*<>|\[\]_`\\])", r"\1", text)
