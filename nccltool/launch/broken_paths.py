"""JUDGE the paths between the hosts of a run, from calls that each made to others. Pure.

A call that gets no answer does not tell which way packets are lost. The one that is called does: where it has seen
the call, its answer was lost. Several pairs with one host in common name that host; one pair names the pair, and
of two hosts none.
"""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.core.text import counted, named
from nccltool.launch import events
from nccltool.launch.failed_pairs import blamed
from nccltool.launch.finding_kinds import LARGE_PACKETS_LOST, PATH_CUT
from nccltool.launch.instructions import Goal

_SHOWN = 4
_NAMED = 8
_MOST_PAIRS = 3
"""That are named each by itself; where more have nothing in common, it is the network between all of them."""

Pair = tuple[str, str]
"""Two hosts. Of a path, packets go from the first to the second."""


class Loss(enum.Enum):
    """What a path loses."""

    ALL = enum.auto()
    LARGE = enum.auto()


@dataclass(frozen=True, slots=True)
class BrokenPair:
    """Two hosts between which calls fail."""

    hosts: Pair
    """In the order of their names."""
    loss: Loss
    ways: frozenset[Pair]
    """Directions in which packets are known to be lost; empty = not known, or both."""
    said: tuple[str, ...]
    """What callers said of it."""


@dataclass(frozen=True, slots=True)
class Paths:
    """What came of the calls."""

    findings: tuple[Finding, ...]
    pairs: int
    """Of which at least one end has told."""
    all_worked: bool
    """Each call had its answer."""

    @property
    def whole(self) -> str:
        """What to say where all paths work; empty = not all are known to."""
        if not self.all_worked:
            return ""
        pairs = "the 2 hosts reach" if self.pairs == 1 else f"all {self.pairs} pairs of hosts reach"
        return f"{pairs} each other over TCP again, with 20 kB both ways"


def judged(
    names: Mapping[int, str],
    goals: Mapping[int, Sequence[Goal]],
    reached: Mapping[tuple[int, int], events.Reached],
    half_open: Mapping[int, Sequence[str]],
) -> Paths:
    """The hosts and pairs of which packets are lost."""
    asked = [(node, goal) for node, of_node in goals.items() for goal in of_node]
    heard = {_pair(names[node], names[goal.node]) for node, goal in asked if (node, goal.node) in reached}
    came = _callers(names, goals, half_open)
    broken = list(_broken(names, asked, reached, came))
    answers = [reached.get((node, goal.node)) for node, goal in asked]
    return Paths(
        tuple(_findings(broken, heard)), len(heard), all(one is not None and not one.failures for one in answers)
    )


def explained(blamed: Finding | None, paths: Paths, lost: Sequence[Finding] = ()) -> tuple[Finding, ...]:
    """What a run ends with whose ranks only say that they waited, or lost each other: the broken paths, if any.

    `lost`: connections of the launcher that broke, too.
    """
    if paths.findings:
        first, *more = paths.findings
        said = (f"what the ranks told of it: {blamed.message}",) if blamed else ()
        return (replace(first, evidence=(*first.evidence, *said, *(one.message for one in lost))), *more)
    if blamed is None:
        return ()
    return (replace(blamed, evidence=(*blamed.evidence, *([paths.whole] if paths.whole else []))),)


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


def _callers(
    names: Mapping[int, str], goals: Mapping[int, Sequence[Goal]], half_open: Mapping[int, Sequence[str]]
) -> set[Pair]:
    """(caller, called) of calls that were seen at the other end."""
    of_address = {a: goal.node for of_node in goals.values() for goal in of_node for a in goal.addresses}
    return {
        (names[of_address[address]], names[node])
        for node, addresses in half_open.items()
        for address in addresses
        if address in of_address and node in names
    }


def _broken(
    names: Mapping[int, str],
    asked: Iterable[tuple[int, Goal]],
    reached: Mapping[tuple[int, int], events.Reached],
    came: set[Pair],
) -> Iterator[BrokenPair]:
    found: dict[Pair, BrokenPair] = {}
    for node, goal in asked:
        answer, back = reached.get((node, goal.node)), reached.get((goal.node, node))
        # of a bad path both ends tell; where one has said nothing, its process may be gone, and refuse or hang
        told = back.failures if back is not None else answer and (answer.unanswered or answer.large_lost)
        if answer is None or not answer.failures or not told:
            continue
        caller, called = names[node], names[goal.node]
        way = {"from-goal": (called, caller), "to-goal": (caller, called), "": None}[answer.large_lost]
        # what one end has seen of the other's call came through; the answer to it did not
        lost = [way] if way else [(b, a) for a, b in ((caller, called), (called, caller)) if (a, b) in came]
        loss = Loss.LARGE if way else Loss.ALL
        said = tuple(f"{caller} calls {called} at {failure}" for failure in answer.failures)
        pair = BrokenPair(_pair(caller, called), loss, frozenset(lost), said)
        found[pair.hosts] = _both(found.get(pair.hosts, pair), pair)
    yield from found.values()


