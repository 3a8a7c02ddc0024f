"""Damage to samples: bytes, words, lines, types of values, deep nesting, numbers that are too large."""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

_LITERALS = (
    *("0", "-1", "1.5", "-0.0", "1e308", "1e999", "-1e999", "9223372036854775808", "1" * 30, "1" * 5000),
    *("NaN", "Infinity", "nan", "inf", "true", "false", "null", '""', "[]", "{}", "[[]]", '"x"', "x"),
    *('"\\u001b[2J"', '"\\u0000"', '"\\ud800"', '"\\u202e"', "[1, 2]", '{"a": 1}', "1970-01-01", "0x10", "1_0"),
)
"""Values of JSON, TOML and YAML; some are values of one of them only."""
_WORDS = (
    *("", " ", "0", "-1", "-0", "+1", "1.5", "nan", "inf", "-inf", "NaN", "1e999", "1e308", "1e-308", "0x10"),
    *("9" * 20, "9" * 400, "1" * 5000, "a" * 300, "a" * 70_000, "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\r\n"),
    *("\u202egnp.exe", "\u0665", "\u00b2", "\U0001f600", "\udcff", "\x7f", "\x9b2J", "e\u0301", "--", "-", "-h"),
    *("1-5", "5-1", "[1-3]", "n[1-3", "n[3-1]", "n[1-9999999]", "n[01-----4]", "n[1-3]x[1-3]", "n[,]", "@", ":"),
    *("a:b", "a:99999", "[::1]:22", "::1", "0.0.0.0", "user@", "@host", "a,b,,c", ",", "a=b", "=", "=b", "a="),
    *("1KiB", "1.1B", "1K1", "-1K", "1PB", "1 GB", "5 s", "5m", "12h", "-3d", "999999999999w", "2026-13-45"),
    *("all", "auto", "none", "latest", "baseline:", "baseline:x", "*", "~", "$(touch x)", "`x`", "'", '"', "\\"),
    *("%s", "%n", "{}", "{0}", "{x!r}", "None", "true", "null", "/dev/null", "/dev/full", "/dev/zero", "folder"),
    *("fifo", "missing", "missing/file", "link", "good.json", "\xa0", "\u2028", "\ufeff", "x\ty", "a;b", "a|b"),
)
"""Values of options, variables and words in files."""
_BYTES = (b"\x00", b"\xff\xfe", b"\x1b[2J", b"\x80", b"\xed\xa0\x80", b"\r", b"\n\n", b"\xc2\x9b31m", b"\x1e")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_MARK = re.compile(r'"@([^"@]*)@"')
_DEEP = 100_000
_MANY = 50_000


def word(random: Random, valid: Sequence[str] = ()) -> str:
    """A value that an option may get: a bad one, or a valid one that was changed."""
    if not valid or random.random() < 0.6:
        return random.choice(_WORDS)
    text = random.choice(valid)
    match random.randrange(6):
        case 0:
            return text
        case 1:
            return f"{text},{random.choice(_WORDS)}"
        case 2:
            return re.sub(r"\d+", lambda _: random.choice(("0", "-1", "9" * 20, "9" * 400)), text, count=1)
        case 3:
            return text * random.choice((2, 100))
        case 4:
            return ",".join([text] * random.choice((2, 2000)))
    return _changed(text, random)


def _changed(text: str, random: Random) -> str:
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(_WORDS)[:100] + text[place + random.randrange(2) :]


def data(sample: bytes, random: Random) -> bytes:
    """A file with one to four changes; those of JSON's structure where it is JSON."""
    changes: list[Callable[[bytes, Random], bytes]] = [*_ACTS, _value, _value, _line_value]
    if sample.lstrip()[:1] in (b"{", b"[") and random.random() < 0.7:
        changes = [structure]
    for _ in range(random.choice((1, 1, 2, 4))):
        sample = random.choice(changes)(sample, random)
    return sample


def structure(sample: bytes, random: Random) -> bytes:
    """JSON, or lines of it, with another value, key, or order somewhere; other text with changed bytes."""
    lines = sample.splitlines(keepends=True)
    try:
        document = json.loads(sample)
    except RecursionError:  # an earlier change nested it too deeply
        return random.choice(_ACTS)(sample, random)
    except ValueError:
        number = random.randrange(len(lines)) if lines else 0
        try:
            document = json.loads(lines[number])
        except (ValueError, IndexError):
            return random.choice(_ACTS)(sample, random)
        return b"".join([*lines[:number], _dumped(_restructured(document, random)) + b"\n", *lines[number + 1 :]])
    return _dumped(_restructured(document, random))


def _dumped(document: Any) -> bytes:
    """The marks in it are replaced by what JSON cannot hold as a value."""
    text = json.dumps(document)
    return _MARK.sub(lambda found: _LITERALS[int(found[1])], text).encode()


