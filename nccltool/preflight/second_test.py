"""Whose fault a failure is shown to be: a second test with another partner, what all hosts have alike. Pure."""

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import replace

from nccltool.core.host_lists import fold
from nccltool.preflight.result import Blame, Check, CheckOutcome


def again(
    outcomes: Sequence[CheckOutcome],
    suspect: str,
    with_partner: Sequence[CheckOutcome],
    without: Sequence[CheckOutcome],
) -> tuple[CheckOutcome, ...]:
    """The outcomes after a second test of a suspect with one other partner, and one of the others without it."""
    partner = fold(name for one in with_partner for name in one.hosts if name != suspect)
    others = fold(name for one in without for name in one.hosts)
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
        said = f"so it was again with {partner} alone, but the test of {others} without it says nothing of it"
    elif seen and not still:
        shown = "confirmed"
        said = f"so it was again with {partner} alone, and not among {others} without it"
    elif seen:
        shown, said = "suspected", f"so it was with {partner} alone, but among {others} without it too"
    else:
        shown, said = "suspected", f"it was not so again with {partner} alone"
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
