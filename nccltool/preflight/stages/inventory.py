"""Which hosts come when they are called, and what they have."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from nccltool import __version__
from nccltool.core.findings import CheckStatus
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts
from nccltool.launch.finding_kinds import HOST_UNKNOWN
from nccltool.launch.host_survey import Survey
from nccltool.preflight.check import PAGE, Check
from nccltool.preflight.result import Blame, CheckOutcome
from nccltool.preflight.stages.base import StageContext, StageResult
from nccltool.preflight.suite import InventoryPart

NEEDS = ()
PRESENT = Check(stage="inventory", name="present", kind="presence")
RELEASE = Check(stage="inventory", name="nccltool", page="docs/findings.md#version-mismatch")
GPUS = Check(stage="inventory", name="gpus", page=f"{PAGE}#inventorygpus")
RANKS = Check(stage="inventory", name="ranks")
_HERE_S, _REMOTE_S = 0.5, 3.0
"""A snapshot of this host took 0.1 to 0.4 s here; a login by ssh and Python's start take a second or two."""


def about_s(context: StageContext) -> float:
    """How long it takes."""
    return _REMOTE_S if context.where.launch.remote else _HERE_S


def plan(context: StageContext) -> tuple[str, ...]:
    """What it would do."""
    how = f"by {context.where.launch.launcher}" if context.where.launch.remote else "here"
    return (f"look at {', '.join(dict.fromkeys(context.hosts.values()))} {how}: who comes, how many GPUs",)


def run(context: StageContext) -> StageResult:
    """Look, and judge."""
    part = context.suite.inventory
    assert part is not None
    survey = context.survey()
    return StageResult(outcomes=tuple(dict.fromkeys(judged(survey, part, context.nproc))))


def judged(survey: Survey, part: InventoryPart, nproc: int | None) -> Iterator[CheckOutcome]:
    """Which hosts there are, and whether they have the GPUs that they should."""
    came = [node for node in survey.hosts if node not in survey.lost and node not in survey.unseen]
    for node, host in survey.hosts.items():
        finding = survey.lost.get(node)
        if finding is None and node in survey.unseen:
            why = survey.unseen[node]
            yield CheckOutcome(check=PRESENT, host=host, status="unknown", reason=why)
            continue
        if finding is None:
            yield CheckOutcome(check=PRESENT, host=host, status="pass")
            continue
        yield CheckOutcome(
            check=PRESENT,
            host=host,
            status="fail",
            reason=finding.message,
            page=finding.page,
            findings=(finding,),
            shown="alone" if came and finding.kind is not HOST_UNKNOWN else "suspected",
        )
    yield from _releases(survey, came)
    facts = {survey.hosts[node]: survey.snapshots[node] for node in came if node in survey.snapshots}
    yield from _gpus(facts, part, nproc)
    yield _ranks(survey, nproc)


def _ranks(survey: Survey, nproc: int | None) -> CheckOutcome:
    """How many ranks the job has; where hosts differ in their GPUs, that check says so."""
    return CheckOutcome(
        check=RANKS,
        host=None,
        status="unknown" if nproc is None else "pass",
        measured=None if nproc is None else float(len(survey.hosts) * nproc),
        unit="ranks",
        reason="hosts do not have equally many GPUs; --nproc-per-node says how many ranks"
        if nproc is None
        else "",
        hosts=tuple(dict.fromkeys(survey.hosts.values())),
        required=False,
    )


def _releases(survey: Survey, came: Sequence[int]) -> Iterator[CheckOutcome]:
    """Nodes of another release of nccltool would be turned away when they meet."""
    for node in came:
        there = survey.nodes[node].nccltool if node in survey.nodes else __version__
        same = there == __version__
        yield CheckOutcome(
            check=RELEASE,
            host=survey.hosts[node],
            status="pass" if same else "fail",
            reason="" if same else f"it has nccltool {there}, and this is {__version__}",
            page="" if same else RELEASE.page,
            shown="" if same else "alone" if len(came) > 1 else "everywhere",
        )


def _gpus(facts: Mapping[str, HostFacts], part: InventoryPart, nproc: int | None) -> Iterator[CheckOutcome]:
    counts = {host: one.nvidia.visible_gpus for host, one in facts.items()}
    known = Counter(count for count in counts.values() if isinstance(count, int))
    ranked = known.most_common(2)
    norm = ranked[0][0] if len(ranked) == 1 or (ranked and ranked[0][1] > ranked[1][1]) else None
    wanted = part.gpus if part.gpus is not None else norm
    source = "the suite" if part.gpus is not None else f"what most of the {len(counts)} hosts have"
    for host, count in counts.items():
        yield _gpus_of(host, count, wanted, source, nproc, len(counts) > 1 or part.gpus is not None)


def _gpus_of(
    host: str, count: int | Unknown, wanted: int | None, source: str, nproc: int | None, expected: bool
) -> CheckOutcome:
    def outcome(status: CheckStatus, reason: str = "", shown: Blame = "") -> CheckOutcome:
        return CheckOutcome(
            check=GPUS,
            host=host,
            status=status,
            measured=float(count) if isinstance(count, int) else None,
            unit="GPUs",
            expected=f"{wanted} GPUs" if wanted is not None and expected else "",
            source=source if wanted is not None and expected else "",
            reason=reason,
            page=GPUS.page if status != "pass" else "",
            shown=shown,
        )

    if isinstance(count, Unknown):
        return outcome("unknown", count.reason)
    if wanted is None:
        return outcome(
            "fail", f"{count} GPUs, and the hosts do not agree on how many there should be", "suspected"
        )
    if count != wanted:
        return outcome("fail", f"{count} GPUs are seen, and there should be {wanted}", "alone")
    if nproc is not None and 0 < count < nproc:
        return outcome("fail", f"{nproc} ranks are to run on {count} GPUs", "everywhere")
    return outcome("pass")
