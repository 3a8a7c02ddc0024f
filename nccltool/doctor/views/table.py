"""A diagnosis for people: the verdict, what was found with the worst first, and the rules that were skipped."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from nccltool.core.look import PLAIN, Look
from nccltool.core.notices import of_finding, shown, verdict_line
from nccltool.core.text import counted, escaped, shortened
from nccltool.doctor.diagnosis import Diagnosis
from nccltool.doctor.judge import NO_HOST
from nccltool.doctor.views import base

_MOST_REASONS = 8
_MOST_ON_A_SCREEN = 2
_MOST_CODES = 6


def render(diagnosis: Diagnosis, look: Look = PLAIN, with_settings: bool = False) -> str:
    head = [
        *verdict_line(look, diagnosis.verdict.status, base.headline(diagnosis)),
        *_circumstances(diagnosis, look),
    ]
    settings = list(_settings(diagnosis)) if with_settings else []
    skipped = list(_skipped(diagnosis, look))
    names = {rule.code: rule.name for rule in diagnosis.rules}
    found = [
        of_finding(one, names.get(one.code, ""))
        for severity in base.TITLES
        for one in diagnosis.findings
        if one.severity == severity
    ]
    notices = shown(look, found, len(head) + len(skipped) + 2)
    return "\n\n".join("\n".join(block) for block in (head, settings, notices, skipped) if block) + "\n"


def _circumstances(diagnosis: Diagnosis, look: Look) -> Iterator[str]:
    """What the rules were asked about."""
    own = (one.origin for one in diagnosis.settings if one.name.startswith("NCCL_"))
    origins = Counter(origin.rpartition(":")[0] or origin for origin in own)
    given = ", ".join(f"{count} from {origin}" for origin, count in origins.items())
    nccl = f"NCCL {diagnosis.nccl}" if diagnosis.nccl else "NCCL version unknown (assuming the newest known)"
    torch = f"torch {diagnosis.info.torch}" if diagnosis.info.torch else "no torch"
    tool = f"nccltool {diagnosis.info.nccltool}, " if look.verbose else ""
    torch = "no host" if diagnosis.source else torch
    text = f"{tool}{nccl}; {torch}; NCCL variables: {given or 'none set'}"
    yield from (look.painted(line, "dim") for line in look.wrapped(escaped(text), "  "))


def _settings(diagnosis: Diagnosis) -> Iterator[str]:
    yield "effective settings:"
    for one in diagnosis.settings:
        yield f"    {escaped(one.name)}={escaped(shortened(one.value, 160))}    ({escaped(one.origin)})"


def _skipped(diagnosis: Diagnosis, look: Look) -> Iterator[str]:
    """The rules that had not what they need, by what that is; on a screen only how many they are."""
    hostless = sum(outcome.reason == NO_HOST for outcome in diagnosis.outcomes)
    if hostless:
        yield f"{counted(hostless, 'rule')} skipped: {NO_HOST}"
    codes = defaultdict[str, list[str]](list)
    for outcome in diagnosis.outcomes:
        if outcome.status == "unknown":
            codes[outcome.reason].append(outcome.code)
    if not codes:
        return
    ordered = sorted(codes.items(), key=lambda item: -len(item[1]))
    rules = counted(sum(map(len, codes.values())), "rule")
    on_screen = look.height is not None and not look.verbose
    most = len(ordered) if look.verbose else _MOST_ON_A_SCREEN if on_screen else _MOST_REASONS
    yield f"{rules} skipped{'; -v shows all' if on_screen else ''}"
    for reason, some in ordered[:most]:
        few = some if look.verbose else some[:_MOST_CODES]
        more = f" and {len(some) - len(few)} more" if len(some) > len(few) else ""
        yield from look.wrapped(f"    {escaped(shortened(reason, 200))}: {' '.join(few)}{more}", "        ")
    if len(ordered) > most and not on_screen:
        rest = sum(len(some) for _, some in ordered[most:])
        yield f"    other reasons: {rest}; -v shows them"
