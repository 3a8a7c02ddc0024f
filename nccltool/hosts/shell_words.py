"""Assignments of a file that a shell reads: its words without quotes, its variables replaced. Nothing is run.

A value that depends on a command, or on a variable that is not set here, is not known.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_BRACES = r"\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}"
_ROUND = r"\((?:[^()\n]|\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\))*\)"
"""A command or a calculation, with three more of them inside."""
_WORD = re.compile(
    rf"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|{_BRACES}|\${_ROUND}|`[^`\n]*`|\$|[^\s;&|<>()'"\\`$]|(?<=\S)\r(?=\n|\Z))+""",
    re.DOTALL,
)
"""A carriage return at the end of a line is part of its last word, as a shell has it."""
_PIECE = re.compile(
    rf"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<home>\A~(?=/|\Z))"""
    rf"""|(?P<other>{_BRACES}|\$\w+|[$`]|[^'"\\$`]+)""",
    re.DOTALL,
)
_IN_QUOTES = re.compile(rf"""\\(?P<escaped>[\\"$`\n])|(?P<other>{_BRACES}|\$\w+|[$`]|\\|[^\\$`]+)""", re.DOTALL)
_EXPANSION = re.compile(
    r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?:(?P<operator>:?[-+])(?P<word>.*))?\})",
    re.ASCII | re.DOTALL,
)
_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+|#[^\n]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_EXPORT = re.compile(r"export|declare|typeset")


class UnreadableValue(Exception):
    """What a value depends on that is not known."""


class NotAssigned(Exception):
    """A statement that is no assignment; or a quote that is not closed."""

    def __init__(self, start: int, why: str = "") -> None:
        super().__init__(why)
        self.start = start


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it is written, and where in the text."""

    raw: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.raw)


@dataclass(frozen=True, slots=True)
class ShellAssignment:
    """NAME=value, or the bare NAME of an export; where, and its value as it is written."""

    name: str
    raw: str | None
    """None = the value that the variable has."""
    word: Word


@dataclass(frozen=True, slots=True)
class ShellStatement:
    """Assignments that belong together. Those of an export see only what earlier statements set."""

    is_export: bool
    assignments: tuple[ShellAssignment, ...]


def statements(text: str) -> Iterator[ShellStatement]:
    """All of a text, in order. Raises NotAssigned."""
    for words in _statements(text):
        first, rest = words[0], words[1:]
        if first.raw == "set" and rest and rest[0].raw[0] in "-+":  # set -a
            continue
        is_export = _EXPORT.fullmatch(first.raw) is not None
        if is_export and first.raw != "export" and rest and rest[0].raw == "-x":
            rest = rest[1:]
        given = rest if is_export else words
        yield ShellStatement(is_export, tuple(_assignment(word, first, is_export) for word in given))


def _assignment(word: Word, first: Word, is_export: bool) -> ShellAssignment:
    if found := _ASSIGNMENT.match(word.raw):
        return ShellAssignment(found[1], word.raw[found.end() :], word)
    if is_export and re.fullmatch(r"[A-Za-z_]\w*", word.raw, re.ASCII):
        return ShellAssignment(word.raw, None, word)
    raise NotAssigned(first.start)


def _statements(text: str) -> Iterator[list[Word]]:
    at, words = 0, list[Word]()
    while at <= len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif at == len(text) or text[at] in "\n;":
            if words:
                yield words
            at, words = at + 1, []
        elif found := _WORD.match(text, at):
            words.append(Word(found[0], at))
            at = found.end()
        else:
            quote = f"the quote {text[at]} is not closed" if text[at] in "'\"`" else ""
            raise NotAssigned(at if quote or not words else words[0].start, quote)


EXPORTS_ALL = re.compile(r"^[ \t]*set[ \t]+(?:-\w*a\w*|-o[ \t]+allexport)\b", re.MULTILINE | re.ASCII)
"""From there on, a shell exports every variable that it assigns."""
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_BEGINS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "time", "!", "{"})
"""Words of the shell behind which a command stands."""


def commands(text: str) -> Iterator[list[Word]]:
    """The words of each command of a script; what cannot be read is passed over, as are here-documents."""
    at, words, ends = 0, list[Word](), list[str]()
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif found := _HERE_DOCUMENT.match(text, at):
            ends.append(found[2])
            at = found.end()
        elif text[at] in "\n;&|()":
            if words:
                yield words
            at, words = _behind(text, at, ends), []
        elif found := _WORD.match(text, at):
            if words or found[0] not in _BEGINS:
                words.append(Word(found[0], at))
            at = found.end()
        else:
            at += 1
    if words:
        yield words


def _behind(text: str, at: int, ends: list[str]) -> int:
    """Behind a separator; behind a line, also behind the here-documents that it announced."""
    if text[at] == "\n":
        while ends:
            last = re.compile(rf"^\t*{ends.pop(0)}$", re.MULTILINE).search(text, at + 1)
            at = last.end() if last else len(text)
    return at + 1


def value(name: str, raw: str, variables: Mapping[str, str | None], environ: Mapping[str, str]) -> str:
    """The value of a word. `variables`: of the file so far; None = not known. Raises UnreadableValue."""

    def expanded(text: str) -> str:
        return _expanded(text, name, variables, environ)

    found = []
    for piece in _PIECE.finditer(raw):
        if piece["single"] is not None:
            found.append(piece["single"])
        elif piece["double"] is not None:
            inner = _IN_QUOTES.finditer(piece["double"])
            found += [
                one["escaped"].replace("\n", "") if one["escaped"] else expanded(one["other"]) for one in inner
            ]
        elif piece["escaped"] is not None:
            found.append(piece["escaped"].replace("\n", ""))
        else:
            found.append(expanded("$HOME" if piece["home"] else piece["other"]))
    return "".join(found)


def _expanded(text: str, name: str, variables: Mapping[str, str | None], environ: Mapping[str, str]) -> str:
    if text[0] not in "$`":
        return text
    found = _EXPANSION.fullmatch(text)
    if found is None:
        raise UnreadableValue("depends on a command or an expression")
    used = found["plain"] or found["braced"]
    own = variables[used] if used in variables else environ.get(used, "" if used == name else None)
    if used in variables and own is None:
        raise UnreadableValue(f"depends on {used}, which is not known")
    operator = found["operator"] or ""
    is_there = bool(own) if operator.startswith(":") else own is not None
    if operator.endswith("+" if is_there else "-"):
        return value(name, found["word"], variables, environ)
    if operator.endswith("+"):
        return ""
    if own is None:
        raise UnreadableValue(f"depends on {used}, which is not set here")
    return own


def is_plain(raw: str) -> bool:
    """Whether a word has only letters and quotes, and nothing that is replaced."""
    try:
        value("", raw, {}, {})
    except UnreadableValue:
        return False
    return "\n" not in raw


def quoted(text: str, like: str) -> str:
    """A value as a word, in the quotes that another one is in."""
    if like.startswith('"'):
        escaped = re.sub(r'([\\"$`])', r"\\\1", text)
        return f'"{escaped}"'
    if like.startswith("'") and "'" not in text:
        return f"'{text}'"
    return shlex.quote(text)
