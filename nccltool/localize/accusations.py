"""JUDGE what a localization means for a run: findings, the verdict, and the hosts that jobs should avoid. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding, FindingKind, Subject, SubjectKind
from nccltool.core.host_lists import briefly
from nccltool.core.text import counted, listed, named
from nccltool.core.units import format_gb_per_s
from nccltool.core.verdicts import of_findings
from nccltool.localize import coverage, disturbances, within
from nccltool.localize.encounter import Encounter
from nccltool.localize.finding_kinds import (
    FABRIC_WIDE,
    GROUP_SLOW,
    LINK_SLOW,
    NODE_ABSENT,
    NODE_SLOW,
    NODES_NOT_MEASURED,
    PAIRS_LEFT_OUT,
    PAIRS_NOT_MEASURED,
    PAIRS_TOO_FEW,
    PAIRS_UNDETERMINED,
    RAIL_SLOW,
)
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.result import MOST_INVISIBLE, Localization, NextTest, Suspect
from nccltool.localize.topology import Topology

SURE = 0.9
"""From this confidence on, a node is excluded from jobs."""
_SHOWN = 6
_MEASURE_AGAIN = "measure the proposed pairs, then run nccltool localize on all results together"


def localized(
    info: RunInfo,
    encounters: Sequence[Encounter],
    localization: Localization,
    *,
    kind: str = "localize",
    expected_busbw_bytes_per_s: float | None = None,
    sources: tuple[str, ...] = (),
    others: Sequence[Finding] = (),
    interrupted: bool = False,
    is_within: bool = False,
    nodes: Sequence[str] = (),
) -> LocalizedRun:
    """The result with its findings and its verdict. `others`: findings about how the measurement went; `nodes`:
    who was to be measured, where more is known than who met."""
    localization = within.told(localization) if is_within else localization
    findings = (*others, *findings_of(localization, encounters, nodes))
    run = LocalizedRun(
        info=info,
        kind=kind,
        verdict=of_findings(findings, interrupted=interrupted, can_tell=localization.scope != "unknown"),
        findings=findings,
        encounters=tuple(encounters),
        localization=localization,
        expected_busbw_bytes_per_s=expected_busbw_bytes_per_s,
        sources=sources,
        is_within=is_within,
    )
    if localization.scope != "nothing-slow" or not (unseen := coverage.unseen_text(run)):
        return run
    return replace(run, localization=replace(localization, reason=f"{localization.reason}; {unseen}"))


def excluded(localization: Localization) -> tuple[str, ...]:
    """The nodes that are surely at fault: slow, absent, with a slow rail of their own, or slow inside."""
    sure = (one for one in localization.suspects if one.confidence >= SURE)
    nodes = {node for one in sure if (node := _at_fault(one)) is not None}
    return tuple(sorted(nodes))


def _at_fault(suspect: Suspect) -> str | None:
    match suspect.kind:
        case "rank" | "rank-link":
            return within.home_of(suspect.subject[0])
        case "rail" if len(suspect.subject) < 2:
            return None
        case "node" | "rail":
            return suspect.subject[0]
    return None


def findings_of(
    localization: Localization, encounters: Sequence[Encounter], nodes: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """Suspects, the surest first; then what nothing explains, and what is not known."""
    return (
        *(_accused(one) for one in localization.suspects),
        *_open(localization, encounters),
        *_not_measured(localization, encounters, nodes),
    )


def left_out(note: str) -> Finding:
    """What was not used of the input."""
    return PAIRS_LEFT_OUT.finding(subject=Subject(kind="run", name="pairs"), message=note)


def missing(note: str) -> Finding:
    """What should be in the input."""
    return PAIRS_NOT_MEASURED.finding(
        subject=Subject(kind="run", name="pairs"),
        message=note,
        remedy="pass the complete output, or measure again",
    )


def topology_used(topology: Topology, nodes: Sequence[str]) -> tuple[Finding, ...]:
    """A warning where a topology names none of the nodes; what was taken from names."""
    if topology.is_by_name and nodes:
        return (_racks(topology, nodes),)
    if not topology.leaf_of or not nodes or any(topology.leaf(node) for node in nodes):
        return ()
    named_there = briefly(list(topology.leaf_of)[:_SHOWN])
    return (
        PAIRS_LEFT_OUT.finding(
            subject=Subject(kind="run", name="pairs"),
            severity="warning",
            message="--topology names none of the measured nodes, and was not used",
            evidence=(f"measured: {briefly(nodes)}", f"the file begins with: {named_there}"),
            remedy="use the names of the measured nodes",
        ),
    )


def _racks(topology: Topology, nodes: Sequence[str]) -> Finding:
    leaves = topology.leaves()
    subject = Subject(kind="run", name="pairs")
    if not leaves:
        return PAIRS_LEFT_OUT.finding(
            subject=subject,
            severity="warning",
            message="--topology host-names: no name of a node has a rack and a node number, as r12n03 has",
            evidence=(f"measured: {briefly(nodes)}",),
            remedy="write a file with lines of NODE LEAF",
        )
    shown = (f"{leaf}: {briefly(those)}" for leaf, those in leaves.items())
    rest = (
        f"; {briefly(unknown)} in none" if (unknown := [node for node in nodes if not topology.leaf(node)]) else ""
    )
    return PAIRS_LEFT_OUT.finding(
        subject=subject,
        message=f"leaf switches are assumed from host names, as asked: {named(shown, _SHOWN, '; ')}{rest}",
    )


def disturbed(encounters: Sequence[Encounter], topology: Topology) -> tuple[Finding, ...]:
    """The rounds that do not count, because they were slow as a whole."""
    found = disturbances.split(encounters, topology)
    if not found.disturbed:
        return ()
    numbers = [number + 1 for number in found.rounds]
    fastest = max(one.busbw_bytes_per_s or 0.0 for one in found.disturbed)
    usual = max(one.busbw_bytes_per_s or 0.0 for one in found.usual)
    many = len(numbers) > 1
    return (
        left_out(
            f"{'rounds' if many else 'round'} {listed(map(str, numbers))} {'were' if many else 'was'} not used: "
            f"everything in {'them' if many else 'it'} was slow, "
            f"at most {100 * fastest / usual:.0f} % of the fastest pair"
        ),
    )


def members_text(members: Sequence[str]) -> str:
    """Nodes of an encounter: `n1 - n2`."""
    return " - ".join(members)


def next_text(test: NextTest) -> str:
    rail = f", rail {test.rail}" if test.rail else ""
    return f"{members_text(test.members)}{rail}: {test.reason}"


def suspect_text(suspect: Suspect) -> str:
    """Who is accused: `node n7`, `link n1 -> n2`, `rail 3 of n7`."""
    match suspect.kind:
        case "node":
            ways = {"both": "", "send": ", when it sends", "receive": ", when it receives"}
            return f"node {suspect.subject[0]}{ways[suspect.direction]}"
        case "rail" if len(suspect.subject) > 1:
            return f"rail {suspect.subject[1]} of {suspect.subject[0]}"
        case "rail":
            return f"rail {suspect.subject[0]}"
        case "rank":
            return f"rank {suspect.subject[0]}"
        case "link" | "rank-link":
            return f"link {_link(suspect)}"
    return f"group {briefly(suspect.subject)}"


def _link(suspect: Suspect) -> str:
    return (" - " if suspect.direction == "both" else " -> ").join(suspect.subject)


def _accused(suspect: Suspect) -> Finding:
    kind, subject, remedy = _about(suspect)
    speed = (
        "gave no result" if suspect.ratio is None else f"reaches {100 * suspect.ratio:.0f} % of the healthy speed"
    )
    return kind.finding(
        subject=subject,
        message=f"{suspect_text(suspect)} {speed} (confidence {suspect.confidence:.2f})",
        evidence=suspect.evidence,
        remedy=remedy,
    )


def _about(suspect: Suspect) -> tuple[FindingKind, Subject, str]:
    name = suspect.subject[0]
    match suspect.kind:
        case "node" if suspect.ratio is None:
            return NODE_ABSENT, Subject(kind="host", name=name), f"check that {name} is up, then measure it again"
        case "node":
            return NODE_SLOW, Subject(kind="host", name=name), f"check the NICs and cables of {name}"
        case "rail":
            of_a_node = len(suspect.subject) > 1
            subject: SubjectKind = "interface" if of_a_node else "link"
            where = f"check that NIC of {name}, its cable and its port" if of_a_node else "check its switches"
            return RAIL_SLOW, Subject(kind=subject, name=":".join(suspect.subject)), where
        case "rank" if suspect.ratio is None:
            host = Subject(kind="host", name=within.home_of(name))
            return NODE_ABSENT, host, f"look at the GPU and the processes of {name}, then measure it again"
        case "rank":
            remedy = f"check the GPU of {name} and its links: nvidia-smi topo -m; over Gloo, its CPUs and memory"
            return NODE_SLOW, Subject(kind="host", name=within.home_of(name)), remedy
        case "rank-link":
            remedy = "check NVLink or PCIe between the two GPUs: nvidia-smi topo -m, nvidia-smi nvlink --status"
            return LINK_SLOW, Subject(kind="host", name=within.home_of(name)), remedy
        case "link":
            remedy = "check the cables and switch ports between them; the nodes are not at fault"
            return LINK_SLOW, Subject(kind="link", name=" - ".join(suspect.subject)), remedy
    remedy = "measure smaller groups of them; pairs of them are not slow"
    return GROUP_SLOW, Subject(kind="run", name=briefly(suspect.subject)), remedy


def _open(localization: Localization, encounters: Sequence[Encounter]) -> Iterator[Finding]:
    match localization.scope:
        case "fabric-wide":
            yield FABRIC_WIDE.finding(
                subject=Subject(kind="run", name="fabric"),
                message=f"no node is named: {localization.reason}",
                remedy="name a healthy speed with --expect, or look for what all of them share",
            )
        case "unknown":
            remedy = "measure each node with at least two others, or name a speed with --expect"
            if localization.next_tests:
                remedy = _MEASURE_AGAIN
            elif (localization.smallest_visible_fault or 0.0) > MOST_INVISIBLE:
                remedy = "measure while nothing else uses the hosts and the network, or longer (--pair-time)"
            yield PAIRS_TOO_FEW.finding(
                subject=Subject(kind="run", name="pairs"),
                message=f"no verdict: {localization.reason}",
                remedy=remedy,
            )
    slow, silent = slow_and_silent(localization, encounters)
    for members, what in ((slow, "slow"), (silent, "without a result")):
        if members:
            yield PAIRS_UNDETERMINED.finding(
                subject=Subject(kind="run", name="pairs"),
                message=_unexplained(members, what),
                remedy=_MEASURE_AGAIN if localization.next_tests else _alone(localization, encounters),
            )


Members = tuple[tuple[str, ...], ...]


def slow_and_silent(localization: Localization, encounters: Sequence[Encounter]) -> tuple[Members, Members]:
    """Those that nothing explains: that were slow, and that never had a result."""
    known = {frozenset(one.members) for one in encounters if one.busbw_bytes_per_s is not None}
    met = {frozenset(one.members) for one in encounters}
    silent = tuple(one for one in localization.undetermined if frozenset(one) in met - known)
    return tuple(one for one in localization.undetermined if one not in silent), silent


def kind_of(members: Members) -> str:
    """What those are that met: `pair`, or `group`."""
    return "group" if all(len(one) > 2 for one in members) else "pair"


def _unexplained(members: Members, what: str) -> str:
    count = len(members)
    word = f"slow {kind_of(members)}" if what == "slow" else kind_of(members)
    many = f"{count} {word}{'' if count == 1 else 's'}{'' if what == 'slow' else f' {what}'}"
    text = f"{many} {'is' if count == 1 else 'are'} unexplained"
    names = named(map(members_text, members), _SHOWN)
    return f"{text}; no node is named: {names}"


def _alone(localization: Localization, encounters: Sequence[Encounter]) -> str:
    """A remedy where no test can be proposed: other nodes, if there are any."""
    doubtful = {name for members in localization.undetermined for name in members}
    accused = {name for one in localization.suspects for name in one.subject}
    if {name for one in encounters for name in one.members} - doubtful - accused:
        return "measure these with others"
    return "measure again with more rounds or larger calls: nccltool pairs --rounds, --bytes"


def _not_measured(
    localization: Localization, encounters: Sequence[Encounter], nodes: Sequence[str]
) -> Iterator[Finding]:
    accused = {name for one in localization.suspects for name in one.subject}
    known = {name for one in encounters if one.busbw_bytes_per_s is not None for name in one.members}
    missing = [one for one in encounters if one.busbw_bytes_per_s is None and not accused & set(one.members)]
    silent = {*nodes, *(name for one in missing for name in one.members)} - known - accused
    if missing:
        yield PAIRS_NOT_MEASURED.finding(
            subject=Subject(kind="run", name="pairs"),
            message=f"{counted(len(missing), 'measurement')} without a result",
            evidence=tuple(
                f"{members_text(one.members)}: {one.reason or 'no reason given'}" for one in missing[:_SHOWN]
            ),
            remedy="repeat them",
        )
    if silent and localization.scope != "unknown":
        yield NODES_NOT_MEASURED.finding(
            subject=Subject(kind="run", name="pairs"),
            message=f"without a single result: {briefly(silent)}",
            remedy="measure each of them with two others that have results",
        )


def rate_text(bytes_per_s: float | None) -> str:
    """`49.4 GB/s`, or a question mark."""
    return "?" if bytes_per_s is None else f"{format_gb_per_s(bytes_per_s)} GB/s"
