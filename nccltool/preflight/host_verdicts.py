"""JUDGE the outcomes of a suite: which hosts are fit, which are safe to take out, and the one word. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from nccltool.core import verdicts
from nccltool.core.host_lists import fold
from nccltool.core.text import named
from nccltool.core.verdicts import Verdict
from nccltool.preflight.result import CheckOutcome, HostStatus, HostVerdict

_BY_IT_ALONE = ("alone", "confirmed")
_NAMED = 3
"""Checks that a reason names."""
_NOT_COMPLETE = ("completion", "presence")
"""Checks that fail when something did not come or did not end in order: exit 3."""


def of_hosts(outcomes: Sequence[CheckOutcome], hosts: Iterable[str]) -> tuple[HostVerdict, ...]:
    """What came of it for each host, in their order."""
    by_host: dict[str, list[CheckOutcome]] = {host: [] for host in hosts}
    for outcome in outcomes:
        for host in {outcome.host, *outcome.hosts} & by_host.keys():
            by_host[str(host)].append(outcome)
    untested = list(dict.fromkeys(one.stage for one in outcomes if one.status == "skip" and one.check.is_stage))
    return tuple(_of_host(host, mine, untested) for host, mine in by_host.items())


def _of_host(host: str, outcomes: Sequence[CheckOutcome], untested: Sequence[str]) -> HostVerdict:
    exclude = any(one.status == "fail" and one.host == host and one.shown in _BY_IT_ALONE for one in outcomes)
    status, reason = _judged(host, outcomes)
    if not reason and untested:
        reason = f"not tested: {', '.join(untested)}"
    return HostVerdict(host=host, status=status, reason=reason, exclude=exclude)


def _judged(host: str, outcomes: Sequence[CheckOutcome]) -> tuple[HostStatus, str]:
    """(status, why)."""
    failed = [one for one in outcomes if one.status == "fail"]
    own = [one for one in failed if one.host == host]
    if missing := [one for one in own if one.check.kind == "presence"]:
        return "missing", missing[0].reason
    if shown := [one for one in own if one.shown in (*_BY_IT_ALONE, "everywhere")]:
        return "fail", _named(shown)
    if open_ := [one for one in failed if one.host in (None, host) or _could_be_its_fault(one)]:
        return "undetermined", _open(host, open_)
    if unknown := [one for one in outcomes if one.status == "unknown" and one.required]:
        return "unknown", _named(unknown)
    if not any(one.status in ("pass", "warn") for one in outcomes):
        return "unknown", "nothing was judged"
    warned = [one for one in outcomes if one.status == "warn" and one.host in (None, host)]
    return "warn" if warned else "pass", _named(warned)


def _could_be_its_fault(outcome: CheckOutcome) -> bool:
    """Wrong data is named where it arrives; who sent it took part. A rank that died or was late did so itself."""
    return outcome.check.kind == "data" and outcome.shown == "suspected"


def _named(outcomes: Sequence[CheckOutcome]) -> str:
    return named(dict.fromkeys(one.code for one in outcomes), _NAMED)


def _open(host: str, outcomes: Sequence[CheckOutcome]) -> str:
    others = {name for one in outcomes for name in one.hosts if name != host}
    named = any(one.host == host for one in outcomes)
    what = f"{_named(outcomes)} {'names it' if named else 'failed with it'}"
    return (
        f"{what}, and it was not tested without {fold(others)}" if others else f"{what}, and it is not shown why"
    )


def verdict(outcomes: Sequence[CheckOutcome], interrupted: bool) -> Verdict:
    """The one word and the exit code."""
    failed = [one for one in outcomes if one.status == "fail"]
    judged = any(one.status in ("pass", "warn") for one in outcomes)
    return verdicts.verdict(
        interrupted=interrupted,
        incomplete=any(one.check.kind in _NOT_COMPLETE for one in failed),
        failed=bool(failed),
        can_tell=judged and not any(one.status == "unknown" and one.required for one in outcomes),
        warned=any(one.status == "warn" for one in outcomes),
    )


LISTS: Mapping[str, tuple[str, ...]] = {
    "hosts.pass": ("pass", "warn"),
    "hosts.fail": ("fail",),
    "hosts.missing": ("missing",),
    "hosts.undetermined": ("undetermined",),
    "hosts.unknown": ("unknown",),
}
"""File -> the hosts that are in it, by their status."""
EXCLUDE = "nodes.exclude"


def lists(hosts: Sequence[HostVerdict]) -> dict[str, str]:
    """The text of each file, one host a line."""
    texts = {
        name: "".join(f"{one.host}\n" for one in hosts if one.status in statuses)
        for name, statuses in LISTS.items()
    }
    return texts | {EXCLUDE: "".join(f"{one.host}\n" for one in hosts if one.exclude)}
