"""The hosts of a preflight: who is fit, and what each check said, by host."""

from collections import Counter
from collections.abc import Iterator, Sequence

from nccltool.core.findings import CheckStatus
from nccltool.core.host_lists import briefly
from nccltool.core.text import counted
from nccltool.preflight.result import STATUSES, CheckOutcome, HostVerdict, Preflight, worst
from nccltool.preflight.views import base as outcomes
from nccltool.report.material import Material
from nccltool.report.parts import FoldPart, KeyFigure, Part, ReportSection, TablePart, Tone
from nccltool.report.sections import base

_MOST = 200
"""Hosts with a fold of their own; the others are in the table."""
_FEW = 8
"""Hosts of which all checks are shown; of more, those that did not pass."""
_TONES: dict[str, Tone] = {"fail": "fail", "warn": "warn", "pass": "pass", "missing": "fail"}
_FINE: tuple[CheckStatus, ...] = ("pass", "skip")
_HEADERS = ("check", "result", "measured", "expected", "why")


def of(material: Material) -> ReportSection | None:
    run = material.newest
    if not isinstance(run, Preflight):
        return None
    excluded = [one.host for one in run.hosts if one.exclude]
    return ReportSection(
        id="hosts",
        title="Hosts and checks",
        headline=_headline(run, excluded),
        figure=KeyFigure(value=str(len(excluded)), label="to exclude"),
        parts=(_stages(run), *_hosts(run.hosts), *_folds(run)),
    )


def _headline(run: Preflight, excluded: Sequence[str]) -> str:
    counts = Counter(one.status for one in run.hosts)
    said = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    out = f"; exclude {briefly(excluded)}" if excluded else "; no host is shown to be at fault"
    return f"{counted(len(run.hosts), 'host')}: {said or 'none'}{out}."


def _stages(run: Preflight) -> TablePart:
    times = {one.stage: one.duration_s for one in run.stage_times}
    rows = []
    for stage in dict.fromkeys(one.stage for one in run.outcomes):
        some = [one for one in run.outcomes if one.stage == stage]
        counts = Counter(one.status for one in some)
        said = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
        rows.append((stage, worst(some), said, base.seconds(times.get(stage))))
    return base.table("Stages", ("stage", "result", "checks", "time"), rows, 3)


def _hosts(hosts: Sequence[HostVerdict]) -> Iterator[TablePart]:
    if hosts:
        ordered = sorted(hosts, key=lambda one: (not one.exclude, one.status in ("pass", "warn"), one.host))
        rows = [(one.host, one.status, "yes" if one.exclude else "", one.reason) for one in ordered]
        yield base.table("Hosts", ("host", "result", "exclude", "why"), rows)


def _folds(run: Preflight) -> Iterator[Part]:
    """What the checks said: of all hosts together, then of each host, those with trouble first."""
    by_host: dict[str, list[CheckOutcome]] = {}
    for one in run.outcomes:
        by_host.setdefault(one.host or "", []).append(one)
    together = by_host.pop("", [])
    if together:
        yield _fold("all hosts together", together, True)
    ordered = sorted(by_host, key=lambda host: (STATUSES.index(worst(by_host[host])), host))
    is_whole = len(by_host) <= _FEW
    for host in ordered[:_MOST]:
        if is_whole or worst(by_host[host]) not in _FINE:
            yield _fold(host, by_host[host], is_whole)


def _fold(name: str, some: Sequence[CheckOutcome], is_whole: bool) -> FoldPart:
    status: CheckStatus = worst(some)
    rows = [
        _row(one)
        for one in sorted(some, key=lambda one: STATUSES.index(one.status))
        if is_whole or one.status not in _FINE
    ]
    said = Counter(one.status for one in some)
    counts = ", ".join(f"{said[one]} {one}" for one in STATUSES if said[one])
    return FoldPart(
        summary=f"{name}: {counts}",
        tone=_TONES.get(status, "unknown"),
        parts=(base.table("", _HEADERS, rows, 2),),
    )


def _row(one: CheckOutcome) -> tuple[str, ...]:
    why = "; ".join(filter(None, (one.reason, one.before and f"history: {one.before}")))
    return one.code, one.status, outcomes.number(one), one.expected, why
