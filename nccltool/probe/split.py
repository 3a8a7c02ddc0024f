"""The groups into which the ranks of a job are divided, and which rank is in which. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nccltool.core.findings import Finding, Subject
from nccltool.core.host_lists import briefly, rack_in
from nccltool.core.text import counted, named
from nccltool.launch import rank_agreement
from nccltool.launch.events import RankFacts
from nccltool.launch.job import node_name
from nccltool.probe.finding_kinds import LEFT_OUT, SPLIT_IMPOSSIBLE

SplitBy = Literal["node", "rail", "leaf", "nodes", "file"]

LEAST_RANKS = 2
"""One rank has nobody to exchange data with."""
_NAMED = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupMembers:
    """A group as somebody wrote it down: a line of a file, or a leaf switch."""

    name: str
    hosts: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    where: str = ""
    """For a reader: where it was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """How to divide the ranks of a job."""

    by: SplitBy
    word: str
    """As it was asked for."""
    nodes: int = 0
    """In a group, of `nodes`."""
    members: tuple[GroupMembers, ...] = ()
    """Of `leaf` and `file`."""
    leaves_by_name: bool = False
    """Of `leaf`: the racks in the names of nodes are the groups."""
    also_alone: bool = False
    """Measure each group while the others are idle, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitGroup:
    """Ranks that run their collectives among themselves."""

    name: str
    ranks: tuple[int, ...]
    nodes: tuple[str, ...]
    """Their hosts; emulated nodes by their numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FormedGroups:
    """What a split makes of the ranks that came."""

    groups: tuple[SplitGroup, ...] = ()
    findings: tuple[Finding, ...] = ()


def formed(split: Split, ranks: Sequence[RankFacts]) -> FormedGroups:
    """The groups of these ranks, in rank order; and who is in none, or why there are none."""
    nodes = _nodes(ranks)
    if split.leaves_by_name:
        split = replace(split, members=_racks(nodes.values()))
    if split.by in ("leaf", "file"):
        homes = _Homes(split, ranks, nodes)
        problems = tuple(homes.problems())
        if problems:
            return FormedGroups(findings=problems)
        rows = homes.rows()
    else:
        rows = _by_rule(split, ranks, nodes)
    groups = [_group(name, mine, nodes) for name, mine in rows]
    usable = tuple(group for group in groups if len(group.ranks) >= LEAST_RANKS)
    if len(usable) < 2:
        return FormedGroups(findings=(_too_few(split, groups, usable),))
    return FormedGroups(groups=usable, findings=(*_lonely(groups), *_homeless(split, ranks, groups, nodes)))


def _racks(nodes: Iterable[str]) -> tuple[GroupMembers, ...]:
    racks: dict[str, dict[str, None]] = {}
    for node in nodes:
        if rack := rack_in(node):
            racks.setdefault(rack, {})[node] = None
    return tuple(GroupMembers(name=rack, hosts=tuple(those)) for rack, those in racks.items())


def _nodes(ranks: Sequence[RankFacts]) -> dict[int, str]:
    """The node of each rank, by its name."""
    emulated = rank_agreement.is_emulated(ranks)
    return {one.rank: node_name(one.node_rank) if emulated else one.host for one in ranks}


def _group(name: str, ranks: Sequence[int], nodes: Mapping[int, str]) -> SplitGroup:
    return SplitGroup(
        name=name, ranks=tuple(sorted(ranks)), nodes=tuple(dict.fromkeys(nodes[rank] for rank in sorted(ranks)))
    )


def _by_rule(split: Split, ranks: Sequence[RankFacts], nodes: Mapping[int, str]) -> list[tuple[str, list[int]]]:
    order = list(dict.fromkeys(nodes[one.rank] for one in ranks))
    blocks = [order[first : first + split.nodes] for first in range(0, len(order), max(split.nodes, 1))]
    block_of = {node: _block_name(block) for block in blocks for node in block}
    found: dict[str, list[int]] = {}
    for one in ranks:
        match split.by:
            case "rail":
                name = f"rail {one.local_rank}"
            case "nodes":
                name = block_of[nodes[one.rank]]
            case _:
                name = nodes[one.rank]
        found.setdefault(name, []).append(one.rank)
    return list(found.items())


def _block_name(nodes: Sequence[str]) -> str:
    """`n1 - n4`."""
    return nodes[0] if len(nodes) == 1 else f"{nodes[0]} - {nodes[-1]}"


