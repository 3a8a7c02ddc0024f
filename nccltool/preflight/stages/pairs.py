"""Pairs of nodes, measured at the same time in one run, which names the node, rail, or link that is slow."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from nccltool.core.findings import Finding
from nccltool.launch import start_costs
from nccltool.launch.finding_kinds import DEADLINE
from nccltool.localize import accusations, coverage
from nccltool.localize.accusations import SURE
from nccltool.localize.finding_kinds import GROUP_SLOW, LINK_SLOW, NODE_ABSENT, NODE_SLOW, RAIL_SLOW
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.result import Suspect
from nccltool.preflight import stage_run
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.stages.base import StageContext, StageResult, skipped

NEEDS = ("inventory", "doctor", "reach", "within")
STARTS_RANKS = True
LEAST_NODES = 3
"""Of two nodes that are slow together, neither can be accused."""
_ROUND_S = 2.0
"""To meet, to connect, and to measure, on healthy nodes."""
_ACCUSED = (NODE_SLOW, NODE_ABSENT, RAIL_SLOW, LINK_SLOW, GROUP_SLOW)
_EMULATED = "the nodes are processes on this host, so there is no network to test"
_TOO_FEW = f"it takes {LEAST_NODES} hosts to tell which of them is slow"


@dataclass(frozen=True, kw_only=True, slots=True)
class PairsPart:
    """How many rounds are measured, and for how long at most."""

    rounds: Annotated[int, toml.whole(1, 1000)] = 8
    budget: Annotated[float, toml.duration] = 120.0
    """Seconds for all rounds: one slow host makes each of its pairs slow."""

    @property
    def command(self) -> tuple[str, ...]:
        return ("pairs", "--rounds", str(self.rounds))


PART = toml.PartForm(PairsPart)


def about_s(context: StageContext, part: PairsPart) -> float:
    if _why_not(context):
        return 0.0
    return min(start_costs.start_s(context.started()) + _ROUND_S * part.rounds, part.budget)


def plan(context: StageContext, part: PairsPart) -> tuple[str, ...]:
    return (_why_not(context) or context.call("pairs", part.command).line,)


def run(context: StageContext, part: PairsPart) -> StageResult:
    if why := _why_not(context):
        return skipped("pairs", why)
    nodes = context.nodes_left()
    if len(nodes) < LEAST_NODES:
        return skipped("pairs", f"fewer than {LEAST_NODES} hosts are left")
    call = context.call("pairs", part.command, nodes)
    (ran,) = context.start("pairs", [replace(call, end=min(call.end, time.monotonic() + part.budget))])
    folders = (ran.folder,) if ran.folder else ()
    return StageResult(outcomes=tuple(of_pairs(ran)), runs=folders, run=None)


def _why_not(context: StageContext) -> str:
    if len(context.hosts_once) < len(context.hosts):
        return _EMULATED
    return _TOO_FEW if len(context.hosts) < LEAST_NODES else ""


def of_pairs(ran: StageRun) -> Iterator[CheckOutcome]:
    """Whether the rounds completed, and who is slow. A budget that is spent is no failure of a host."""
    for outcome in stage_run.completion(ran):
        spent = any(finding.kind is DEADLINE for finding in outcome.findings)
        yield replace(outcome, status="unknown", shown="", findings=()) if spent else outcome
    if not isinstance(ran.run, LocalizedRun):
        return
    yield from (_accused(ran, ran.run, suspect) for suspect in ran.run.localization.suspects)
    if not ran.run.localization.suspects and ran.run.verdict.status in ("pass", "warn"):
        yield ran.outcome(Check(stage="pairs", name="speed"), "pass", reason=coverage.unseen_text(ran.run))
    yield from (one for one in stage_run.others(ran) if not any(f.kind in _ACCUSED for f in one.findings))


def _accused(ran: StageRun, run: LocalizedRun, suspect: Suspect) -> CheckOutcome:
    """A host that was slow with several others is at fault itself; a link or a group is the fault of no host."""
    alone = replace(run.localization, suspects=(suspect,), undetermined=(), next_tests=())
    finding: Finding = accusations.findings_of(alone, ())[0]
    check = Check(stage="pairs", name=finding.code)
    is_of_host = bool(accusations.excluded(alone))
    host = ran.names.get(suspect.subject[0], suspect.subject[0])
    if is_of_host and host in ran.hosts:
        return ran.of_finding(check, finding, host=host, shown="confirmed")
    if suspect.confidence >= SURE:
        return ran.of_finding(check, finding, shown="suspected")
    return replace(ran.of_finding(check, finding, shown="suspected"), status="warn")
