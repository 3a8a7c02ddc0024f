"""JUDGE what rungs brought: facts, runs and expectations in, an outcome for each check and host out. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from nccltool import __version__
from nccltool.compare.result import Against
from nccltool.core.findings import Finding, FindingKind
from nccltool.core.host_lists import fold
from nccltool.core.units import format_bytes, format_gb_per_s
from nccltool.core.unknown import Unknown
from nccltool.doctor import judge as doctor_judge
from nccltool.hosts import differences as hosts_differences
from nccltool.hosts.facts import HostFacts
from nccltool.launch import events
from nccltool.launch.finding_kinds import DEADLINE, HOST_UNKNOWN, WORLD_OF_ONE
from nccltool.launch.host_survey import Survey
from nccltool.launch.node_names import node_number
from nccltool.preflight.result import Judged, Shown
from nccltool.preflight.suites import Expectation, InventoryPart, ReachPart, TrainPart
from nccltool.probe.finding_kinds import WRONG_DATA
from nccltool.probe.result import Measurement, Run
from nccltool.train.finding_kinds import TRAIN_WRONG
from nccltool.train.result import Training, TrainRun

PAGE = "docs/runbooks/preflight.md"
NO_WIRES = "what the wires allow is not known"
_ENOUGH = 2
"""Partners with which a host must fail before it is named."""


# ---- inventory


def of_inventory(survey: Survey, part: InventoryPart, nproc: int | None) -> Iterator[Judged]:
    """Which hosts there are, and whether they have the GPUs that they should."""
    came = [node for node in survey.hosts if node not in survey.lost and node not in survey.unseen]
    for node, host in survey.hosts.items():
        finding = survey.lost.get(node)
        if finding is None and node in survey.unseen:
            why = survey.unseen[node]
            yield Judged(code="inventory/present", rung="inventory", host=host, status="unknown", reason=why)
            continue
        if finding is None:
            yield Judged(code="inventory/present", rung="inventory", host=host, status="pass")
            continue
        yield Judged(
            code="inventory/present",
            rung="inventory",
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


def _ranks(survey: Survey, nproc: int | None) -> Judged:
    """How many ranks the job has; where hosts differ in their GPUs, that check says so."""
    return Judged(
        code="inventory/ranks",
        rung="inventory",
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


def _releases(survey: Survey, came: Sequence[int]) -> Iterator[Judged]:
    """Nodes of another release of nccltool would be turned away when they meet."""
    for node in came:
        there = survey.nodes[node].nccltool if node in survey.nodes else __version__
        same = there == __version__
        yield Judged(
            code="inventory/nccltool",
            rung="inventory",
            host=survey.hosts[node],
            status="pass" if same else "fail",
            reason="" if same else f"it has nccltool {there}, and this is {__version__}",
            page="" if same else "docs/findings.md#version-mismatch",
            shown="" if same else "alone" if len(came) > 1 else "everywhere",
        )


def _gpus(facts: Mapping[str, HostFacts], part: InventoryPart, nproc: int | None) -> Iterator[Judged]:
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
) -> Judged:
    def judged(status: str, reason: str = "", shown: Shown = "") -> Judged:
        return Judged(
            code="inventory/gpus",
            rung="inventory",
            host=host,
            status=status,  # type: ignore[arg-type]
            measured=float(count) if isinstance(count, int) else None,
            unit="GPUs",
            expected=f"{wanted} GPUs" if wanted is not None and expected else "",
            source=source if wanted is not None and expected else "",
            reason=reason,
            page=f"{PAGE}#inventorygpus" if status != "pass" else "",
            shown=shown,
        )

    if isinstance(count, Unknown):
        return judged("unknown", count.reason)
    if wanted is None:
        return judged("fail", f"{count} GPUs, and the hosts do not agree on how many there should be", "suspected")
    if count != wanted:
        return judged("fail", f"{count} GPUs are seen, and there should be {wanted}", "alone")
    if nproc is not None and 0 < count < nproc:
        return judged("fail", f"{nproc} ranks are to run on {count} GPUs", "everywhere")
    return judged("pass")


# ---- doctor


def of_doctor(
    judgement: doctor_judge.Judgement,
    differences: Sequence[Finding],
    names: Mapping[str, str],
) -> Iterator[Judged]:
    """An outcome for each rule, and for each host where it found something. `names`: a host's own to ours."""
    hosts = tuple(names.values())
    problems = defaultdict[str, list[doctor_judge.FindingOnHosts]](list)
    for problem in judgement.problems:
        if problem.severity != "info":
            problems[problem.rule.code].append(problem)
    for outcome in judgement.outcomes:
        found = problems.get(outcome.code, [])
        if not found:
            status = "pass" if outcome.status in ("warn", "fail") else outcome.status
            code = f"doctor/{outcome.code}"
            yield Judged(code=code, rung="doctor", host=None, status=status, reason=outcome.reason, required=False)
        else:
            yield from _of_rule(found, judgement, names, hosts)
    for finding in differences:
        if finding.severity != "info":
            yield from _of_difference(finding, names, hosts)


