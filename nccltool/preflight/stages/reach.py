"""Whether every host reaches the others: where they meet, where ranks talk, with large packets, by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from nccltool.core.host_lists import fold
from nccltool.launch import events
from nccltool.launch.failed_pairs import blamed
from nccltool.launch.host_survey import ALL_TO_ALL, Survey
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import PAGE, Check, CheckOutcome
from nccltool.preflight.stages.base import StageContext, StageResult, skipped

NEEDS = ()
STARTS_RANKS = False
RENDEZVOUS, PORTS, PATH_MTU, NAMES = (
    Check(stage="reach", name=name, page=f"{PAGE}#reach{name}")
    for name in ("rendezvous", "ports", "path-mtu", "names")
)
_SECONDS = 1.0
"""Hosts that reach each other answer in milliseconds; 6 s where one does not."""
_HERE = "the nodes are processes on this host, so there is no network to test"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReachPart:
    """Who must reach whom."""

    names: Annotated[Literal["fail", "warn", "ignore"], toml.word(("fail", "warn", "ignore"))] = "warn"
    """What it is when a host does not know another one's name."""


PART = toml.PartForm(ReachPart)


def about_s(context: StageContext, part: ReachPart) -> float:
    return _SECONDS if context.where.launch.remote else 0.0


def plan(context: StageContext, part: ReachPart) -> tuple[str, ...]:
    if not context.where.launch.remote:
        return (_HERE,)
    count = len(context.hosts)
    whom = "every other host" if count <= ALL_TO_ALL else "the hosts 1, 2, 4, ... places after it"
    how = "rendezvous and data ports, 20 kB, by address and name"
    return (f"each of {count} hosts connects to {whom}: {how}",)


def run(context: StageContext, part: ReachPart) -> StageResult:
    if not context.where.launch.remote:
        return skipped("reach", _HERE)
    survey = context.survey()
    if survey.own_end:  # what the others could have told was not heard
        return skipped("reach", survey.own_end.message)
    if not survey.calls:
        return skipped("reach", "fewer than two hosts joined")
    return StageResult(outcomes=tuple(judged(survey, part)))


def judged(survey: Survey, part: ReachPart) -> Iterator[CheckOutcome]:
    """Whether each host reaches each port that it was told to, with large packets, and knows the others' names."""
    answers = {(one.node, one.goal, one.port): one for one in survey.reached}
    checks = (RENDEZVOUS, PORTS, PATH_MTU, NAMES)
    failed = {check: dict[tuple[str, str], str]() for check in checks}  # (caller, called) -> why
    asked = {check: set[str]() for check in checks}
    unheard = set[str]()
    for caller, goal in survey.calls:
        if caller in survey.lost:
            continue
        pair = (survey.hosts[caller], survey.hosts[goal.node])
        answer = answers.get((caller, goal.node, goal.port))
        port = RENDEZVOUS if goal.port == survey.nodes[goal.node].port else PORTS
        for check in (port, PATH_MTU, NAMES):
            asked[check].update(pair)
        if answer is None and survey.cut_short:
            unheard.update(pair)
        elif failure := _failure(answer, survey.nodes[goal.node].host, port):
            failed[failure[0]][pair] = failure[1]
    for check, pairs in failed.items():
        if check == NAMES and part.names == "ignore":
            continue
        for outcome in _of_pairs(check, pairs, sorted(asked[check]), part):
            open_ = outcome.status == "pass" and outcome.host in unheard
            yield replace(outcome, status="unknown", reason=survey.cut_short) if open_ else outcome


def _failure(answer: events.Reached | None, name: str, port: Check) -> tuple[Check, str] | None:
    """(check that fails, why); None = it got through."""
    if answer is None:
        return port, "no answer in time"
    if not answer.addresses:
        lost = answer.large_packets_lost
        return (PATH_MTU, lost) if lost else (port, "; ".join(answer.failures[:2]))
    by_name = next((failure for failure in answer.failures if failure.startswith(f"{name}: ")), "")
    return (NAMES, by_name) if by_name else None


def _of_pairs(
    check: Check, pairs: Mapping[tuple[str, str], str], hosts: Sequence[str], part: ReachPart
) -> Iterator[CheckOutcome]:
    warn = check == NAMES and part.names == "warn"
    culprits, rest = blamed(pairs)
    for host in hosts:
        mine = [pair for pair in pairs if host in pair]
        if host not in culprits and not any(host in pair for pair in rest):
            yield CheckOutcome(check=check, host=host, status="pass")
            continue
        others = fold(name for pair in mine for name in pair if name != host)
        yield CheckOutcome(
            check=check,
            host=host,
            status="warn" if warn else "fail",
            reason=f"between {host} and {others}: {pairs[mine[0]]}",
            page=check.page,
            shown="confirmed" if host in culprits else "suspected",
            hosts=tuple(sorted({name for pair in mine for name in pair})),
        )
