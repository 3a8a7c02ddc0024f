"""JUDGE what was kept: who failed again and again, whose state flaps, which levels changed, since when. Pure."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from nccltool.history import change_point
from nccltool.history.queries import Line, SeenVersions, StoredRun, StoredTrouble, StoredValue, StoredVisit
from nccltool.history.records import VisitStatus
from nccltool.history.result import Drift, HostRecord, RepeatOffence, VersionChange

RECENT = 21
"""Runs on a host that are looked at for flapping."""
FLAPS = 4
"""So many switches in them are flapping: a fifth, as monitoring systems have it; good, bad, good, bad, good."""
_GOOD: tuple[VisitStatus, ...] = ("pass", "warn")
_BAD: tuple[VisitStatus, ...] = ("fail", "missing")
_VERSIONS: Mapping[str, Callable[[SeenVersions], str]] = {
    "driver": lambda seen: seen.driver,
    "backend": lambda seen: seen.run.backend,
    "torch": lambda seen: seen.run.torch,
    "nccltool": lambda seen: seen.run.nccltool,
    "GPU": lambda seen: seen.run.gpu,
    "NICs": lambda seen: seen.run.nics,
}


def when(at: int) -> str:
    """The time of a key, as documents have it."""
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def host_record(host: str, visits: Sequence[StoredVisit]) -> HostRecord:
    """How a host was in its runs, of which there is one at least."""
    recent = [one.status for one in visits[-RECENT:]]
    clear = [status in _BAD for status in recent if status in (*_GOOD, *_BAD)]
    switches = sum(one != other for one, other in pairwise(clear))
    return HostRecord(
        host=host,
        runs=len(visits),
        passed=sum(one.status in _GOOD for one in visits),
        failed=sum(one.status in _BAD for one in visits),
        first=when(visits[0].at),
        last=when(visits[-1].at),
        status=visits[-1].status,
        recent=tuple(recent),
        switches=switches,
        is_flapping=switches >= FLAPS,
    )


def offence(
    troubles: Sequence[StoredTrouble],
    visits: Sequence[StoredVisit],
    runs: Mapping[int, StoredRun],
    first: int,
    seen: Sequence[SeenVersions],
) -> RepeatOffence:
    """How often a check did not pass on a host. `visits`: runs on it, or all runs; `first`: when it was seen for
    the first time; `seen`: by then and before, the newest first."""
    kinds = {runs[one.at].kind for one in troubles}
    tried = [one for one in visits if one.at >= troubles[0].at and runs[one.at].kind in kinds]
    last = troubles[-1]
    return RepeatOffence(
        host=last.host,
        check=last.check,
        times=len(troubles),
        runs=max(len(tried), len(troubles)),
        alone=sum(one.hosts == 1 < runs[one.at].hosts for one in troubles) if last.host else 0,
        proven=sum(one.proven for one in troubles),
        first=when(first),
        last=when(last.at),
        is_current=not tried or tried[-1].at <= last.at,
        reason=last.reason,
        since=version_changes(seen[1:], seen[:1]),
    )


def version_changes(before: Sequence[SeenVersions], after: Sequence[SeenVersions]) -> tuple[VersionChange, ...]:
    """What is different; of each side the first that is known. What is known of one side only did not change."""
    found = []
    for what, of in _VERSIONS.items():
        old, new = (next(filter(None, map(of, side)), "") for side in (before, after))
        if old and new and old != new:
            found.append(VersionChange(what=what, before=old, after=new))
    return tuple(found)


def drifts(
    values: Mapping[Line, Sequence[StoredValue]],
    visits: Mapping[str, Sequence[StoredVisit]],
    runs: Mapping[int, StoredRun],
) -> tuple[Drift, ...]:
    """The levels that changed, the newest first. With many series, each has to be clearer."""
    chance = change_point.CHANCE / max(len(values), 1)
    every = [StoredVisit(at, "unknown", "") for at in runs]
    found = []
    for line, series in values.items():
        numbers = [one.value for one in series]
        if change_point.may_have_changed(numbers):
            mine = visits.get(line[0], ()) if line[0] else every
            found += [
                _drift(line, series, one, mine, runs, len(values)) for one in change_point.changes(numbers, chance)
            ]
    return tuple(sorted(found, key=lambda one: (one.at, abs(one.ratio - 1)), reverse=True))


def _drift(
    line: Line,
    values: Sequence[StoredValue],
    change: change_point.ChangePoint,
    visits: Sequence[StoredVisit],
    runs: Mapping[int, StoredRun],
    looked_at: int,
) -> Drift:
    host, series = line
    # from the last run that is surely before it to the first that is surely after
    begin, end = values[max(change.earliest - 1, 0)].at, values[change.latest].at
    inside = [SeenVersions(one.driver, runs[one.at].versions) for one in visits if begin <= one.at <= end]
    return Drift(
        host=host,
        series=series,
        at=when(values[change.at].at),
        earliest=when(values[change.earliest].at),
        latest=when(values[change.latest].at),
        before=change.before,
        after=change.after,
        ratio=change.ratio,
        ratio_low=change.ratio_low,
        ratio_high=change.ratio_high,
        chance=min(change.chance * looked_at, 1.0),
        values=len(values),
        is_worse=(change.ratio < 1) == (series.unit != "s"),
        since=version_changes(inside, inside[::-1]),
    )