def _of_rule(
    problems: Sequence[doctor_judge.FindingOnHosts],
    judgement: doctor_judge.Judgement,
    names: Mapping[str, str],
    hosts: tuple[str, ...],
) -> Iterator[Judged]:
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
            yield Judged(code=f"doctor/{rule.code}", rung="doctor", host=host, status="pass", required=False)


def _shown_by_rule(finding: Finding, own: Sequence[str], hosts: Sequence[str]) -> Shown:
    if not own:
        return "suspected"
    if len(own) == len(hosts) > 1 or (len(hosts) == 1 and finding.subject.kind == "variable"):
        return "everywhere"
    return "alone"


def _of_difference(finding: Finding, names: Mapping[str, str], hosts: tuple[str, ...]) -> Iterator[Judged]:
    """Of hosts that differ, those that are fewer are named; where neither are, nobody is."""
    odd = _minority(finding, names, hosts)
    for host in odd or (None,):
        yield _found(finding, host, "alone" if host else "suspected", hosts)


def _found(finding: Finding, host: str | None, shown: Shown, hosts: tuple[str, ...]) -> Judged:
    """A finding of the doctor on a host; `hosts` took part in it."""
    return Judged(
        code=f"doctor/{finding.code}",
        rung="doctor",
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


# ---- reach


@dataclass(slots=True)
class _Failed:
    """Calls that did not get through, of one kind."""

    pairs: dict[tuple[str, str], str] = field(default_factory=dict)
    """(caller, called) -> why."""


def of_reach(survey: Survey, part: ReachPart) -> Iterator[Judged]:
    """Whether each host reaches each port that it was told to, with large packets, and knows the others' names."""
    answers = {(one.node, one.goal, one.port): one for one in survey.reached}
    failed = {what: _Failed() for what in ("rendezvous", "ports", "path-mtu", "names")}
    asked = {what: set[str]() for what in failed}
    unheard = set[str]()
    for caller, goal in survey.calls:
        if caller in survey.lost:
            continue
        pair = (survey.hosts[caller], survey.hosts[goal.node])
        answer = answers.get((caller, goal.node, goal.port))
        what = "rendezvous" if goal.port == survey.nodes[goal.node].port else "ports"
        for name in (what, "path-mtu", "names"):
            asked[name].update(pair)
        if answer is None and survey.cut_short:
            unheard.update(pair)
            continue
        kind, why = _why(answer, survey.nodes[goal.node].host, what)
        if kind:
            failed[kind].pairs[pair] = why
    for what, one in failed.items():
        if what == "names" and part.names == "ignore":
            continue
        for outcome in _of_pairs(what, one.pairs, sorted(asked[what]), part):
            open_ = outcome.status == "pass" and outcome.host in unheard
            yield replace(outcome, status="unknown", reason=survey.cut_short) if open_ else outcome


def _why(answer: events.Reached | None, name: str, what: str) -> tuple[str, str]:
    """(kind of failure, why); empty = it got through."""
    if answer is None:
        return what, "no answer in time"
    if not answer.addresses:
        mtu = [failure for failure in answer.failures if events.TAKEN_BUT in failure]
        return ("path-mtu", mtu[0]) if mtu else (what, "; ".join(answer.failures[:2]))
    by_name = next((failure for failure in answer.failures if failure.startswith(f"{name}: ")), "")
    return ("names", by_name) if by_name else ("", "")


def _of_pairs(
    what: str, pairs: Mapping[tuple[str, str], str], hosts: Sequence[str], part: ReachPart
) -> Iterator[Judged]:
    warn = what == "names" and part.names == "warn"
    culprits, rest = blamed(pairs)
    for host in hosts:
        mine = [pair for pair in pairs if host in pair]
        bad = host in culprits or any(host in pair for pair in rest)
        if not bad:
            yield Judged(code=f"reach/{what}", rung="reach", host=host, status="pass")
            continue
        others = fold(name for pair in mine for name in pair if name != host)
        yield Judged(
            code=f"reach/{what}",
            rung="reach",
            host=host,
            status="warn" if warn else "fail",
            reason=f"between {host} and {others}: {pairs[mine[0]]}",
            page=f"{PAGE}#reach{what}",
            shown="confirmed" if host in culprits else "suspected",
            hosts=tuple(sorted({name for pair in mine for name in pair})),
        )


def blamed(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """(hosts that fail with two partners or more, the worst first; the pairs that this does not explain)."""
    left = list(dict.fromkeys(pairs))
    culprits: list[str] = []
    while left:
        partners = defaultdict[str, set[str]](set)
        for a, b in left:
            partners[a].add(b)
            partners[b].add(a)
        worst = [name for name, others in partners.items() if _stands_out(len(others), others, partners)]
        if not worst:
            break
        culprits += sorted(worst, key=lambda name: (-len(partners[name]), name))
        left = [pair for pair in left if not set(worst) & set(pair)]
    return tuple(culprits), tuple(left)


def _stands_out(count: int, others: Iterable[str], partners: Mapping[str, set[str]]) -> bool:
    """A host that fails with several others, each of which fails with fewer: of two alike, nobody knows which."""
    return count >= _ENOUGH and all(len(partners[other]) < count for other in others)


# ---- runs


def again(
    outcomes: Sequence[Judged], suspect: str, with_partner: Sequence[Judged], without: Sequence[Judged]
) -> tuple[Judged, ...]:
    """The outcomes after a second test of a suspect with one other partner, and one of the others without it."""
    partner = fold(name for one in with_partner for name in one.hosts if name != suspect)
    others = fold(name for one in without for name in one.hosts)
    seen = {one.code for one in with_partner if one.status == "fail" and one.host == suspect}
    return tuple(
        _again(one, one.code in seen, _fails_without(one.code, without), partner, others)
        if one.host == suspect and one.status == "fail" and one.shown == "suspected"
        else one
        for one in outcomes
    )


def _fails_without(code: str, without: Sequence[Judged]) -> bool | None:
    """Whether the others fail too; None = their test says nothing of it, be it that it did not complete."""
    statuses = {one.status for one in without if one.code == code}
    if "fail" in statuses:
        return True
    completed = any(one.code.endswith("/completed") and one.status == "pass" for one in without)
    return False if (statuses or completed) and statuses <= {"pass", "warn"} else None


def _again(outcome: Judged, seen: bool, still: bool | None, partner: str, others: str) -> Judged:
    if seen and still is None:
        shown: Shown = "suspected"
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """A run of a rung: what was run where, and what came of it."""

    rung: str
    hosts: tuple[str, ...]
    """Of each node, in the order of the nodes."""
    run: Run | None
    why_not: str = ""
    """Why there is no run."""
    repeat: str = ""
    folder: str = ""
    """Of the run."""
    alone: bool = False
    """Of one host: what fails there is its own."""

    def judged(self, check: str, status: str, **words: object) -> Judged:
        """An outcome of this run."""
        everybody = tuple(dict.fromkeys(self.hosts))
        host = words.pop("host", everybody[0] if len(everybody) == 1 else None)
        bad = status in ("warn", "fail")
        shown: Shown = "" if not bad else "alone" if self.alone else "suspected"
        return Judged(
            code=f"{self.rung}/{check}",
            rung=self.rung,
            host=host,  # type: ignore[arg-type]
            status=status,  # type: ignore[arg-type]
            hosts=everybody if len(everybody) > 1 else (),
            repeat=self.repeat if bad or status == "unknown" else "",
            evidence=self.folder if bad or status == "unknown" else "",
            **{"shown": shown, **words},  # type: ignore[arg-type]
        )

    def host_of(self, finding: Finding, names: Mapping[str, str]) -> str | None:
        """The host that a finding names; None = it names none of ours."""
        subject = finding.subject
        if subject.kind == "rank" and subject.name.isdecimal():
            return self.host_of_rank(int(subject.name))
        if subject.kind == "host":
            name = names.get(subject.name, subject.name)
            return name if name in self.hosts else self._of_node(subject.name)
        return None

    def _of_node(self, name: str) -> str | None:
        number = node_number(name)
        return self.hosts[number] if number is not None and number < len(self.hosts) else None

    def host_of_rank(self, rank: int) -> str | None:
        """Ranks are numbered node by node."""
        world = self.run.info.world_size if self.run else None
        node = rank * len(self.hosts) // world if world else len(self.hosts)
        return self.hosts[node] if node < len(self.hosts) else None


def of_probe(
    ran: Ran,
    expect: Sequence[Expectation],
    names: Mapping[str, str],
    differences_known: bool,
    checked: bool = True,
) -> Iterator[Judged]:
    """Whether a probe completed, its data were right, and its numbers are as expected."""
    if ran.run is None:
        yield ran.judged("completed", "unknown", reason=ran.why_not, page=f"{PAGE}#completed")
        return
    ended = [f for f in ran.run.findings if f.effect == "incomplete"]
    yield from _completed(ran, ended, names)
    yield from _data(ran, bool(ended), names, checked)
    yield from _others(ran, names, differences_known, WRONG_DATA)
    cut_short = bool(ended) or ran.run.verdict.exit_code == 130
    for expectation in expect:
        yield from _expected(ran, expectation, cut_short)


def _completed(ran: Ran, ended: Sequence[Finding], names: Mapping[str, str]) -> Iterator[Judged]:
    if ran.run is not None and ran.run.verdict.exit_code == 130:
        yield ran.judged("completed", "unknown", reason="interrupted")
    elif not ended:
        yield ran.judged("completed", "pass")
    for finding in ended:
        # the time that a run was given is the fault of no host, not even where there is but one
        words = {"shown": "suspected"} if finding.kind is DEADLINE else {}
        yield _from_finding(ran, "completed", "fail", finding, names, **words)


def _from_finding(
    ran: Ran, check: str, status: str, finding: Finding, names: Mapping[str, str], **words: object
) -> Judged:
    host = ran.host_of(finding, names)
    given = {"host": host} if host else {}
    return ran.judged(
        check, status, reason=finding.message, page=finding.page, findings=(finding,), **given, **words
    )


def _data(ran: Ran, ended: bool, names: Mapping[str, str], checked: bool) -> Iterator[Judged]:
    assert ran.run is not None
    wrong = [finding for finding in ran.run.findings if finding.kind is WRONG_DATA]
    rows = ran.run.measurements
    total = sum(row.wrong or 0 for row in rows)
    for finding in wrong:
        yield _from_finding(ran, "data", "fail", finding, names, measured=float(total), unit="elements")
    if wrong:
        return
    if ended:
        yield ran.judged("data", "skip", reason="the run did not complete")
    elif not checked:
        yield ran.judged("data", "skip", reason="the suite does not check data: checks = 0")
    elif not rows or any(row.wrong is None for row in rows):
        yield ran.judged("data", "unknown", reason="not checked")
    else:
        yield ran.judged("data", "pass", measured=0.0, unit="elements", expected="no wrong element")


def _others(ran: Ran, names: Mapping[str, str], differences_known: bool, judged: FindingKind) -> Iterator[Judged]:
    """What else a run found: warnings, and errors that have no check of their own."""
    assert ran.run is not None
    told = hosts_differences.KINDS.keys() if differences_known else set[str]()
    for finding in ran.run.findings:
        done = finding.effect == "incomplete" or (finding.is_error and finding.kind is judged)
        if done or finding.severity == "info" or finding.code in told or finding.kind is WORLD_OF_ONE:
            continue
        yield _from_finding(ran, finding.code, "fail" if finding.is_error else "warn", finding, names)


def shared(outcomes: Sequence[Judged], hosts: Set[str]) -> tuple[Judged, ...]:
    """The outcomes of runs; what fails on every host alike is not shown to be the fault of each."""
    failing = defaultdict[str, set[str | None]](set)
    for one in outcomes:
        if one.status == "fail" and one.shown == "alone":
            failing[one.code].add(one.host)

    def common(one: Judged) -> bool:
        ordered = any(finding.kind.may_be_the_order for finding in one.findings)
        return one.shown == "alone" and failing[one.code] >= hosts and (len(hosts) > 1 or ordered)

    return tuple(replace(one, shown="everywhere") if common(one) else one for one in outcomes)


# ---- expectations


@dataclass(frozen=True, kw_only=True, slots=True)
class _Number:
    """A number that was measured, and what it could be instead."""

    value: float | None
    low: float
    high: float
    noisy: bool
    what: str
    rank: int | None = None
    why_unknown: str = ""


def _expected(ran: Ran, wanted: Expectation, ended: bool) -> Iterator[Judged]:
    run = ran.run
    assert run is not None
    common = {"expected": wanted.text, "unit": wanted.unit, "source": wanted.provenance}
    if wanted.backend and run.info.backend not in (None, wanted.backend):
        yield ran.judged(
            wanted.name, "skip", reason=f"for {wanted.backend}, and this is {run.info.backend}", **common
        )
        return
    if wanted.nodes is not None and wanted.nodes != run.info.nodes:
        yield ran.judged(wanted.name, "skip", reason=f"for {wanted.nodes} nodes", **common)
        return
    numbers = list(_numbers(run, wanted))
    if not numbers:
        at = f" at {format_bytes(wanted.size)}" if wanted.size is not None else ""
        reason = (
            "the run did not complete" if ended else f"the suite does not measure {wanted.of or 'anything'}{at}"
        )
        yield ran.judged(wanted.name, "skip", reason=reason, **common)
    for name, number in numbers:
        yield _against(ran, wanted, name, number, common)


def _numbers(run: Run, wanted: Expectation) -> Iterator[tuple[str, _Number]]:
    """(name of the check, number) for each operation that is asked for, at the size that is asked for."""
    rows = [row for row in run.measurements if wanted.of in ("", row.op)]
    if wanted.metric == "late" and not wanted.of:
        if rows:
            yield wanted.name, _number(max(rows, key=lambda row: row.late_s or 0.0), wanted, run)
        return
    for op in dict.fromkeys(row.op for row in rows):
        mine = [row for row in rows if row.op == op and wanted.size in (None, row.bytes)]
        if mine:
            row = max(mine, key=lambda one: one.bytes)
            name = wanted.name if wanted.of else f"{op}-{wanted.name}"
            yield name, _number(row, wanted, run)


def _number(row: Measurement, wanted: Expectation, run: Run) -> _Number:
    what = f"{row.op} at {format_bytes(row.bytes)}"
    low, high = row.busbw_interval
    limit = row.limit_busbw_bytes_per_s
    match wanted.metric:
        case "late":
            late = row.late_s or 0.0
            return _Number(value=late, low=late, high=late, noisy=False, what=what, rank=row.late_rank)
        case "time":
            middle = row.time_s.median or row.time_s.mean
            fast, slow = row.time_s.ci95 or (middle, middle)
            return _Number(value=middle, low=fast, high=slow, noisy=row.noisy, what=what)
        case "share_of_limit" if limit is None:
            reason = run.info.limit_unknown_reason or "nothing limits it"
            unknown = f"{NO_WIRES}: {reason}"
            return _Number(value=None, low=0.0, high=0.0, noisy=False, what=what, why_unknown=unknown)
    share = {"share_of_limit": 1 / limit if limit else 0.0, "busbw": 1.0}.get(
        wanted.metric, row.algbw_bytes_per_s / row.busbw_bytes_per_s if row.busbw_bytes_per_s else 0.0
    )
    value = row.busbw_bytes_per_s * share
    return _Number(value=value, low=low * share, high=high * share, noisy=row.noisy, what=what)


def _against(ran: Ran, wanted: Expectation, name: str, number: _Number, common: Mapping[str, str]) -> Judged:
    required = wanted.severity == "fail"
    page = f"{PAGE}#{wanted.metric}"
    if number.value is None:
        return ran.judged(name, "unknown", reason=number.why_unknown, page=page, required=required, **common)
    bounds = [bound for bound in (wanted.low, wanted.high) if bound is not None]
    if number.noisy and any(number.low < bound < number.high for bound in bounds):
        reason = f"{number.what} cannot be told from it: too noisy"
        return ran.judged(
            name, "unknown", measured=number.value, reason=reason, page=page, required=required, **common
        )
    low_enough = wanted.high is None or number.value <= wanted.high
    if low_enough and (wanted.low is None or number.value >= wanted.low):
        return ran.judged(name, "pass", measured=number.value, **common)
    host = ran.host_of_rank(number.rank) if number.rank is not None else None
    who = (
        f": the others wait for rank {number.rank}" + (f" on {host}" if host else "")
        if number.rank is not None
        else ""
    )
    return ran.judged(
        name,
        wanted.severity,
        measured=number.value,
        reason=f"{number.what}{who}",
        page=page,
        **({"host": host} if host else {}),
        **common,
    )


def of_baseline(ran: Ran, against: Sequence[Against]) -> Iterator[Judged]:
    """What earlier runs say of each number of this one."""
    for one in against:
        key = one.key
        change = "" if one.change is None else f"{one.change:+.1%} against {one.source}"
        interval = "" if one.low is None or one.high is None else f", between {one.low:+.1%} and {one.high:+.1%}"
        known = one.expected_busbw_bytes_per_s
        yield ran.judged(
            f"{key.op}-baseline-{format_bytes(key.bytes).replace(' ', '')}",
            one.status,
            measured=one.measured_busbw_bytes_per_s,
            unit="B/s",
            expected="" if known is None else f"{format_gb_per_s(known)} GB/s",
            source=one.source,
            reason=one.reason or change + interval,
            page=f"{PAGE}#baseline" if one.status in ("warn", "fail", "unknown") else "",
        )


# ---- trainings


def of_train(ran: Ran, part: TrainPart, names: Mapping[str, str], differences_known: bool) -> Iterator[Judged]:
    """Whether trainings completed, and their arithmetic is that of one process."""
    if ran.run is None:
        yield ran.judged("completed", "unknown", reason=ran.why_not, page=f"{PAGE}#completed")
        return
    ended = [f for f in ran.run.findings if f.effect == "incomplete"]
    yield from _completed(ran, ended, names)
    trainings = ran.run.trainings if isinstance(ran.run, TrainRun) else ()
    differing = ran.run.differing() if isinstance(ran.run, TrainRun) else {}
    for training in trainings:
        yield _training(ran, training, differing.get(training.strategy), bool(ended), names)
    yield from _others(ran, names, differences_known, TRAIN_WRONG)
    for wanted in part.expect:
        for training in trainings:
            if wanted.of in ("", training.strategy):
                yield _of_training(ran, wanted, training)


def _training(
    ran: Ran, training: Training, wrong: Finding | None, ended: bool, names: Mapping[str, str]
) -> Judged:
    oracle = training.oracle
    words: dict[str, object] = {}
    if oracle is not None:
        words = {"measured": oracle.max_abs_error, "unit": "loss", "source": oracle.rule}
        if oracle.tolerance is not None:
            words["expected"] = f"within {oracle.tolerance:.2g} of one process"
    if wrong is not None:
        return _from_finding(ran, training.strategy, "fail", wrong, names, **words)
    if ended and training.status == "unknown":
        return ran.judged(training.strategy, "skip", reason="the run did not complete")
    return ran.judged(training.strategy, training.status, reason=training.reason, **words)


def _of_training(ran: Ran, wanted: Expectation, training: Training) -> Judged:
    value = {
        "throughput": training.throughput_samples_per_s,
        "exposed": training.exposed_communication_ratio,
        "efficiency": training.scaling_efficiency,
    }[wanted.metric]
    number = _Number(
        value=value,
        low=value or 0.0,
        high=value or 0.0,
        noisy=False,
        what=training.strategy,
        why_unknown=training.reason or training.exposed_communication_method or "no step was timed",
    )
    name = wanted.name if wanted.of else f"{training.strategy}-{wanted.metric}"
    common = {"expected": wanted.text, "unit": wanted.unit, "source": wanted.provenance}
    return _against(ran, wanted, name, number, common)
