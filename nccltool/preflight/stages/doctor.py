"""What the doctor says of every host, and where hosts differ."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from nccltool.core.findings import Finding
from nccltool.core.host_lists import unfold
from nccltool.doctor import judge
from nccltool.doctor import run as doctor_run
from nccltool.hosts.facts import HostFacts, or_none
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import Blame, Check, CheckOutcome, of_finding
from nccltool.preflight.stages.base import StageContext, StageResult, skipped

NEEDS = ()
STARTS_RANKS = False
_SECONDS = 0.5
"""All rules on one host take 0.1 s here; more hosts are alike."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorPart:
    """Which rules are asked."""

    select: Annotated[tuple[str, ...], toml.each(toml.text)] = ()
    ignore: Annotated[tuple[str, ...], toml.each(toml.text)] = ()


PART = toml.PartForm(DoctorPart)


def about_s(context: StageContext, part: DoctorPart) -> float:
    return _SECONDS


def plan(context: StageContext, part: DoctorPart) -> tuple[str, ...]:
    given = {"--select": part.select, "--ignore": part.ignore}
    words = (f"{option} {','.join(codes)}" for option, codes in given.items() if codes)
    return (" ".join(["apply the rules of nccltool doctor to each host", *words]),)


def run(context: StageContext, part: DoctorPart) -> StageResult:
    """Ask the rules about the snapshots of the survey."""
    # of nodes that are processes of one host, the host is one
    snapshots = list({facts.host: facts for facts in context.survey().snapshots.values()}.values())
    if not snapshots:
        return skipped("doctor", "no host joined")
    emulated = not context.where.launch.remote
    nodes = 1 if emulated else len(context.hosts)
    nproc = context.nproc and context.nproc * len(context.hosts) // nodes
    hosts = [
        judge.host_of(facts, None, nodes, _over_nccl(facts, nproc, context.backend), len(snapshots))
        for facts in snapshots
    ]
    judgement = judge.judge(hosts, doctor_run.rules_for(part.select, part.ignore))
    differences = () if part.select else doctor_run.differences(snapshots, part.ignore, together=True)
    return StageResult(outcomes=tuple(judged(judgement, differences, context.names)))


def _over_nccl(facts: HostFacts, nproc: int | None, backend: str) -> int | None:
    """Ranks for rules of NCCL: over Gloo, what has no GPU of its own is none of theirs."""
    gpus = or_none(facts.visible_gpus)
    return min(nproc, gpus) if nproc and gpus and backend != "nccl" else nproc


def judged(
    judgement: judge.Judgement, differences: Sequence[Finding], names: Mapping[str, str]
) -> Iterator[CheckOutcome]:
    """An outcome for each rule, and for each host where it found something. `names`: a host's own to ours."""
    hosts = tuple(names.values())
    found = defaultdict[str, list[tuple[Finding, tuple[str, ...]]]](list)
    for problem, finding in zip(judgement.problems, judgement.findings, strict=True):
        if problem.severity != "info":
            own = tuple(dict.fromkeys(names.get(host, host) for host in problem.hosts))
            found[problem.rule.code].append((finding, own))
    for outcome in judgement.outcomes:
        check = Check(stage="doctor", name=outcome.code)
        if outcome.code in found:
            yield from _of_rule(check, found[outcome.code], hosts)
        else:
            status = "pass" if outcome.status in ("warn", "fail") else outcome.status
            yield CheckOutcome(check=check, host=None, status=status, reason=outcome.reason, required=False)
    for finding in differences:
        if finding.severity != "info":
            yield from _of_difference(finding, names, hosts)


def _of_rule(
    check: Check, found: Iterable[tuple[Finding, tuple[str, ...]]], hosts: tuple[str, ...]
) -> Iterator[CheckOutcome]:
    """The hosts of a rule that found something: those that it names fail, the others pass."""
    named = set[str]()
    for finding, own in found:
        named.update(own or hosts)
        shown = _shown_by_rule(finding, own, hosts)
        for host in own or (None,):
            yield of_finding(check, finding, host=host, shown=shown, hosts=() if host else hosts)
    for host in hosts:
        if host not in named:
            yield CheckOutcome(check=check, host=host, status="pass", required=False)


def _shown_by_rule(finding: Finding, own: Sequence[str], hosts: Sequence[str]) -> Blame:
    if not own:
        return "suspected"
    if len(own) == len(hosts) > 1 or (len(hosts) == 1 and finding.subject.kind == "variable"):
        return "everywhere"
    return "alone"


def _of_difference(finding: Finding, names: Mapping[str, str], hosts: tuple[str, ...]) -> Iterator[CheckOutcome]:
    """Of hosts that differ, those that are fewer are named; where neither are, nobody is."""
    check = Check(stage="doctor", name=finding.code)
    for host in _minority(finding, names, hosts) or (None,):
        yield of_finding(check, finding, host=host, shown="alone" if host else "suspected", hosts=hosts)


def _minority(finding: Finding, names: Mapping[str, str], hosts: Sequence[str]) -> tuple[str, ...]:
    """Our names of the hosts that a finding is about, when most others are not like them."""
    if finding.subject.kind != "host":
        return ()
    own = [finding.subject.name] if finding.subject.name in names else _unfolded(finding.subject.name, names)
    return tuple(names[name] for name in own) if 2 * len(own) < len(hosts) else ()


def _unfolded(folded: str, names: Collection[str]) -> list[str]:
    """The names of ours that a folded text stands for."""
    try:
        meant = set(unfold(folded, len(names)))
    except ValueError:  # names come from hosts: anything may be in them
        return []
    return [name for name in names if name in meant]