def _both(one: BrokenPair, other: BrokenPair) -> BrokenPair:
    """What both ends say of a pair; where small packets got through, it is the large ones that are lost."""
    if one.loss is not other.loss:
        return one if one.loss is Loss.LARGE else other
    said = tuple(dict.fromkeys((*one.said, *other.said)))
    return replace(one, ways=one.ways | other.ways, said=said)


def _findings(broken: Sequence[BrokenPair], heard: set[Pair]) -> Iterator[Finding]:
    those = {pair.hosts: pair for pair in broken}
    hosts, rest = blamed(those)
    for host in hosts:
        of_host = [pair for pair in broken if host in pair.hosts]
        yield _of_host(host, of_host, heard, _most(of_host))
    if len(rest) > _MOST_PAIRS:
        yield _of_network([those[pair] for pair in rest], heard, _most(broken))
        return
    for pair in rest:
        yield _of_pair(those[pair], heard - those.keys(), those[pair].loss)


def _most(pairs: Sequence[BrokenPair]) -> Loss:
    """What most of them lose: one call may fail for a small packet that was lost by chance."""
    large = sum(pair.loss is Loss.LARGE for pair in pairs)
    return Loss.LARGE if 2 * large >= len(pairs) else Loss.ALL


def _of_host(host: str, pairs: Sequence[BrokenPair], heard: set[Pair], loss: Loss) -> Finding:
    others = sorted(name for pair in pairs for name in pair.hosts if name != host)
    of_host = [pair for pair in heard if host in pair]
    sends, gets = ({(host, other) for other in others}, {(other, host) for other in others})
    ways = frozenset[Pair]().union(*(pair.ways for pair in pairs))
    them = named(others, _NAMED)
    if ways and ways <= sends:
        what = f"{_what(loss)} that {host} sends to {them} are lost; those that it is sent arrive"
    elif ways and ways <= gets:
        what = f"{_what(loss)} that {them} send to {host} are lost; those that it sends arrive"
    else:
        what = f"{_what(loss)} between {host} and {them} are lost in both directions"
    sure = (
        f"confirmed: {host} fails with {len(others)} of {counted(len(of_host), 'host')} that it was tried with, "
        "and these do not fail with each other"
        if len(others) == len(of_host)
        else f"suspected: {host} fails with {len(others)} of {counted(len(of_host), 'host')}"
    )
    subject = Subject(kind="host", name=host)
    return _kind(loss).finding(
        subject=subject, message=what, evidence=(sure, *_said(pairs)), remedy=_remedy(loss, host)
    )


def _of_pair(pair: BrokenPair, whole: set[Pair], loss: Loss) -> Finding:
    a, b = pair.hosts
    if len(pair.ways) == 1:
        ((sender, receiver),) = pair.ways
        what = f"{_what(loss)} from {sender} to {receiver} are lost; those from {receiver} to {sender} arrive"
    else:
        what = f"{_what(loss)} between {a} and {b} are lost in both directions"
    elsewhere = {
        host: sorted({name for one in whole if host in one for name in one} - {host}) for host in pair.hosts
    }
    reaches = (f"{host} still reaches {named(others, _NAMED)}" for host, others in elsewhere.items() if others)
    sure = ", ".join(reaches) or "neither reached a third host: which of the two is at fault is not known"
    return _kind(loss).finding(
        subject=Subject(kind="link", name=f"{a} - {b}"),
        message=what,
        evidence=(sure, *_said([pair])),
        remedy=_remedy(loss, f"{a} and {b}"),
    )


def _of_network(pairs: Sequence[BrokenPair], heard: set[Pair], loss: Loss) -> Finding:
    return _kind(loss).finding(
        subject=Subject(kind="run", name="all hosts"),
        message=f"{_what(loss)} between {len(pairs)} of {counted(len(heard), 'pair')} of hosts are lost; "
        "no host stands out",
        evidence=_said(pairs),
        remedy=_remedy(loss, "the hosts"),
    )


def _what(loss: Loss) -> str:
    return "packets" if loss is Loss.ALL else "large packets"


def _kind(loss: Loss) -> FindingKind:
    return PATH_CUT if loss is Loss.ALL else LARGE_PACKETS_LOST


def _remedy(loss: Loss, where: str) -> str:
    if loss is Loss.ALL:
        return f"check the firewall, the interface, and the switch port of {where}: nft list ruleset; ip -s link"
    return f"make the MTU of {where} and of each switch between the hosts equal: ip link; ping -M do -s 8972 HOST"


def _said(pairs: Sequence[BrokenPair]) -> tuple[str, ...]:
    firsts = [pair.said[0] for pair in pairs]
    return tuple(firsts[:_SHOWN] if len(pairs) > 1 else pairs[0].said[:_SHOWN])
