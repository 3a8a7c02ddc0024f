r"""Which lines say something, and what: tables of patterns, and how a line that fits one becomes an event.

A dialect is a file of this folder with a table PATTERNS. Its rows stand under their role, which is what they say
about the health of the job: the kind of event, and the expression that is searched in a line and takes it apart.
What is indented further goes on with the row above.

    failure
        shm.full  `failed to extend` (?P<path>\S+)
        host.oom  `oom-kill|oom_kill`
        ucx.link  `UCX` => (?i)transport retry count exceeded

Between backticks stands the literal: text that every such line contains, letter by letter; each of several, with |
between them, makes a pattern. Where it is no part of the expression, => stands between them. Literals are there
for speed: lines are searched for all of them at once, and an expression is only tried on lines that have its own.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, cast, get_args

from nccltool.triage.logs.base import LONGEST_TEXT, LogEvent, Role, SourceLine


@dataclass(frozen=True, slots=True)
class LogPattern:
    """One kind of line."""

    kind: str
    role: Role
    literal: str = ""
    expression: re.Pattern[str] | None = None
    """None = the literal says it all."""
    before: str = ""
    """One of these characters stands before the literal; "" = anything may. Spares lines that often have it."""


_PLACE = itemgetter(0)


class PatternTable:
    """Patterns in their order, by their literals."""

    def __init__(self, *patterns: LogPattern, hosts_in: tuple[str, ...] = ()) -> None:
        """`hosts_in`: the parts of lines that name the host."""
        self._patterns, self._hosts_in = patterns, hosts_in
        self._of: dict[str, list[tuple[int, LogPattern]]] = {}
        for place, item in enumerate(patterns):
            self._of.setdefault(item.literal, []).append((place, item))

    def __iter__(self) -> Iterator[LogPattern]:
        return iter(self._patterns)

    def found(
        self, text: str, there: tuple[str, ...] | None = None
    ) -> Iterator[tuple[LogPattern, dict[str, str]]]:
        """The patterns that a text fits, with the named parts.

        `there`: the literals of a line of which the text is all or a part, where they are known.
        """
        of = self._of
        known = literals(text) if there is None else there
        candidates = [each for literal in known if literal in of and literal in text for each in of[literal]]
        if len(candidates) > 1:
            candidates.sort(key=_PLACE)
        for _, item in candidates:
            if item.expression is None:
                yield item, {}
            elif match := item.expression.search(_near(text, item.literal)):
                yield item, {name: value.strip() for name, value in match.groupdict().items() if value}

    def events(self, line: SourceLine) -> Iterator[LogEvent]:
        for item, fields in self.found(line.text):
            yield event(
                item, line, fields, host=next((fields[name] for name in self._hosts_in if name in fields), None)
            )


_BEFORE, _BEHIND = 300, 1700
"""Characters around the literal that an expression sees: some need time in proportion to the square of them."""


def _near(text: str, literal: str) -> str:
    if len(text) <= _BEFORE + _BEHIND:
        return text
    place = text.find(literal)
    return text[max(0, place - _BEFORE) : place + _BEHIND]


def table(
    text: str, before: Mapping[str, str] | None = None, hosts_in: tuple[str, ...] = (), **parts: str
) -> PatternTable:
    """A table out of its text. `before`: literal -> LogPattern.before; `parts`: what {NAME} stands for in rows."""
    rows: list[list[str]] = []
    for line in text.splitlines():
        if line in get_args(Role):
            role = line
        elif line.startswith("     "):
            rows[-1][1] += line.strip()
        elif line:
            rows.append([role, line.strip()])
    for name, part in parts.items():
        rows = [[role, row.replace(f"{{{name}}}", part)] for role, row in rows]
    patterns = chain.from_iterable(_patterns(cast(Role, role), row, before or {}) for role, row in rows)
    return PatternTable(*patterns, hosts_in=hosts_in)


def _patterns(role: Role, row: str, before: Mapping[str, str]) -> Iterator[LogPattern]:
    kind, expression = row.split(maxsplit=1)
    head, alternatives, tail = expression.split("`", maxsplit=2)
    literals_of = alternatives.split("|")
    # a row that is indented too far would go on with the one above, and never be found
    if "`" in tail or "" in literals_of or (head and tail.startswith(" => ")):
        raise ValueError(f"this is no row of a table of patterns: {row}")
    for literal in literals_of:
        own = tail.removeprefix(" => ") if tail.startswith(" => ") else head + re.escape(literal) + tail
        compiled = re.compile(own) if head or tail else None
        _remember(literal, before.get(literal, ""))
        yield LogPattern(kind, role, literal, compiled, before.get(literal, ""))


_LITERALS: dict[str, str] = {}
"""The literals of all patterns, in the order in which they were made, with what stands before each; "" is none."""


def _remember(literal: str, before: str) -> None:
    known = _LITERALS.get(literal, before)
    _LITERALS[literal] = "".join(sorted({*known, *before})) if known and before else ""


def all_literals() -> tuple[str, ...]:
    return tuple(_LITERALS)


@lru_cache(maxsize=8)  # the dialects ask one after the other about the same line
def literals(text: str) -> tuple[str, ...]:
    known, engine = _engine(len(_LITERALS))
    if engine is None:
        return tuple(literal for literal in known if literal in text and _stands_in(literal, text))
    return tuple(known[index] for index in engine.Match(text.encode(errors="replace")) or ())


def _stands_in(literal: str, text: str) -> bool:
    """Whether a literal has one of its characters before it."""
    before = _LITERALS[literal]
    return not before or re.search(behind(before, literal), text) is not None


@lru_cache(maxsize=1)
def _engine(count: int) -> tuple[tuple[str, ...], Any]:
    """The literals in their order, and RE2's search for all of them at once; None where it is not installed."""
    known = tuple(_LITERALS)[:count]
    re2, options = re2_if_installed()
    if re2 is None:
        return known, None
    engine = re2.Set.SearchSet(options)
    for literal in known:
        engine.Add(behind(_LITERALS[literal], literal).encode())
    engine.Compile()
    return known, engine


