"""JUDGE outcomes: whose fault a failure is shown to be, which hosts are fit, and the one word. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from nccltool.core import verdicts
from nccltool.core.host_lists import briefly
from nccltool.core.text import named
from nccltool.core.verdicts import Verdict
from nccltool.preflight.result import Blame, Check, CheckOutcome, HostStatus, HostVerdict

_BY_IT_ALONE = ("alone", "confirmed")
_NAMED = 3
"""Checks that a reason names."""
_OTHERS_NAMED = 64
"""Hosts that took part in a run; more are only counted."""
_NOT_COMPLETE = ("completion", "presence")
"""Checks that fail when something did not come or did not end in order: exit 3."""


def again(
    outcomes: Sequence[CheckOutcome],
    suspect: str,
    with_partner: Sequence[CheckOutcome],
    without: Sequence[CheckOutcome],
) -> tuple[CheckOutcome, ...]:
    """The outcomes after a second test of a suspect with one other partner, and one of the others without it."""
    partner = briefly(name for one in with_partner for name in one.hosts if name != suspect)
    others = briefly(name for one in without for name in one.hosts)
    seen = {one.check for one in with_partner if one.status == "fail" and one.host == suspect}
    return tuple(
        _told_again(one, one.check in seen, _fails_without(one.check, without), partner, others)
        if one.host == suspect and one.status == "fail" and one.shown == "suspected"
        else one
        for one in outcomes
    )


def _fails_without(check: Check, without: Sequence[CheckOutcome]) -> bool | None:
    """Whether the others fail too; None = their test says nothing of it, be it that it did not complete."""
    statuses = {one.status for one in without if one.check == check}
    if "fail" in statuses:
        return True
    completed = any(one.check.kind == "completion" and one.status == "pass" for one in without)
    return False if (statuses or completed) and statuses <= {"pass", "warn"} else None


def _told_again(outcome: CheckOutcome, seen: bool, still: bool | None, partner: str, others: str) -> CheckOutcome:
    if seen and still is None:
        shown: Blame = "suspected"
        said = f"reproduced with {partner} alone; the test of {others} without it is inconclusive"
    elif seen and not still:
        shown = "confirmed"
        said = f"reproduced with {partner} alone, but not among {others} without it"
    elif seen:
        shown, said = "suspected", f"reproduced with {partner} alone, but also among {others} without it"
    else:
        shown, said = "suspected", f"not reproduced with {partner} alone"
    # where the others did without it what they failed to do with it, they are cleared
    hosts = () if still is False else outcome.hosts
    return replace(outcome, shown=shown, hosts=hosts, reason=f"{outcome.reason}; {said}")


def shared(outcomes: Sequence[CheckOutcome], hosts: Set[str]) -> tuple[CheckOutcome, ...]:
    """The outcomes of runs; what fails on every host alike is not shown to be the fault of each."""
    failing = defaultdict[Check, set[str | None]](set)
    for one in outcomes:
        if one.status == "fail" and one.shown == "alone":
            failing[one.check].add(one.host)

    def common(one: CheckOutcome) -> bool:
        ordered = any(finding.kind.may_be_the_order for finding in one.findings)
        return one.shown == "alone" and failing[one.check] >= hosts and (len(hosts) > 1 or ordered)

    return tuple(replace(one, shown="everywhere") if common(one) else one for one in outcomes)


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
        return "unknown", "nothing was checked"
    warned = [one for one in outcomes if one.status == "warn" and one.host in (None, host)]
    return "warn" if warned else "pass", _named(warned)


def _could_be_its_fault(outcome: CheckOutcome) -> bool:
    """Wrong data is named where it arrives; who sent it took part. A rank that died or was late did so itself."""
    return outcome.check.kind == "data" and outcome.shown == "suspected"


def _named(outcomes: Sequence[CheckOutcome]) -> str:
    return named(dict.fromkeys(one.code for one in outcomes), _NAMED)


def _open(host: str, outcomes: Sequence[CheckOutcome]) -> str:
    named = any(one.host == host for one in outcomes)
    what = f"{_named(outcomes)} {'names it' if named else 'failed with it'}"
    others = _others(host, outcomes)
    return f"{what}; not tested without {others}" if others else f"{what}; the cause is unknown"


def _others(host: str, outcomes: Sequence[CheckOutcome]) -> str:
    """Who took part with a host. Said of each host, the names of all would be as many as their count squared."""
    most = max((len(one.hosts) for one in outcomes), default=0)
    if most > _OTHERS_NAMED:
        return f"the {most - 1} others"
    return briefly({name for one in outcomes for name in one.hosts if name != host})


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


_FILES = ("hosts.pass", "hosts.fail", "hosts.missing", "hosts.undetermined", "hosts.unknown", "nodes.exclude")


def lists(hosts: Sequence[HostVerdict]) -> dict[str, str]:
    """The text of each file, one host a line."""
    texts = dict.fromkeys(_FILES, "")
    for one in hosts:
        texts["hosts.pass" if one.status == "warn" else f"hosts.{one.status}"] += f"{one.host}\n"
        if one.exclude:
            texts["nodes.exclude"] += f"{one.host}\n"
    return texts
