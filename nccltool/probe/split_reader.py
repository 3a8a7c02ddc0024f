"""From the words of --split to a split; every word that cannot be used is one clear sentence."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.core.user_files import contents
from nccltool.launch.named_hosts import parse_hosts
from nccltool.probe.split import GroupMembers, Split

Leaves = Mapping[str, tuple[str, ...]]
"""Each leaf switch with its nodes."""

_RANKS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
_MOST_RANKS = 100_000
_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_EXAMPLE = "one group per line, of hosts (n[01-04]) or of ranks (0-3)"


def split_of(word: str | None, *, also_alone: bool, leaves: Callable[[], Leaves | None] | None) -> Split | None:
    """None = the ranks stay together. `leaves` reads the file of --topology; it finds None
    where the racks in the names of nodes are meant. Raises BadInput."""
    if word is None:
        if also_alone:
            raise BadInput("--also-alone needs --split", "for example --split node --also-alone")
        if leaves is not None:
            raise BadInput("--topology needs --split leaf", "add it, or omit --topology")
        return None
    if word != "leaf" and leaves is not None:
        raise BadInput(f"--topology cannot be combined with --split {word[:60]}", "use --split leaf")
    if word == "node":
        return Split(by="node", word=word, also_alone=also_alone)
    if word == "rail":
        return Split(by="rail", word=word, also_alone=also_alone)
    if word == "leaf":
        return _of_leaves(leaves, also_alone)
    if _NUMBER.fullmatch(word):
        if not 0 < int(word[:9]) < _MOST_RANKS:
            raise BadInput(f"--split {word[:20]}: a group needs at least one node", "for example --split 2")
        return Split(by="nodes", word=word, nodes=int(word), also_alone=also_alone)
    if not Path(word).exists():
        raise BadInput(
            f"--split {word[:60]!r} is not node, rail, leaf, a number of nodes, or a file", "see --help"
        )
    members = groups_in(contents(word, "--split"), f"--split {word}")
    return Split(by="file", word=word, members=members, also_alone=also_alone)


def _of_leaves(leaves: Callable[[], Leaves | None] | None, also_alone: bool) -> Split:
    if leaves is None:
        remedy = "name a file with the leaf switch of each node: Slurm's topology.conf, or lines of NODE LEAF"
        raise BadInput("--split leaf needs --topology FILE", remedy)
    found = leaves()
    if found is None:
        return Split(by="leaf", word="leaf", leaves_by_name=True, also_alone=also_alone)
    if not found:
        raise BadInput(
            "--topology: the file names no leaf switch", "use a file that assigns nodes to leaf switches"
        )
    members = tuple(
        GroupMembers(name=escaped(leaf), hosts=nodes, where=f"leaf {escaped(leaf)}")
        for leaf, nodes in found.items()
    )
    return Split(by="leaf", word="leaf", members=members, also_alone=also_alone)


def groups_in(data: bytes, where: str) -> tuple[GroupMembers, ...]:
    """The groups of a file. Raises BadInput with the line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{where}: not a text file", f"write {_EXAMPLE}") from error
    found: list[GroupMembers] = []
    first: dict[str | int, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        group = _group(",".join(words), f"{where} line {number}", number)
        members: tuple[str | int, ...] = (*group.hosts, *group.ranks)
        for member in members:
            if member in first:
                what = f"rank {member}" if isinstance(member, int) else member
                also = f"line {first[member]}" if first[member] != number else "the same line"
                raise BadInput(f"{group.where}: {what} is already in {also}", "name each host or rank once")
            first[member] = number
        found.append(group)
    if not found:
        raise BadInput(f"{where} names no group", f"write {_EXAMPLE}")
    return tuple(found)


def _group(words: str, where: str, number: int) -> GroupMembers:
    parts = [part for part in words.split(",") if part]
    matches = [_RANKS.fullmatch(part) for part in parts]
    name = f"line {number}"
    if parts and all(matches):
        return GroupMembers(
            name=name,
            where=where,
            ranks=tuple(rank for match in matches if match for rank in _range(match, where)),
        )
    if any(matches) and "[" not in words:
        raise BadInput(f"{where}: hosts and ranks cannot be mixed", f"write {_EXAMPLE}")
    return GroupMembers(name=name, where=where, hosts=tuple(_hosts(words, where)))


def _hosts(words: str, where: str) -> list[str]:
    """Twice in one line is told here, too, by the parser of --hosts."""
    return [host.name for host in parse_hosts(words, where)]


def _range(match: re.Match[str], where: str) -> range:
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise BadInput(f"{where}: {match[0]} counts backwards", f"write {last}-{first}")
    return range(first, last + 1)
