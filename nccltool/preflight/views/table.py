"""A preflight for people: the verdict, a line a stage, what failed, and the hosts that are not fit."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nccltool.core.findings import CheckStatus
from nccltool.core.host_lists import briefly
from nccltool.core.look import PLAIN, Look, Tone
from nccltool.core.notices import Notice, circumstances, shown, verdict_line
from nccltool.core.text import counted, escaped, named, shortened
from nccltool.core.units import format_seconds
from nccltool.preflight.result import STATUSES, CheckOutcome, HostVerdict, Preflight, worst
from nccltool.preflight.views import base
from nccltool.probe.headline import INTERRUPTED

_MOST_REASONS = 300
_MOST_HOSTS = 24
_MOST_HISTORIES = 3
_LONGEST_HOSTS = 30
_TONES: dict[str, Tone] = {"fail": "fail", "warn": "warn", "pass": "pass", "unknown": "warn", "missing": "fail"}
_SHORT: dict[CheckStatus, str] = {"fail": "failed", "pass": "passed", "unknown": "unknown", "skip": "skipped"}


def render(preflight: Preflight, look: Look = PLAIN) -> str:
    head = [*verdict_line(look, preflight.verdict.status, headline(preflight)), *_circumstances(preflight, look)]
    stages = _stages(preflight.outcomes, look).split("\n")
    hosts = list(_hosts(preflight.hosts, look))
    found = [_notice(some) for status in ("fail", "unknown", "warn") for some in _told(preflight.outcomes, status)]
    blanks = 2 if hosts else 1
    notices = shown(look, found, len(head) + len(stages) + len(hosts) + blanks + 1)
    return "\n\n".join("\n".join(block) for block in (head, stages, notices, hosts) if block) + "\n"


def _circumstances(preflight: Preflight, look: Look) -> list[str]:
    info = replace(preflight.info, duration_s=preflight.duration_s)
    lines = circumstances(look, info)
    if preflight.stopped_s:
        lost = format_seconds(preflight.stopped_s)
        lines.append(
            look.painted(f"nccltool itself was stopped for {lost} of it (Ctrl-Z, SIGSTOP, a pause)", "dim")
        )
    injected = (finding.message for finding in preflight.findings if finding.code == "fault-injected")
    return [*lines, *injected]


def headline(preflight: Preflight) -> str:
    """What failed, and what to do with which hosts."""
    hosts = briefly(preflight.info.hosts)
    several = hosts if len(hosts) <= _LONGEST_HOSTS else counted(len(preflight.hosts), "host")
    interrupted = _interrupted(preflight)
    failed = _codes(preflight, "fail", "failed")
    failed = failed or ("" if interrupted else _codes(preflight, "unknown", "could not be checked"))
    parts = [failed, *_suspects(preflight.hosts)] if failed else _suspects(preflight.hosts)
    if not parts:
        passed = sum(one.status == "pass" for one in preflight.outcomes)
        warned = _codes(preflight, "warn", "warns")
        parts = [f"{counted(passed, 'check')} passed", *([warned] if warned else [])]
    if preflight.would_exit is not None and preflight.would_exit != preflight.verdict.exit_code:
        parts.append(f"observed only: the exit code would have been {preflight.would_exit}")
    suite = "" if preflight.suite == "preflight" else f" {preflight.suite}"
    return f"{interrupted}preflight{suite}{several and f' on {several}'}: {'; '.join(parts)}"


def _interrupted(preflight: Preflight) -> str:
    """How much of it there is, where somebody ended it."""
    if INTERRUPTED not in (preflight.verdict.exit_code, preflight.would_exit):
        return ""
    results = [
        worst([one for one in preflight.outcomes if one.stage == name])
        for name in dict.fromkeys(one.stage for one in preflight.outcomes)
    ]
    wanted = [result for result in results if result != "skip"]
    return f"interrupted: {sum(result != 'unknown' for result in wanted)} of {counted(len(wanted), 'stage')}: "


def _codes(preflight: Preflight, status: CheckStatus, word: str) -> str:
    """Which checks ended so."""
    codes = dict.fromkeys(some[0].code for some in _told(preflight.outcomes, status))
    return f"{named(codes, 1)} {word}" if codes else ""


def _suspects(hosts: Sequence[HostVerdict]) -> list[str]:
    """What to do with the hosts: those to take out, those that never came, else those that are not cleared."""
    exclude = [one.host for one in hosts if one.exclude]
    missing = [one.host for one in hosts if one.status == "missing" and not one.exclude]
    told = [("exclude", exclude), ("missing", missing)]
    if not exclude and not missing:
        told.append(("undetermined", [one.host for one in hosts if one.status == "undetermined"]))
    return [f"{word} {briefly(some)}" for word, some in told if some]


def _stages(outcomes: Sequence[CheckOutcome], look: Look) -> str:
    names = dict.fromkeys(one.stage for one in outcomes)
    rows = [_stage(name, [one for one in outcomes if one.stage == name], look) for name in names]
    return look.table(("stage", "result", "checks"), rows, flexible=2)


def _stage(name: str, outcomes: Sequence[CheckOutcome], look: Look) -> tuple[str, str, str]:
    result = worst(outcomes)
    what = _counted(outcomes)
    if len(outcomes) == 1 and outcomes[0].code == name:  # the stage as a whole
        what = escaped(outcomes[0].reason)
    return name, look.painted(result, _TONES.get(result, "dim")), what


def _counted(outcomes: Sequence[CheckOutcome]) -> str:
    """The worst first; what need not be known counts as skipped."""
    counts = Counter("skip" if one.status == "unknown" and not one.required else one.status for one in outcomes)
    return ", ".join(
        counted(counts[status], "warning") if status == "warn" else f"{counts[status]} {_SHORT[status]}"
        for status in STATUSES
        if counts[status]
    )


def _told(outcomes: Sequence[CheckOutcome], status: str) -> list[list[CheckOutcome]]:
    """Those that failed; of those that could not be checked, the ones that matter. The table has the rest."""
    some = [one for one in outcomes if one.status == status and not one.check.is_stage]
    return _alike([one for one in some if one.required] if status == "unknown" else some)


def _alike(outcomes: Sequence[CheckOutcome]) -> list[list[CheckOutcome]]:
    """Those that differ in their host alone are told once."""
    groups: dict[CheckOutcome, list[CheckOutcome]] = {}
    for one in outcomes:
        groups.setdefault(replace(one, host=None, before=""), []).append(one)
    return list(groups.values())


def _notice(alike: Sequence[CheckOutcome]) -> Notice:
    one = alike[0]
    hosts = briefly(each.host for each in alike if each.host)
    where = f" on {hosts}" if hosts else ""
    return Notice(
        word=one.status.upper(),
        text=f"{one.code}{where}: {shortened(one.reason, _MOST_REASONS)}",
        evidence=(*base.evidence(one), *_before(alike)),
        remedy="; ".join(base.remedies(one)),
        explain=base.explained(one),
        more=tuple(base.more(one)),
    )


def _before(alike: Sequence[CheckOutcome]) -> Iterator[str]:
    """What the history says, of the first hosts."""
    for one in [one for one in alike if one.before][:_MOST_HISTORIES]:
        yield f"history{f' of {one.host}' if len(alike) > 1 else ''}: {one.before}"


def _hosts(hosts: Sequence[HostVerdict], look: Look) -> Iterator[str]:
    """Every host that is not fit, and how many are; of a single one the verdict has said it."""
    told = [one for one in hosts if one.status not in ("pass", "warn") or look.verbose]
    if len(hosts) < 2 or not told:
        return
    if look.height is not None and not look.verbose:
        yield from look.wrapped(f"hosts: {_by_status(hosts)}", "    ")
        return
    most = len(told) if look.verbose else _MOST_HOSTS
    rows = [
        (
            escaped(one.host),
            look.painted(one.status, _TONES.get(one.status, "warn")),
            "yes" if one.exclude else "",
            escaped(shortened(one.reason, 100)),
        )
        for one in told[:most]
    ]
    yield from look.table(("host", "result", "exclude", "why"), rows, flexible=3).split("\n")
    rest = Counter(one.status for one in hosts) - Counter(one.status for one in told[:most])
    if rest:
        yield f"and {', '.join(f'{count} {status}' for status, count in rest.items())}"


def _by_status(hosts: Sequence[HostVerdict]) -> str:
    """`1 fail (n2), 7 pass`: those that are not fit with their names."""
    names: dict[str, list[str]] = {}
    for one in sorted(hosts, key=lambda one: one.status in ("pass", "warn")):
        names.setdefault(one.status, []).append(one.host)
    return ", ".join(
        f"{len(some)} {status}"
        if status in ("pass", "warn")
        else f"{len(some)} {status} ({escaped(briefly(some))})"
        for status, some in names.items()
    )
