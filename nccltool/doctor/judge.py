"""JUDGE settings and facts with rules: pure. Hosts and rules in, outcomes and findings out."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import msgspec

from nccltool.core import versions
from nccltool.core.errors import BadInput
from nccltool.core.findings import SEVERITIES, CheckStatus, Finding, Severity, Subject, check_status
from nccltool.core.host_lists import fold
from nccltool.core.text import escaped, shortened
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.diagnosis import Assignment, RuleOutcome
from nccltool.doctor.rules.base import (
    NO_LOCAL_RANKS,
    NO_NCCL,
    NO_NODES,
    NO_TORCH,
    OLDEST,
    JudgedHost,
    Results,
    Rule,
)
from nccltool.hosts import env_files as env_files_of
from nccltool.hosts.env_files import EnvFile
from nccltool.hosts.facts import HostFacts, NotKnown, or_none
from nccltool.hosts.nccl import settings, variables
from nccltool.hosts.nccl.settings import Variable

PER_RANK = frozenset((
    "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "NODE_RANK", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
    "SLURMD_NODENAME", "HOSTNAME", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "PMIX_RANK",
    "OMPI_COMM_WORLD_NODE_RANK", "JOB_COMPLETION_INDEX",
))  # fmt: skip
"""Variables that naturally differ from rank to rank: rules that do not need "rank" must not read them."""
NO_HOST = "no host given; pass --root, --facts, or --hosts"
NOTHING = "nothing to check: no variable that a rule knows is set"
_OF_SETTINGS = {"env", "env_source", "rank"}
"""What rules need that settings alone have."""
_LONGEST = 2000
"""Characters of one text of a finding: a value of a megabyte is not shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingOnHosts:
    """What a rule found, and on which hosts."""

    rule: Rule
    found: report.RuleFinding
    hosts: tuple[str, ...]

    @property
    def severity(self) -> Severity:
        """Of this finding: its own, or that of the rule."""
        return self.found.severity or self.rule.severity


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What came of all rules."""

    outcomes: tuple[RuleOutcome, ...]
    problems: tuple[FindingOnHosts, ...]
    """The worst first."""
    several: bool = False
    """Hosts were judged, not one: each finding names its own."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(_finding(problem, self.several) for problem in self.problems)

    @property
    def is_told(self) -> bool:
        """Whether any rule could be judged."""
        return any(outcome.status not in ("unknown", "skip") for outcome in self.outcomes)


def _finding(problem: FindingOnHosts, several: bool) -> Finding:
    found, rule = problem.found, problem.rule
    hosts = tuple(dict.fromkeys(problem.hosts))
    evidence = (*found.evidence, f"on {escaped(fold(hosts))}") if hosts and several else found.evidence
    return Finding(
        code=rule.code,
        severity=problem.severity,
        subject=Subject(kind=found.subject.kind, name=shortened(found.subject.name, _LONGEST)),
        message=shortened(found.message, _LONGEST),
        evidence=tuple(shortened(text, _LONGEST) for text in evidence),
        remedy=shortened(found.remedy, _LONGEST),
        page=rule.place,
    )


def assignments(host: JudgedHost) -> tuple[Assignment, ...]:
    """The variables of a host, in order of their names; () when they are not known."""
    if host.settings.unread:
        return ()
    return tuple(Assignment(name=one.name, value=one.value, origin=one.origin) for one in host.settings.all())


def host_of(
    facts: HostFacts,
    nccl: Version | None = None,
    nodes: int | None = None,
    local_ranks: int | None = None,
    hosts: int = 1,
    env_files: tuple[EnvFile, ...] = (),
) -> JudgedHost:
    """The host of a snapshot, for a job of this size; what is not said is taken from the snapshot.

    `hosts`: of the same job that are known; the job has as many nodes when nothing else tells.
    """
    version = nccl or _version(facts.versions.nccl)
    effective = settings.of(facts, version, env_files_of.places(env_files))
    return JudgedHost(
        env_files=env_files,
        settings=effective,
        facts=facts,
        nccl=version or NO_NCCL,
        torch=_version(facts.versions.torch) or NO_TORCH,
        nodes=nodes or _nodes(effective.variables) or (hosts if hosts > 1 else NO_NODES),
        local_ranks=local_ranks or _local_ranks(effective.variables, facts) or NO_LOCAL_RANKS,
    )


