"""A diagnosis for people: what was found, the worst first; then what could not be judged, and why."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from nccltool.core.findings import Finding, Severity
from nccltool.core.look import PLAIN, Look
from nccltool.core.text import escaped, escaped_lines, named, shortened
from nccltool.doctor.diagnosis import Diagnosis

_MOST_REASONS = 8
_MOST_CODES = 6
_TITLES: tuple[tuple[Severity, str], ...] = (("error", "error"), ("warning", "warning"), ("info", "hint"))


def render(diagnosis: Diagnosis, look: Look = PLAIN, with_settings: bool = False) -> str:
    names = {rule.code: rule.name for rule in diagnosis.rules}
    blocks = [_circumstances(diagnosis)]
    blocks += ["\n".join(_settings(diagnosis))] if with_settings else []
    for severity, title in _TITLES:
        found = [finding for finding in diagnosis.findings if finding.severity == severity]
        if found:
            shown = [_finding(one, names.get(one.code, ""), look) for one in found]
            blocks.append("\n".join([_counted(len(found), title), *shown]))
    blocks += ["\n".join(lines)] if (lines := list(_unknown(diagnosis))) else []
    return "\n\n".join([*blocks, _last_line(diagnosis)]) + "\n"


def _circumstances(diagnosis: Diagnosis) -> str:
    info = diagnosis.info
    own = (one.origin for one in diagnosis.settings if one.name.startswith("NCCL_"))
    origins = Counter(origin.rpartition(":")[0] or origin for origin in own)
    given = ", ".join(f"{count} from {escaped(origin)}" for origin, count in origins.items())
    nccl = f"NCCL {diagnosis.nccl}" if diagnosis.nccl else "NCCL of unknown version, read as the newest known"
    torch = f"torch {info.torch}" if info.torch else "no torch"
    where = escaped(named(info.hosts, 4))
    return f"nccltool {info.nccltool}, {nccl}, {torch}, on {where}\nvariables of NCCL: {given or 'none is set'}"


def _settings(diagnosis: Diagnosis) -> Iterator[str]:
    yield "settings, as NCCL builds them:"
    for one in diagnosis.settings:
        yield f"    {escaped(one.name)}={escaped(shortened(one.value, 160))}    ({escaped(one.origin)})"


def _finding(finding: Finding, name: str, look: Look) -> str:
    title = f"{finding.code} {name}".rstrip()
    lines = [f"{finding.severity.upper()} {title}: {escaped(finding.message)}"]
    lines += [f"    {line}" for text in finding.evidence for line in escaped_lines(text)]
    if finding.remedy:
        lines.append(f"    -> {escaped(finding.remedy)}")
    if not name:  # of a rule, nobody needs to be told
        lines.append(f"    nccltool explain {finding.code}")
    return "\n".join(line for text in lines for line in look.wrapped(text, "        "))


def _unknown(diagnosis: Diagnosis) -> Iterator[str]:
    codes = defaultdict[str, list[str]](list)
    for outcome in diagnosis.outcomes:
        if outcome.status == "unknown":
            codes[outcome.reason].append(outcome.code)
    if not codes:
        return
    yield f"{_counted(sum(map(len, codes.values())), 'rule')} could not judge"
    ordered = sorted(codes.items(), key=lambda item: -len(item[1]))
    for reason, some in ordered[:_MOST_REASONS]:
        more = f" and {len(some) - _MOST_CODES} more" if len(some) > _MOST_CODES else ""
        yield f"    {escaped(shortened(reason, 200))}: {' '.join(some[:_MOST_CODES])}{more}"
    if len(ordered) > _MOST_REASONS:
        rest = sum(len(some) for _, some in ordered[_MOST_REASONS:])
        yield f"    for other reasons: {rest}; --format json has them all"


def _last_line(diagnosis: Diagnosis) -> str:
    counts = Counter(finding.severity for finding in diagnosis.findings)
    words = [_counted(counts[severity], title) for severity, title in _TITLES if counts[severity]]
    rules = f"{len(diagnosis.outcomes)} rules, {', '.join(words) or 'nothing found'}"
    return f"{diagnosis.verdict.status}: {rules}, exit code {diagnosis.verdict.exit_code}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count > 1 else ''}"
