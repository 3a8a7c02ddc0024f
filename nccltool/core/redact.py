"""Take secrets out of text before it leaves the house. Pure.

By name (what stands behind `password=`, `Authorization:`, `HF_TOKEN=`, in shells, YAML, JSON, Python, XML, in
lists of arguments and the pairs of Kubernetes) and by form (private keys, users in addresses, tokens that say
themselves whose they are). JSON is read and written again, so that it stays JSON. What must not hold any secret
has to be read by a person all the same: a password without a name looks like a word.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

REMOVED = "*removed*"

_STEM = re.compile(r"pass|pwd|secret|token|key|credential|auth|jwt|cookie|sig", re.IGNORECASE)
_LEFT = re.compile(r"[\w.-]*\Z")
_RIGHT = re.compile(r"[\w.-]{0,60}")
LONGEST_NAME = 80
LONGEST_PREFIX = 2000
"""Of a line, to see whether a name stands in quotes."""

_ENDS = r"(?:_(?:id|data|value|string|b64|base64|\d+))?$"
_STRONG = re.compile(r"(?:password|passwd|passphrase|secret|(?:^|_)pwd|_pass)" + _ENDS)
"""Whatever stands behind it is a secret."""
_LIKELY = re.compile(
    r"(?:token|jwt|(?:^|_)credentials?|api_?key|(?:access|secret|private|auth|account|storage)_?key|"
    r"(?:proxy_)?authorization|(?:set_)?cookie)" + _ENDS
)
"""What stands behind it is, unless it is a number: a count."""
_PERHAPS = re.compile(r"(?:(?:^|_)(?:auth|pass|sig|signature)|\w_key)" + _ENDS)
"""What stands behind it is, where it does not look like a word."""
_HEADER = re.compile(r"(?:authorization|cookie)$")
_HARMLESS = re.compile(r"^(?:pwd|old_?pwd)$|(?:public|primary|foreign|sort|row)_key$")
_WORD = re.compile(r"(?:true|false|none|null|yes|no|on|off|\[\]|\{\})?$", re.IGNORECASE)
_COUNT = re.compile(r"\d{1,9}(?:\.\d+)?$")
_RANDOM = re.compile(r"(?=.*\d)\S{12,}|\S{32,}")

_QUOTE = r"\\*[\"']"
_COLOURS = r"(?:\x1b\[[\d;]*m)*"
_SEPARATOR = re.compile(rf"(?P<quote>{_QUOTE})?{_COLOURS}[ \t]*(?P<sign>=>|:=|=(?!=)|:(?!:))[ \t]*{_COLOURS}")
_PAIR = re.compile(rf"(?:{_QUOTE})?,?\s*(?:{_QUOTE})?value(?:{_QUOTE})?[ \t]*[:=][ \t]*", re.IGNORECASE)
_NEXT = re.compile(rf"(?:{_QUOTE})[ \t]*,\s*(?={_QUOTE})")
_BLANK = re.compile(r"[ \t|]+(?=[^\s|=:])")
_BLOCK = re.compile(r"[|>][-+\d]*[ \t]*\r?\n(?P<lines>(?:[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\r?\n)+)")
_LINE_BEGIN = re.compile(r"[ \t]*(?:[-+] +)?(?:export +|declare +-x +)?(?:\x1b\[[\d;]*m)*\Z")
_SHORT = re.compile(r"[^\s\"'&\\<]+")
_IN_FLOW = re.compile(r"[^\s\"'&\\,;)}\]]+")
_REST = re.compile(r"(?:[^\r\n\\]|\\(?![nr]))+")

_FORMS = (
    # a private key, to its end or to the end of the text
    re.compile(
        r"(?P<keep>-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----).*?"
        r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        re.DOTALL,
    ),
    re.compile(r"(?P<keep>\bPrivate-Lines: \d+\r?\n)(?:[A-Za-z0-9+/=]+(?:\r?\n|\Z))+"),
    re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)(?=\S*\d|\S{20})[A-Za-z0-9+/_.~=-]{8,}", re.IGNORECASE),
    re.compile(r"(?P<keep>\b[a-z][a-z0-9+.-]{0,20}://)[^\s/'\"]+(?=@)", re.IGNORECASE),
    re.compile(
        r"(?P<keep>[?&](?:key|sig|code|x-(?:amz|goog)-(?:signature|credential))=)[^\s&\"'\\]+", re.IGNORECASE
    ),
    re.compile(r"(?P<keep>\bhooks\.slack\.com/services/)[\w/]+"),
    re.compile(r"(?P<keep>\bsshpass +-p *|\bmysql\w* [^\n]{0,200}?-p)[^\s-]\S*"),
    re.compile(r"(?P<keep>\bcurl [^\n]{0,500}?(?:-u|--user)[ =]?['\"]?[^\s:'\"]+:)[^\s'\"]+"),
    re.compile(r"(?P<keep>^[ \t]*password[ \t]+|\blogin[ \t]+\S+\s+password[ \t]+)\S+(?=[ \t]*$)", re.MULTILINE),
    re.compile(r"(?P<keep>)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"(?P<keep>)\b(?:hf|gh[pousr]|github_pat|npm|dop_v1)_[A-Za-z0-9_]{16,}"),
    re.compile(r"(?P<keep>)\b(?:sk|glpat|glrt|xox[abeprs]|nvapi|pypi)-(?=[\w-]*\d)[A-Za-z0-9_-]{16,}"),
    re.compile(r"(?P<keep>)\b(?:hv[sbr]\.|ya29\.|AIza|MUNGE:)[A-Za-z0-9+/=_-]{20,}"),
    re.compile(r"(?P<keep>)\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
)
_SECRET_DATA = re.compile(
    r"^(?P<keep>(?:data|stringData):[ \t]*\r?\n)(?P<lines>(?:[ \t]+[^\n]*(?:\n|\Z))+)", re.MULTILINE
)
_ENTRY = re.compile(r"^(?P<keep>[ \t]+[\w.-]+: *)\S[^\r\n]*", re.MULTILINE)


def redacted(text: str) -> tuple[str, int]:
    """The text without what looks like a secret, and how many were taken out."""
    if text.lstrip()[:1] in ("{", "[", '"') and (found := _document(text)):
        return found
    return _text(text)


def _text(text: str) -> tuple[str, int]:
    text, total = _FORMS[0].subn(_kept, text)  # over several lines: before anything else looks at these
    text, count = _named(text)
    total += count
    for pattern in _FORMS[1:]:
        text, count = pattern.subn(_kept, text)
        total += count
    if re.search(r"^kind: Secret\b", text, re.MULTILINE):
        text, count = _SECRET_DATA.subn(lambda m: m["keep"] + _ENTRY.sub(_kept, m["lines"]), text)
        total += count
    return text, total


def _kept(match: re.Match[str]) -> str:
    return match["keep"] + REMOVED


def _document(text: str) -> tuple[str, int] | None:
    """Of JSON, or of lines of JSON; None for anything else."""
    try:
        plain, count = _walked(json.loads(text))
    except (ValueError, RecursionError):
        return _lines(text)
    if not count:
        return text, 0
    end = text[len(text.rstrip()) :]
    indent = 2 if "\n" in text.strip() else None
    return json.dumps(plain, indent=indent, ensure_ascii=text.isascii()) + end, count


def _lines(text: str) -> tuple[str, int] | None:
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return None
    told = [redacted(line) if line.lstrip().startswith(("{", "[")) else _text(line) for line in lines]
    whole = sum(line.lstrip().startswith("{") and line.rstrip().endswith("}") for line in lines)
    if whole < 0.9 * len(lines):
        return None
    return "".join(line for line, _ in told), sum(count for _, count in told)


def _walked(value: Any, name: str = "") -> tuple[Any, int]:
    """A value of JSON, whose key (or whose neighbour's) is `name`."""
    if isinstance(value, dict):
        pair = value.get("name", value.get("key"))
        of = str(pair) if isinstance(pair, str) else "value"
        made = {key: _walked(each, of if key == "value" else key) for key, each in value.items()}
        return {_text(key)[0]: each for key, (each, _) in made.items()}, sum(count for _, count in made.values())
    if isinstance(value, list):
        before = ["", *(each if isinstance(each, str) and each.startswith("-") else "" for each in value)]
        told = [_walked(each, before[number] or name) for number, each in enumerate(value)]
        return [each for each, _ in told], sum(count for _, count in told)
    if isinstance(value, bool) or value is None:
        return value, 0
    if _is_secret(name, str(value)):
        return (value, 0) if value == REMOVED else (REMOVED, 1)
    return redacted(value) if isinstance(value, str) else (value, 0)


@lru_cache(maxsize=4096)
def _grade(name: str) -> re.Pattern[str] | None:
    """How sure it is that a name is one of a secret: the first of three that fits."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip("-.")).lower()
    plain = re.sub(r"[-.]+", "_", plain).strip("_")
    if _HARMLESS.search(plain):
        return None
    return next((grade for grade in (_STRONG, _LIKELY, _PERHAPS) if grade.search(plain)), None)


def _is_secret(name: str, value: str) -> bool:
    grade = _grade(name)
    if grade is None or _WORD.match(value):
        return False
    if grade is _LIKELY:
        return not _COUNT.match(value)
    return grade is _STRONG or bool(_RANDOM.match(value))


class _Name(NamedTuple):
    """Where a name stands that may be one of a secret."""

    begin: int
    end: int


def _names(text: str) -> Iterator[_Name]:
    end = 0
    for stem in _STEM.finditer(text):
        if stem.start() < end:
            continue
        left = _LEFT.search(text[max(end, stem.start() - LONGEST_NAME) : stem.start()])
        right = _RIGHT.match(text, stem.end())
        begin = stem.start() - len(left[0] if left else "")
        end = right.end() if right else stem.end()
        yield _Name(begin, end)


def _named(text: str) -> tuple[str, int]:
    """Without the values that stand behind the names of secrets."""
    pieces, done, total = [], 0, 0
    for name in _names(text):
        if name.begin < done:
            continue
        word = text[name.begin : name.end]
        span = _value(text, name) if _grade(word) else None
        if span is None or not _is_secret(word, text[span[0] : span[1]]):
            continue
        begin, end = span
        bare = text[begin - 1 : begin] not in ("'", '"') and text[name.end : name.end + 1] == '"'
        pieces += [text[done:begin], f'"{REMOVED}"' if bare else REMOVED]
        done, total = end, total + 1
    return "".join([*pieces, text[done:]]), total


def _value(text: str, name: _Name) -> tuple[int, int] | None:
    """From where to where the value of a name reaches."""
    word = text[name.begin : name.end]
    if pair := _PAIR.match(text, name.end):
        return _span(text, pair.end(), name, whole=True)
    if found := _SEPARATOR.match(text, name.end):
        quoted = found["quote"] is not None
        if (quoted or found["sign"] == ":") and text[found.end() : found.end() + 1] in ("[", "{"):
            return None
        return _span(text, found.end(), name, whole=not quoted and _to_the_end(text, name, found))
    if text[name.begin - 1 : name.begin] == "<" and text[name.end : name.end + 1] == ">":
        return _span(text, name.end + 1, name)
    if following := _NEXT.match(text, name.end):
        return _span(text, following.end(), name) if word.startswith("--") or _of_a_shell(word) else None
    blank = _BLANK.match(text, name.end)
    if blank and word.startswith("--") and text[blank.end()] != "-":
        return _span(text, blank.end(), name)
    if blank and _of_a_shell(word) and _RANDOM.match(text[blank.end() : blank.end() + 40]):
        return _span(text, blank.end(), name)
    return None


def _of_a_shell(word: str) -> bool:
    return word.isupper() and "_" in word


def _to_the_end(text: str, name: _Name, found: re.Match[str]) -> bool:
    """Whether the value is the rest of the line: `password: two words` of YAML, `key = two words`, a header."""
    if _HEADER.search(text[name.begin : name.end].lower()):
        return True
    begin = text.rfind("\n", max(0, name.begin - LONGEST_PREFIX), name.begin) + 1
    spaced = found[0] not in ("=", ":")
    return spaced and bool(_LINE_BEGIN.match(text[begin : name.begin]))


def _span(text: str, begin: int, name: _Name, whole: bool = False) -> tuple[int, int] | None:
    if opener := re.compile(rf"{_QUOTE}").match(text, begin):
        if text.startswith(opener[0][-1] * 2, opener.end()):  # three of them: TOML, Python
            end = text.find(opener[0][-1] * 3, opener.end() + 2)
            return opener.end() + 2, end if end >= 0 else len(text)
        end = _closer(text, opener.end(), opener[0])
        return (opener.end(), end) if end > opener.end() else None
    if whole and (block := _BLOCK.match(text, begin)):
        return block.start("lines"), block.end("lines") - block["lines"].endswith("\n")
    around = _around(text, name.begin)
    flows = text[name.end : name.end + 1] in (":", '"', "'")  # `{password: x, rank: 3}`; not in a shell
    value = (_REST if whole else _IN_FLOW if flows else _SHORT).match(text, begin)
    if value is None:
        return None
    end = value.end()
    if around:
        end = min(end, _closer(text, begin, around))
    return (begin, begin + len(text[begin:end].rstrip())) if end > begin else None


def _closer(text: str, begin: int, opener: str) -> int:
    """Where a string ends that was opened so, at the latest with the line: JSON in JSON has more backslashes."""
    depth, mark = len(opener) - 1, opener[-1]
    end = text.find("\n", begin)
    end = len(text) if end < 0 else end
    for found in re.compile(rf"(\\*){mark}").finditer(text, begin, end):
        if (len(found[1]) - depth) % (2 * (depth + 1)) == 0 and len(found[1]) >= depth:
            return found.end() - len(mark) - depth
    return end


def _around(text: str, at: int) -> str:
    """The quote in which a place of a line stands; empty = in none."""
    begin = max(text.rfind("\n", 0, at) + 1, at - LONGEST_PREFIX)
    opened = ""
    for found in re.compile(_QUOTE).finditer(text, begin, at):
        if not opened:
            opened = found[0]
        elif found[0][-1] == opened[-1] and len(found[0]) <= len(opened):
            opened = ""
    return opened