def _version(text: str | Unknown) -> Version | None:
    found = or_none(text)
    return versions.parse(found) if found else None


def _nodes(variables: Mapping[str, Variable]) -> int | None:
    """How many nodes the job has, from what launchers set."""
    whole = _number(variables, "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")
    here = _number(variables, "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
    if whole and here:
        return -(-whole // here)
    return _number(variables, "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "PET_NNODES", "GROUP_WORLD_SIZE", "NNODES")


def _local_ranks(variables: Mapping[str, Variable], facts: HostFacts) -> int | None:
    """Ranks of this node, from what launchers set; else one a GPU."""
    here = _number(variables, "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PET_NPROC_PER_NODE")
    here = here or _number(variables, "SLURM_NTASKS_PER_NODE")
    return here or or_none(facts.visible_gpus)


def _number(variables: Mapping[str, Variable], *names: str) -> int | None:
    texts = (variables[name].value for name in names if name in variables)
    return next((int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 10), None)


def chosen(rules: Sequence[Rule], select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The rules whose code or name begins with a word of `select` (none = all) and with none of `ignore`.

    Raises BadInput for a word that no rule begins with, and when nothing is left.
    """
    for option, words in (("--select", select), ("--ignore", ignore)):
        for word in words:
            if not any(begins(rule, word) for rule in rules):
                raise BadInput(
                    f"{option}: no rule begins with {word!r}", "list them with nccltool doctor --list-rules"
                )
    selected = (rule for rule in rules if not select or any(begins(rule, word) for word in select))
    left = tuple(rule for rule in selected if not any(begins(rule, word) for word in ignore))
    if not left:
        raise BadInput("--ignore excludes every selected rule", "ignore less or select more")
    return left


def begins(rule: Rule, word: str) -> bool:
    """Whether the code or the name of a rule begins with a word."""
    code = word.upper().replace("-", "")
    return bool(code) and (rule.code.startswith(code) or rule.name.startswith(word.lower()))


def judge(hosts: Sequence[JudgedHost], rules: Iterable[Rule], without_host: bool = False) -> Judgement:
    """Look at every host with every rule; what several hosts have in common is found once and names them.

    `without_host`: there are settings only, and rules that need facts say nothing unless settings alone tell.
    """
    alike = _AlikeHosts(hosts)
    count = len({host.name for host in hosts})
    outcomes, problems = [], []
    for rule in rules:
        found = defaultdict[report.RuleFinding, list[str]](list)
        blind = defaultdict[str, set[str]](set)
        for said, names in _said_by(rule, hosts, alike):
            if isinstance(said, Unknown):
                blind[said.reason].update(names)
            else:
                found[said] += names
        mine = [FindingOnHosts(rule=rule, found=one, hosts=tuple(names)) for one, names in found.items()]
        why = _why_skipped(rule, hosts)
        if without_host and set(rule.needs) - _OF_SETTINGS and not mine:
            why = NO_HOST
        skipped = RuleOutcome(code=rule.code, status="skip", reason=why)
        outcomes.append(skipped if why else _outcome(rule, mine, blind, count))
        problems += mine
    problems.sort(key=lambda problem: SEVERITIES.index(problem.severity))
    return Judgement(outcomes=tuple(outcomes), problems=tuple(problems), several=count > 1)


def nothing_to_check(rules: Iterable[Rule]) -> Judgement:
    """There are settings only, and none that a rule knows: no rule passes."""
    return Judgement(
        outcomes=tuple(RuleOutcome(code=rule.code, status="skip", reason=NOTHING) for rule in rules), problems=()
    )


def _why_skipped(rule: Rule, hosts: Sequence[JudgedHost]) -> str:
    if rule.is_across and len(hosts) == 1:
        return "needs several hosts to compare"
    others = rule.library is not None and not any(rule.holds_for(host) for host in hosts)
    return f"applies to {rule.library} only" if others else ""


def _said_by(
    rule: Rule, hosts: Sequence[JudgedHost], alike: "_AlikeHosts"
) -> Iterator[tuple[report.RuleFinding | Unknown, Iterable[str]]]:
    """(what it found or could not judge, on which hosts); a rule about all of them names hosts itself."""
    if rule.is_across and len(hosts) > 1:
        yield from ((said, ()) for said in _said(rule.check(hosts)))
    # of thousands of hosts that differ in their facts, most have the same variables
    alike_in_settings = alike.groups([need for need in rule.needs if need == "rank"])
    if rule.is_across or not any(rule.is_asked(hosts[group[0]]) for group in alike_in_settings):
        return
    for group in alike.groups(rule.parts):
        first = hosts[group[0]]
        if not rule.holds_for(first):
            continue
        for said in _said(rule.check([first])):
            yield _of_release(said, rule, first), dict.fromkeys(hosts[index].facts.host for index in group)


def _of_release(said: report.RuleFinding | Unknown, rule: Rule, host: JudgedHost) -> report.RuleFinding | Unknown:
    """What was found, no worse than is sure: NCCL may be too old to read the variable that it is about."""
    if isinstance(said, Unknown) or said.subject.kind != "variable":
        return said
    entry = variables.every().get(said.subject.name)
    since = entry.since_version if entry is not None and entry.component == "nccl" else None
    most: Severity = "error"
    if since is not None and isinstance(host.nccl, Unknown):
        most = "warning" if since > OLDEST else most
    elif since is not None and not isinstance(host.nccl, Unknown) and since > host.nccl:
        most = "info"
    severity = max(said.severity or rule.severity, most, key=SEVERITIES.index)
    return said if severity == (said.severity or rule.severity) else replace(said, severity=severity)


def _said(results: Results) -> Results:
    try:
        yield from results
    except NotKnown as why:
        yield Unknown(str(why))


def _outcome(
    rule: Rule, problems: Sequence[FindingOnHosts], reasons: Mapping[str, set[str]], hosts: int
) -> RuleOutcome:
    severities = {problem.severity for problem in problems}
    blind = set[str]().union(*reasons.values())
    status: CheckStatus = "unknown" if reasons and not problems else check_status(severities)
    reason = "; ".join(list(reasons)[:3])
    if reason and 0 < len(blind) < hosts:
        reason = f"{reason} (on {len(blind)} of {hosts} hosts)"
    return RuleOutcome(code=rule.code, status=status, reason=reason)


class _AlikeHosts:
    """Which hosts are the same to a rule: equal in settings, versions and the parts of facts that it needs."""

    def __init__(self, hosts: Sequence[JudgedHost]) -> None:
        self._hosts = hosts
        self._columns: dict[str, list[int]] = {}
        self._groups: dict[tuple[str, ...], list[list[int]]] = {}
        self._partitions: dict[bytes, list[list[int]]] = {}

    def groups(self, needs: Sequence[str]) -> list[list[int]]:
        """Indices of hosts, those that are alike together, in the order of the first ones."""
        if len(self._hosts) == 1:
            return [[0]]
        if tuple(needs) not in self._groups:
            seen: dict[tuple[int, ...], int] = {}
            keys = zip(*(self._column(need) for need in ("settings", *needs)), strict=True)
            numbers = array("I", [seen.setdefault(key, len(seen)) for key in keys])
            # mostly all hosts are alike, or none is: these partitions are kept once
            groups = self._partitions.setdefault(numbers.tobytes(), [])
            if not groups:
                groups += [[] for _ in seen]
                for index, number in enumerate(numbers):
                    groups[number].append(index)
            self._groups[tuple(needs)] = groups
        return self._groups[tuple(needs)]

    def _column(self, need: str) -> list[int]:
        """A number for each host; equal numbers mean equal parts."""
        if need not in self._columns:
            seen: dict[object, int] = {}
            known: dict[int, int] = {}
            column = self._columns[need] = []
            for host in self._hosts:
                part = getattr(host.facts, need, host)
                if id(part) not in known:  # what a Reader has read is often one object for many hosts
                    known[id(part)] = seen.setdefault(_key(host, need), len(seen))
                column.append(known[id(part)])
        return self._columns[need]


def _key(host: JudgedHost, need: str) -> object:
    if need == "settings":
        shared = [one for name, one in host.settings.variables.items() if name not in PER_RANK]
        values = frozenset((one.name, one.value, one.origin) for one in shared)
        files = tuple((file.path, file.lines) for file in host.settings.files)
        job = tuple(map(str, (host.nccl, host.torch, host.nodes, host.local_ranks)))
        return values, files, host.settings.unread, job
    if need == "rank":
        return frozenset((name, one.value) for name, one in host.settings.variables.items() if name in PER_RANK)
    # JSON, unlike msgpack, has numbers of any size, as a damaged snapshot may
    return blake2b(msgspec.json.encode(getattr(host.facts, need)), digest_size=16).digest()