def _literal(random: Random) -> str:
    return f"@{random.randrange(len(_LITERALS))}@"


def _restructured(document: Any, random: Random) -> Any:
    """Changes one place, chosen with the same chance at each level down."""
    if isinstance(document, dict) and document and random.random() < 0.85:
        return _of_mapping(document, random)
    if isinstance(document, list) and document and random.random() < 0.85:
        place = random.randrange(len(document))
        match random.randrange(8):
            case 0:
                return document[:place] + document[place + 1 :]
            case 1:
                return [*document, document[place]]
            case 2:
                return document * random.choice((2, min(1000, max(2, _MANY // len(document)))))
        changed = _restructured(document[place], random)
        return [*document[:place], changed, *document[place + 1 :]]
    return _other_value(document, random)


def _of_mapping(document: dict[str, Any], random: Random) -> dict[str, Any]:
    key = random.choice(list(document))
    match random.randrange(8):
        case 0:
            return {name: value for name, value in document.items() if name != key}
        case 1:
            return {(random.choice(_WORDS)[:300] if name == key else name): document[name] for name in document}
        case 2:
            return {**document, random.choice(_WORDS)[:300]: document[key]}
    return {**document, key: _restructured(document[key], random)}


def _other_value(value: Any, random: Random) -> Any:
    match random.randrange(6):
        case 0:
            return random.choice(_WORDS)
        case 1 if isinstance(value, str):
            return _changed(value, random)
        case 1 if isinstance(value, int | float):
            return random.choice((-value, value * 10**9, value + 1, 0, value / 3))
        case 2:
            return [value] * random.choice((0, 1, 3))
        case 3:
            return {"x": value}
    return _literal(random)


def _flip(sample: bytes, random: Random) -> bytes:
    changed = bytearray(sample)
    for _ in range(random.choice((1, 1, 8)) if sample else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(sample: bytes, random: Random) -> bytes:
    return sample[: random.randrange(len(sample) + 1)]


def _drop(sample: bytes, random: Random) -> bytes:
    start = random.randrange(len(sample) + 1)
    return sample[:start] + sample[start + random.randrange(1, 40) :]


def _twice(sample: bytes, random: Random) -> bytes:
    start, end = sorted(random.randrange(len(sample) + 1) for _ in range(2))
    return sample[:end] + sample[start:end] * random.choice((1, 1, 20)) + sample[end:]


def _strange(sample: bytes, random: Random) -> bytes:
    place = random.randrange(len(sample) + 1)
    return sample[:place] + random.choice(_BYTES) * random.choice((1, 1, 1000)) + sample[place:]


def _value(sample: bytes, random: Random) -> bytes:
    """Another number."""
    numbers = list(_NUMBER.finditer(sample))
    if not numbers:
        return _strange(sample, random)
    one = random.choice(numbers)
    return sample[: one.start()] + random.choice(_LITERALS).encode() + sample[one.end() :]


def _line_value(sample: bytes, random: Random) -> bytes:
    """What follows the `=` or `:` of a line, or the line itself, is another value."""
    lines = sample.split(b"\n")
    number = random.randrange(len(lines))
    head, between, _ = lines[number].partition(random.choice((b"=", b": ", b":")))
    words = (*_LITERALS, *(one for one in _WORDS if "\n" not in one))
    other = random.choice(words).encode(errors="replace")
    lines[number] = head + between + other if between else other
    return b"\n".join(lines)


def _line(sample: bytes, random: Random) -> bytes:
    """A line is lost, or comes twice, or elsewhere, or in front of all others."""
    lines = sample.split(b"\n")
    one = lines.pop(random.randrange(len(lines)))
    for _ in range(random.randrange(3)):
        lines.insert(random.randrange(len(lines) + 1), one)
    return b"\n".join(lines)


def _deep(sample: bytes, random: Random) -> bytes:
    """Nested deeper than any reader's stack."""
    opening = random.choice((b"[", b'{"a":', b"(", b"- ", b"a.", b"[[a", b'"'))
    place = random.choice((0, random.randrange(len(sample) + 1)))
    return sample[:place] + opening * random.choice((200, 2000, _DEEP)) + sample[place:]


def _long(sample: bytes, random: Random) -> bytes:
    """A line that does not end."""
    place = random.randrange(len(sample) + 1)
    return sample[:place] + random.choice((b"a", b" ", b"0", b"\\", b",", b"x=1 ", b"[0")) * _DEEP + sample[place:]


def _nothing(sample: bytes, random: Random) -> bytes:
    return random.choice((b"", b"\n", b"\xef\xbb\xbf", b"\x00" * 4096, b" " * 4096, b"{}", b"[]", b"null"))


_ACTS: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip, _flip, _cut, _drop, _twice, _strange, _strange, _value, _line_value, _line),
    *(_deep, _long, _nothing),
)
