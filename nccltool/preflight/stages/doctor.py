"""What the doctor says of every host, and where hosts differ."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nccltool.core.findings import Finding
from nccltool.doctor import judge
from nccltool.doctor import run as doctor_run
from nccltool.preflight.check import Check
from nccltool.preflight.result import Blame, CheckOutcome
from nccltool.preflight.stages.base import StageContext, StageResult, skipped

NEEDS = ()
_SECONDS = 0.5
"""307 rules on one host take 0.1 s here; more hosts are alike."""


def _check(code: str) -> Check:
    """Each rule is a check; what differs between hosts is one too."""
    return Check(stage="doctor", name=code)


def about_s(context: StageContext) -> float:
    """How long it takes."""
    return _SECONDS


def plan(context: StageContext) -> tuple[str, ...]:
    """What it would do."""
    part = context.suite.doctor
    words = [f"--select {','.join(part.select)}"] if part and part.select else []
    words += [f"--ignore {','.join(part.ignore)}"] if part and part.ignore else []
    return (" ".join(["what nccltool doctor finds on them", *words]),)


def run(context: StageContext) -> StageResult:
    """Ask the rules about the snapshots of the survey."""
    part = context.suite.doctor
    assert part is not None
    survey = context.survey()
    # of nodes that are processes of one host, the host is one
    snapshots = list({facts.host: facts for facts in survey.snapshots.values()}.values())
    if not snapshots:
        return skipped("doctor", "no host came")
    emulated = not context.where.launch.remote
    nodes = 1 if emulated else len(context.hosts)
    nproc = context.nproc and context.nproc * len(context.hosts) // nodes
    hosts = [judge.host_of(facts, None, nodes, nproc, len(snapshots)) for facts in snapshots]
    judgement = judge.judge(hosts, doctor_run.rules_for(part.select, part.ignore))
    differences = () if part.select else doctor_run.differences(snapshots, part.ignore, together=True)
    return StageResult(outcomes=tuple(judged(judgement, differences, context.names)))


def judged(
    judgement: judge.Judgement,
    differences: Sequence[Finding],
    names: Mapping[str, str],
) -> Iterator[CheckOutcome]:
    """An outcome for each rule, and for each host where it found something. `names`: a host's own to ours."""
    hosts = tuple(names.values())
    problems = defaultdict[str, list[judge.FindingOnHosts]](list)
    for problem in judgement.problems:
        if problem.severity != "info":
            problems[problem.rule.code].append(problem)
    for outcome in judgement.outcomes:
        found = problems.get(outcome.code, [])
        if not found:
            status = "pass" if outcome.status in ("warn", "fail") else outcome.status
            yield CheckOutcome(
                check=_check(outcome.code), host=None, status=status, reason=outcome.reason, required=False
            )
        else:
            yield from _of_rule(found, judgement, names, hosts)
    for finding in differences:
        if finding.severity != "info":
            yield from _of_difference(finding, names, hosts)


def _of_rule(
    problems: Sequence[judge.FindingOnHosts],
    judgement: judge.Judgement,
    names: Mapping[str, str],
    hosts: tuple[str, ...],
) -> Iterator[CheckOutcome]:
    """The hosts of a rule that found something: those that it names fail, the others pass."""
    by_finding = dict(zip(judgement.problems, judgement.findings, strict=True))
    rule = problems[0].rule
    named = set[str]()
    for problem in problems:
        finding = by_finding[problem]
        own = tuple(dict.fromkeys(names.get(host, host) for host in problem.hosts))
        named.update(own or hosts)
        shown = _shown_by_rule(finding, own, hosts)
        for host in own or (None,):
            yield _found(finding, host, shown, () if host else hosts)
    for host in hosts:
        if host not in named:
            yield CheckOutcome(check=_check(rule.code), host=host, status="pass", required=False)


def _shown_by_rule(finding: Finding, own: Sequence[str], hosts: Sequence[str]) -> Blame:
    if not own:
        return "suspected"
    if len(own) == len(hosts) > 1 or (len(hosts) == 1 and finding.subject.kind == "variable"):
        return "everywhere"
    return "alone"


def _of_difference(finding: Finding, names: Mapping[str, str], hosts: tuple[str, ...]) -> Iterator[CheckOutcome]:
    """Of hosts that differ, those that are fewer are named; where neither are, nobody is."""
    odd = _minority(finding, names, hosts)
    for host in odd or (None,):
        yield _found(finding, host, "alone" if host else "suspected", hosts)


def _found(finding: Finding, host: str | None, shown: Blame, hosts: tuple[str, ...]) -> CheckOutcome:
    """A finding of the doctor on a host; `hosts` took part in it."""
    return CheckOutcome(
        check=_check(finding.code),
        host=host,
        status="fail" if finding.is_error else "warn",
        reason=finding.message,
        page=finding.page,
        findings=(finding,),
        shown=shown,
        hosts=hosts,
    )


def _minority(finding: Finding, names: Mapping[str, str], hosts: Sequence[str]) -> tuple[str, ...]:
    """Our names of the hosts that a finding is about, when most others are not like them."""
    if finding.subject.kind != "host":
        return ()
    own = [finding.subject.name] if finding.subject.name in names else _unfolded(finding.subject.name, names)
    return tuple(names[name] for name in own) if 2 * len(own) < len(hosts) else ()


def _unfolded(folded: str, names: Iterable[str]) -> list[str]:
    """The names of ours that a folded text stands for."""
    from ClusterShell.NodeSet import NodeSet, NodeSetParseError

    try:
        meant = {str(name) for name in NodeSet(folded)}
    except NodeSetParseError:  # names come from hosts: anything may be in them
        return []
    return [name for name in names if name in meant]
