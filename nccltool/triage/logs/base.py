"""What a line of a log is, what an event is, and how a dialect finds events in lines.

A dialect is a file of this folder with a table PATTERNS. Each pattern names the kind of event, what the line says
about the health of the job (its role), a literal that every such line contains, and the expression that takes the
line apart. The literal comes first for speed: an expression is only tried on lines that contain it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec

Role: TypeAlias = Literal["failure", "echo", "doubt", "state", "success"]
"""failure: something went wrong here. echo: the consequence of something elsewhere. doubt: a warning that also
healthy jobs print. state: how things are. success: the job, or a part of it, came to its end in order."""

Family: TypeAlias = Literal[
    "app", "bench", "cuda", "data", "efa", "env", "fabric", "gdr", "gdrcopy", "gloo", "host", "hvd", "ib", "imex",
    "iommu", "job", "kernel", "limits", "mnnvl", "mpi", "nccl", "net", "nvls", "nvml", "nvshmem", "plugin", "ras",
    "sharp", "shell", "shm", "store", "topology", "torch", "torchrun", "ucx", "version",
]  # fmt: skip
"""Who says something, or what it is about: the first word of the kind of an event."""

LONGEST_TEXT = 600
"""Characters of a line that an event keeps."""


class SourceLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line without what terminals, launchers and collectors put around it."""

    file: str
    number: int
    text: str
    """What the program wrote."""
    label: str = ""
    """What stood before it: lines of one label come from one writer."""
    host: str | None = None
    rank: int | None = None
    task: int | None = None
    """The number that a launcher put before it: a rank, or a node where one task starts the ranks of a node."""
    pid: int | None = None
    address: str | None = None
    time: str | None = None


class LogEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one line says."""

    kind: str
    role: Role
    text: str
    file: str
    line: int
    label: str = ""
    host: str | None = None
    rank: int | None = None
    task: int | None = None
    pid: int | None = None
    device: int | None = None
    time: str | None = None
    """MM-DD HH:MM:SS[.fraction], with the year before it where the log has one."""
    fields: Mapping[str, str] = msgspec.field(default_factory=dict)
    repeats: int = 0
    """More than 0: no line of its own, but that many more that say the same."""

    @property
    def family(self) -> Family:
        """The family of its kind."""
        return family_of(self.kind)

    def get(self, name: str, default: str = "") -> str:
        """A part of the line; "" when it is not there."""
        return self.fields.get(name, default)


@cache
def family_of(kind: str) -> Family:
    """The family of a kind of events."""
    name = kind.partition(".")[0]
    assert name in get_args(Family), kind
    return cast(Family, name)


@dataclass(frozen=True, slots=True)
class LogPattern:
    """One kind of line."""

    kind: str
    role: Role
    literal: str
    expression: re.Pattern[str] | None
    """None = the literal says it all."""
    before: str = ""
    """One of these characters stands before the literal; "" = anything may. Spares lines that often have it."""


_LITERALS: dict[str, str] = {}
"""The literals of all patterns, in the order in which they were made, with what stands before each; "" is none."""


def _pattern(role: Role, kind: str, literal: str, expression: str = "", before: str = "") -> LogPattern:
    """A pattern whose expression is searched anywhere in the line."""
    if literal:
        known = _LITERALS.get(literal, before)
        _LITERALS[literal] = "".join(sorted({*known, *before})) if known and before else ""
    return LogPattern(kind, role, literal, re.compile(expression) if expression else None, before)


failure, echo, doubt, state, success = (partial(_pattern, role) for role in get_args(Role))
"""A row of a table: failure(KIND, LITERAL, EXPRESSION)."""


def each(row: Callable[[str, str], LogPattern], kind: str, *literals: str) -> tuple[LogPattern, ...]:
    """Rows of one kind whose literals say it all."""
    return tuple(row(kind, literal) for literal in literals)


def all_literals() -> tuple[str, ...]:
    """The literals of all patterns."""
    return tuple(_LITERALS)


def found(patterns: tuple[LogPattern, ...], text: str) -> Iterator[tuple[LogPattern, dict[str, str]]]:
    """The patterns of a table that the text fits, with the named parts."""
    return fitting(patterns, text, literals(text))


def fitting(
    patterns: tuple[LogPattern, ...], text: str, there: tuple[str, ...]
) -> Iterator[tuple[LogPattern, dict[str, str]]]:
    """The same, where the literals of a line are known of which the text is all or a part."""
    of = _by_literal(patterns)
    candidates = [each for literal in there if literal in of and literal in text for each in of[literal]]
    if len(candidates) > 1:
        candidates.sort(key=_PLACE)
    for _, item in candidates:
        if item.expression is None:
            yield item, {}
        elif match := item.expression.search(_near(text, item.literal)):
            yield item, {name: value.strip() for name, value in match.groupdict().items() if value}


@lru_cache(maxsize=8)  # the dialects ask one after the other about the same line
def literals(text: str) -> tuple[str, ...]:
    """The literals that a text contains."""
    known, engine = _engine(len(_LITERALS))
    if engine is None:
        return tuple(literal for literal in known if literal in text and _stands_in(literal, text))
    return tuple(known[index] for index in engine.Match(text.encode(errors="replace")) or ())


def _stands_in(literal: str, text: str) -> bool:
    """Whether a literal has one of its characters before it."""
    before = _LITERALS[literal]
    return not before or re.search(f"[{re.escape(before)}]{re.escape(literal)}", text) is not None


@lru_cache(maxsize=1)
def _engine(count: int) -> tuple[tuple[str, ...], Any]:
    """The literals in their order, and RE2's search for all of them at once; None where it is not installed."""
    known = tuple(_LITERALS)[:count]
    try:
        import re2
    except ImportError:
        return known, None
    options = re2.Options()
    options.never_capture = True
    options.max_mem = 64 << 20
    engine = re2.Set.SearchSet(options)
    for literal in known:
        before = _LITERALS[literal]
        engine.Add(((f"[{re.escape(before)}]" if before else "") + re.escape(literal)).encode())
    engine.Compile()
    return known, engine