class _Homes:
    """Which ranks the words of a file mean."""

    def __init__(self, split: Split, ranks: Sequence[RankFacts], nodes: Mapping[int, str]) -> None:
        self._split, self._world, self._nodes = split, len(ranks), nodes
        self._of_host: dict[str, list[int]] = {}
        for one in ranks:
            for alias in _aliases(one.host, nodes[one.rank]):
                self._of_host.setdefault(alias, []).append(one.rank)

    def problems(self) -> Iterator[Finding]:
        is_file = self._split.by == "file"  # a topology has all nodes of a cluster
        for group in self._split.members if is_file else ():
            hosts = [host for host in group.hosts if not self._ranks_of(host)]
            ranks = [str(rank) for rank in group.ranks if rank >= self._world]
            if hosts:
                message = f"{group.where}: no rank of this run is on {named(hosts, _NAMED)}"
                yield _impossible(message, "correct the name, or start ranks on that host too (--hosts)")
            if ranks:
                message = (
                    f"{group.where}: there is no rank {named(ranks, _NAMED)}; ranks are 0 to {self._world - 1}"
                )
                yield _impossible(message, "correct the number, or start more ranks")
        counts = Counter(rank for group in self._split.members for rank in self._of(group))
        if twice := sorted(rank for rank, count in counts.items() if count > 1):
            whose = [group.where or group.name for group in self._split.members if twice[0] in self._of(group)]
            on = self._nodes[twice[0]]
            message = f"rank {twice[0]} on {on} is in several groups: {named(dict.fromkeys(whose), _NAMED)}"
            yield _impossible(message, "name each host or rank once")

    def rows(self) -> list[tuple[str, list[int]]]:
        found = [(group.name, self._of(group)) for group in self._split.members]
        return sorted(((name, mine) for name, mine in found if mine), key=lambda row: min(row[1]))

    def _of(self, group: GroupMembers) -> list[int]:
        of_hosts = [rank for host in group.hosts for rank in self._ranks_of(host)]
        return [*of_hosts, *(rank for rank in group.ranks if rank < self._world)]

    def _ranks_of(self, host: str) -> list[int]:
        return self._of_host.get(host) or self._of_host.get(host.partition(".")[0], [])


def _aliases(host: str, node: str) -> tuple[str, ...]:
    """How a file may call a node: its host with or without domain; emulated ones `node0`."""
    if node != host:
        return (node, node.replace(" ", ""))
    return tuple(dict.fromkeys((host, host.partition(".")[0])))


def _impossible(message: str, remedy: str) -> Finding:
    return SPLIT_IMPOSSIBLE.finding(subject=Subject(kind="run", name="--split"), message=message, remedy=remedy)


def _too_few(split: Split, groups: Sequence[SplitGroup], usable: Sequence[SplitGroup]) -> Finding:
    if split.leaves_by_name and not groups:
        problem = "--topology host-names: no name of a node has a rack and a node number, as r12n03 has"
        return _impossible(problem, "write a file with lines of NODE LEAF")
    made = f"it makes {counted(len(groups), 'group')}"
    if len(usable) < len(groups):
        made += f", {len(groups) - len(usable)} of them with one rank"
    return _impossible(
        f"--split {split.word}: {made}, but at least two groups of two or more ranks are needed",
        "start more ranks (--nodes, --nproc-per-node), choose smaller groups, or omit --split",
    )


def _lonely(groups: Sequence[SplitGroup]) -> Iterator[Finding]:
    for group in groups:
        if len(group.ranks) < LEAST_RANKS:
            yield _left_out(f"group {group.name}", "a group needs two ranks")


def _homeless(
    split: Split, ranks: Sequence[RankFacts], groups: Sequence[SplitGroup], nodes: Mapping[int, str]
) -> Iterator[Finding]:
    placed = {rank for group in groups for rank in group.ranks}
    away = [one.rank for one in ranks if one.rank not in placed]
    if not away:
        return
    whole = {nodes[rank] for rank in away} - {nodes[rank] for rank in placed}
    single = [str(rank) for rank in away if nodes[rank] not in whole]
    unnamed = "its name has no rack" if split.leaves_by_name else "the topology names no leaf for it"
    source = unnamed if split.by == "leaf" else f"{split.word} does not name it"
    if whole:
        yield _left_out(briefly(whole), source)
    if single:
        yield _left_out(f"rank {named(single, _NAMED)}", source)


def _left_out(what: str, reason: str) -> Finding:
    return LEFT_OUT.finding(subject=Subject(kind="run", name="--split"), message=f"{what} was left out: {reason}")