def re2_if_installed() -> tuple[Any, Any]:
    """RE2 and options for it, of which nothing is captured; None and None where it is not installed."""
    try:
        import re2
    except ImportError:
        return None, None
    options = re2.Options()
    options.never_capture = True
    options.max_mem = 64 << 20
    return re2, options


def behind(before: str, literal: str) -> str:
    """The expression for a literal that has one of some characters before it."""
    return (f"[{re.escape(before)}]" if before else "") + re.escape(literal)


def _excerpt(text: str, literal: str) -> str:
    """What an event keeps of a line: its beginning, or what stands around the literal if that does not show it."""
    place = text.find(literal) if len(text) > LONGEST_TEXT else 0
    if place + len(literal) <= LONGEST_TEXT:
        return text[:LONGEST_TEXT]
    start = place - _LEAD
    return "\u2026" + text[start : start + LONGEST_TEXT - 1]


_LEAD = 120
"""Characters before the literal of an excerpt."""


def event(item: LogPattern, line: SourceLine, fields: Mapping[str, str], **known: int | str | None) -> LogEvent:
    """The event of a pattern in a line; `known` is what a dialect knows better than the label."""
    host = str(known.get("host") or "") or line.host
    if host is None and line.address:
        fields = {"ip": line.address, **fields}
    return LogEvent(
        kind=item.kind,
        role=item.role,
        text=_excerpt(line.text, item.literal),
        file=line.file,
        line=line.number,
        label=line.label,
        host=host,
        rank=_number(fields.get("rank"), known.get("rank"), line.rank),
        task=line.task,
        pid=_number(known.get("pid"), fields.get("pid"), line.pid),
        device=_number(known.get("device")),
        time=line.time,
        fields=fields,
    )


def _number(*values: int | str | None) -> int | None:
    for value in values:
        if isinstance(value, int):
            return value
        if value is not None and value.isdecimal() and len(value) < 10:
            return int(value)
    return None
