"""What was found, on a screen: the verdict first, then as much of each finding as there is room for."""

from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding
from nccltool.core.host_lists import briefly
from nccltool.core.look import Look, Tone
from nccltool.core.text import escaped
from nccltool.core.verdicts import Status

INDENT = "    "
BELOW = 2
"""Lines of a screen that are no part of a result: where it was saved, and the next prompt."""
_VERDICTS: dict[Status, Tone] = {
    "pass": "pass",
    "warn": "warn",
    "fail": "fail",
    "incomplete": "fail",
    "unknown": "warn",
}
_WORDS: dict[str, Tone] = {"ERROR": "fail", "FAIL": "fail", "WARNING": "warn", "WARN": "warn", "UNKNOWN": "warn"}
_HEADLINE, _REMEDY, _EVIDENCE, _ALL = range(4)
"""How much of a notice is shown."""
_MOST_EVIDENCE = 3
"""Lines of evidence on a screen."""
_LONGEST_HOSTS = 40
_MOST_LINES = 2
"""Screen lines of one line of evidence: those of logs can be very long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Something that was found, in parts that a small screen may leave out. Its texts are not escaped yet."""

    word: str
    """How bad it is: ERROR, FAIL, WARNING, ..."""
    text: str
    """The rest of the headline."""
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    explain: str = ""
    """What `nccltool explain` knows it by; empty = nothing."""
    more: tuple[str, ...] = ()
    """What only a reader wants who looks into it."""


def of_finding(finding: Finding, name: str = "") -> Notice:
    """A finding; `name` is that of its rule."""
    head = f"{finding.code} {name}".rstrip()
    return Notice(
        word=finding.severity.upper(),
        text=f"{head}: {finding.message}",
        evidence=tuple(line for text in finding.evidence for line in text.split("\n")),
        remedy=finding.remedy,
        explain="" if finding.severity == "info" else finding.code,
    )


def circumstances(look: Look, info: RunInfo, *before: str) -> list[str]:
    """What is true of all of a run, once: where it ran; `before` is said first."""
    many = "" if info.nodes == 1 else "s"
    emulated = " emulated" if info.emulated else ""
    nobody = "hosts not in the file" if info.tool else "no host responded"
    where = f" on {_hosts(info.hosts)}" if info.hosts else f", {nobody}"
    parts = [
        *before,
        f"{info.nodes or '?'} node{many}{emulated}{where}{' (no network measured)' if emulated else ''}",
    ]
    parts.append(f"{info.world_size or '?'} rank{'' if info.world_size == 1 else 's'}")
    parts += [info.backend] if info.backend else []
    parts += [f"{info.duration_s:.1f} s"] if info.duration_s is not None else []
    lines = [", ".join(parts)]
    if look.verbose:
        lines.append(f"nccltool {info.nccltool}, torch {info.torch or 'unknown'}, run {info.id}")
        lines += [f"backend {info.backend}: {info.backend_reason}"] if info.backend else []
        lines += [f"set in the ranks by nccltool: {', '.join(info.set_in_ranks)}"] if info.set_in_ranks else []
    return [look.painted(part, "dim") for line in lines for part in look.wrapped(escaped(line), INDENT)]


def _hosts(hosts: Sequence[str]) -> str:
    text = briefly(hosts)
    return text if len(text) <= _LONGEST_HOSTS else f"{len(hosts)} hosts"


def verdict_line(look: Look, status: Status, text: str) -> list[str]:
    """The first line of every result: pass or fail in colour, and what it is about."""
    return _headed(look, status.upper(), text, _VERDICTS[status])


def shown(look: Look, notices: Sequence[Notice], taken: int) -> list[str]:
    """The notices, the worst of which come first; `taken` = lines of the screen that others need."""
    if look.verbose or look.height is None:
        return [line for notice in notices for line in _lines(look, notice, _ALL)]
    room = max(look.height - BELOW - taken, 1)
    depths = _fitting(look, notices, room)
    lines = [line for notice, depth in zip(notices, depths, strict=False) for line in _lines(look, notice, depth)]
    if left_out := len(notices) - len(depths):
        lines.append(f"and {left_out} more; -v shows all")
    elif min(depths, default=_EVIDENCE) < _EVIDENCE:
        lines.append(look.painted("-v shows the evidence; nccltool explain CODE has details", "dim"))
    return lines


def _fitting(look: Look, notices: Sequence[Notice], room: int) -> list[int]:
    """How much of each notice is shown: remedies of the worst, evidence of the first, then what has room."""
    heights = [
        [len(_lines(look, notice, depth)) for depth in (_HEADLINE, _REMEDY, _EVIDENCE)] for notice in notices
    ]
    depths = [_HEADLINE] * len(notices)
    if notices:
        depths[0] = _REMEDY

    def is_too_long() -> bool:
        hint = len(depths) < len(notices) or min(depths, default=_EVIDENCE) < _EVIDENCE
        return sum(heights[number][depth] for number, depth in enumerate(depths)) + hint > room

    while len(depths) > 1 and is_too_long():
        depths.pop()
    worst = [number for number in range(len(depths)) if notices[number].word == notices[0].word]
    every = list(range(len(depths)))
    for depth, numbers in ((_REMEDY, worst), (_EVIDENCE, worst[:1]), (_REMEDY, every), (_EVIDENCE, every)):
        for number in numbers:
            before = depths[number]
            depths[number] = max(before, depth)
            if is_too_long():
                depths[number] = before
    return depths


def _lines(look: Look, notice: Notice, depth: int) -> list[str]:
    lines = _headed(look, notice.word, notice.text, _WORDS.get(notice.word, "dim"))
    if depth >= _EVIDENCE:
        evidence = notice.evidence if depth == _ALL else notice.evidence[:_MOST_EVIDENCE]
        lines += [line for text in evidence for line in _quoted(look, text, depth)]
    if depth >= _REMEDY and notice.remedy:
        lines += _below(look, f"-> {notice.remedy}")
    if depth == _ALL:
        lines += [line for text in notice.more for line in _below(look, text)]
    if depth >= _EVIDENCE and notice.explain:
        lines += [look.painted(line, "dim") for line in _below(look, f"nccltool explain {notice.explain}")]
    return lines


def _headed(look: Look, word: str, text: str, tone: Tone) -> list[str]:
    first, *rest = look.wrapped(escaped(f"{word} {text}"), INDENT)
    return [look.painted(word, tone) + first.removeprefix(word), *rest]


def _below(look: Look, text: str) -> list[str]:
    return look.wrapped(INDENT + escaped(text), 2 * INDENT)


def _quoted(look: Look, text: str, depth: int) -> list[str]:
    """A line of evidence; on a screen the beginning of a long one."""
    lines = _below(look, text)
    if depth == _ALL or len(lines) <= _MOST_LINES:
        return lines
    *first, last = lines[:_MOST_LINES]
    if look.width is not None and len(last) + 4 > look.width:
        last = last.rpartition(" ")[0]
    return [*first, f"{last} ..."]