_PLACE = itemgetter(0)
_TABLES: dict[int, tuple[tuple[LogPattern, ...], dict[str, list[tuple[int, LogPattern]]]]] = {}
"""Tables by their identity: hashing hundreds of patterns for each line would cost more than it saves."""


def _by_literal(patterns: tuple[LogPattern, ...]) -> dict[str, list[tuple[int, LogPattern]]]:
    """The patterns of a table with their places in it, by their literals."""
    known = _TABLES.get(id(patterns))
    if known is None:
        of: dict[str, list[tuple[int, LogPattern]]] = {}
        for place, item in enumerate(patterns):
            of.setdefault(item.literal, []).append((place, item))
        known = _TABLES[id(patterns)] = (patterns, of)  # keeps the table, so that its identity stays its own
    return known[1]


_BEFORE, _BEHIND = 300, 1700
"""Characters around the literal that an expression sees: some need time in proportion to the square of them."""


def _near(text: str, literal: str) -> str:
    if len(text) <= _BEFORE + _BEHIND:
        return text
    place = text.find(literal)
    return text[max(0, place - _BEFORE) : place + _BEHIND]


def events(patterns: tuple[LogPattern, ...], line: SourceLine) -> Iterator[LogEvent]:
    """What a line says by a table alone."""
    for item, fields in found(patterns, line.text):
        yield event(item, line, fields)


def event(item: LogPattern, line: SourceLine, fields: Mapping[str, str], **known: int | str | None) -> LogEvent:
    """The event of a pattern in a line; `known` is what a dialect knows better than the label."""
    host = _text(known.get("host")) or line.host
    if host is None and line.address:
        fields = {"ip": line.address, **fields}
    return LogEvent(
        kind=item.kind,
        role=item.role,
        text=line.text[:LONGEST_TEXT],
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


def _text(value: int | str | None) -> str | None:
    return str(value) if value is not None else None


def _number(*values: int | str | None) -> int | None:
    for value in values:
        if isinstance(value, int):
            return value
        if value is not None and value.isdecimal() and len(value) < 10:
            return int(value)
    return None
