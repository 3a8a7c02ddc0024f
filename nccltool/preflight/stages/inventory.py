"""Which hosts come when they are called, and what they have."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from nccltool import __version__
from nccltool.core.findings import CheckStatus
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts, or_none
from nccltool.launch import gpu_shares, start_costs
from nccltool.launch.finding_kinds import HOST_UNKNOWN
from nccltool.launch.host_survey import Survey
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import PAGE, Blame, Check, CheckOutcome, of_finding
from nccltool.preflight.stages.base import StageContext, StageResult

NEEDS = ()
STARTS_RANKS = False
PRESENT = Check(stage="inventory", name="present", kind="presence")
RELEASE = Check(stage="inventory", name="nccltool", page="docs/findings-hosts.md#version-mismatch")
GPUS = Check(stage="inventory", name="gpus", page=f"{PAGE}#inventorygpus")
RANKS = Check(stage="inventory", name="ranks", page=f"{PAGE}#inventoryranks")
_SNAPSHOT_S = 0.5
"""A snapshot of this host took 0.1 to 0.4 s here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InventoryPart:
    """Which hosts and GPUs there must be."""

    gpus: Annotated[int | None, toml.whole(0, 64)] = None
    """On each host; None = as many as most hosts have."""


PART = toml.PartForm(InventoryPart)


def about_s(context: StageContext, part: InventoryPart) -> float:
    logins = start_costs.logins_s(len(context.hosts_once)) if context.where.launch.remote else 0.0
    return logins + _SNAPSHOT_S


def plan(context: StageContext, part: InventoryPart) -> tuple[str, ...]:
    how = f"through {context.where.launch.launcher}" if context.where.launch.remote else "locally"
    return (f"inspect {', '.join(dict.fromkeys(context.hosts.values()))} {how}: hosts that join, GPUs",)


def run(context: StageContext, part: InventoryPart) -> StageResult:
    survey = context.survey()  # without it the number of ranks may not be known
    return StageResult(outcomes=tuple(dict.fromkeys(judged(survey, part, context.nproc, context.backend))))


def judged(
    survey: Survey, part: InventoryPart, nproc: int | None, backend: str = "auto"
) -> Iterator[CheckOutcome]:
    """Which hosts there are, and whether they have the GPUs that they should."""
    came = [node for node in survey.hosts if node not in survey.lost and node not in survey.unseen]
    if own := survey.own_end:
        yield of_finding(
            PRESENT, own, host=None, shown="suspected", hosts=tuple(dict.fromkeys(survey.hosts.values()))
        )
    for node, host in survey.hosts.items():
        if survey.own_end and node in survey.lost:
            yield CheckOutcome(check=PRESENT, host=host, status="unknown", reason=survey.own_end.message)
        elif finding := survey.lost.get(node):
            shown: Blame = "alone" if came and finding.kind is not HOST_UNKNOWN else "suspected"
            yield of_finding(PRESENT, finding, host=host, shown=shown)
        elif node in survey.unseen:
            yield CheckOutcome(check=PRESENT, host=host, status="unknown", reason=survey.unseen[node])
        else:
            yield CheckOutcome(check=PRESENT, host=host, status="pass")
    yield from _releases(survey, came)
    facts = {survey.hosts[node]: survey.snapshots[node] for node in came if node in survey.snapshots}
    nodes = Counter(survey.hosts.values())
    ranks = {host: nodes[host] * nproc for host in facts} if nproc and backend != "gloo" else {}
    if backend != "gloo" or part.gpus is not None:  # Gloo needs none
        yield from _gpus(facts, part, ranks, backend)
    yield _ranks(survey, nproc)


def _ranks(survey: Survey, nproc: int | None) -> CheckOutcome:
    """How many ranks the job has; where hosts differ in their GPUs, that check says so."""
    differ = "hosts have different numbers of GPUs; set the number of ranks with --nproc-per-node"
    return CheckOutcome(
        check=RANKS,
        host=None,
        status="unknown" if nproc is None else "pass",
        measured=None if nproc is None else float(len(survey.hosts) * nproc),
        unit="ranks",
        reason=differ if nproc is None else "",
        hosts=tuple(dict.fromkeys(survey.hosts.values())),
        required=False,
    )


def _releases(survey: Survey, came: Sequence[int]) -> Iterator[CheckOutcome]:
    """Nodes of another release of nccltool would be turned away when they meet."""
    for node in came:
        there = survey.nodes[node].nccltool if node in survey.nodes else __version__
        passed = CheckOutcome(check=RELEASE, host=survey.hosts[node], status="pass")
        reason = f"it has nccltool {there}, but this host has {__version__}"
        shown: Blame = "alone" if len(came) > 1 else "everywhere"
        failed = replace(passed, status="fail", reason=reason, page=RELEASE.page, shown=shown)
        yield passed if there == __version__ else failed


def _gpus(
    facts: Mapping[str, HostFacts], part: InventoryPart, ranks: Mapping[str, int], backend: str
) -> Iterator[CheckOutcome]:
    counts = {host: one.visible_gpus for host, one in facts.items()}
    known = Counter(count for count in counts.values() if isinstance(count, int))
    ranked = known.most_common(2)
    norm = ranked[0][0] if len(ranked) == 1 or (ranked and ranked[0][1] > ranked[1][1]) else None
    wanted = part.gpus if part.gpus is not None else norm
    source = "the suite" if part.gpus is not None else f"the number on most of the {len(counts)} hosts"
    is_expected = wanted is not None and (len(counts) > 1 or part.gpus is not None)
    for host, count in counts.items():
        status, shown, reason = _gpus_of(count, wanted)
        if status == "pass" and isinstance(count, int) and not _suffice(facts[host], ranks.get(host, 0)):
            status, shown, reason = _too_few(count, ranks[host], backend)
        yield CheckOutcome(
            check=GPUS,
            host=host,
            status=status,
            measured=float(count) if isinstance(count, int) else None,
            unit="GPUs",
            expected=f"{wanted} GPUs" if is_expected else "",
            source=source if is_expected else "",
            reason=reason,
            page=GPUS.page if status != "pass" else "",
            shown=shown,
        )


def _suffice(facts: HostFacts, ranks: int) -> bool:
    """Where there are none, nobody counts on them."""
    return not or_none(facts.visible_gpus) or gpu_shares.are_enough(facts, ranks)


def _too_few(count: int, ranks: int, backend: str) -> tuple[CheckStatus, Blame, str]:
    """What was asked for is no fault of a host; that Gloo measures without its GPUs must be known."""
    on = f"{ranks} ranks on {count} GPU{'s' if count > 1 else ''}"
    if backend == "nccl":
        return "fail", "everywhere", on
    return "warn", "everywhere", f"{on}: the ranks use Gloo on CPUs, so no GPU is tested"


def _gpus_of(count: int | Unknown, wanted: int | None) -> tuple[CheckStatus, Blame, str]:
    """(status, whether it is shown to be the host's, why)."""
    if isinstance(count, Unknown):
        return "unknown", "", count.reason
    if wanted is None:
        return "fail", "suspected", f"{count} GPUs; no number of GPUs is shared by most hosts"
    if count != wanted:
        return "fail", "alone", f"{count} GPUs found, expected {wanted}"
    return "pass", "", ""
