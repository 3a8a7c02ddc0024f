"""The addresses of a network namespace, by which connections and RAS name hosts."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nccltool.attach.seen.ranks import RankFound
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree

_MOST = 64
_OF_LINK = 0x20
"""Scope in if_inet6: an address that is unique on one link only names no host."""


def of_process(pid: int | str, tree: Tree) -> tuple[str, ...]:
    """Of the namespace that a process is in, without loopback; () = not readable, or none."""
    folder = f"/proc/{pid}/net"
    found = dict.fromkeys((*_four(tree, folder), *_six(tree, folder)))
    return tuple(found)[:_MOST]


def with_addresses(ranks: Sequence[RankFound], tree: Tree) -> tuple[RankFound, ...]:
    """Each namespace is read once."""
    by_space: dict[object, tuple[str, ...]] = {}
    found = []
    for rank in ranks:
        link = tree.link(f"/proc/{rank.pid}/ns/net")
        space: object = rank.pid if isinstance(link, Unknown) else link
        if space not in by_space:
            by_space[space] = of_process(rank.pid, tree)
        found.append(replace(rank, addresses=by_space[space]))
    return tuple(found)


def _four(tree: Tree, folder: str) -> Iterator[str]:
    """`|-- 10.0.0.5` that is followed by `/32 host LOCAL`."""
    lines = tree.lines(f"{folder}/fib_trie")
    last = ""
    for line in () if isinstance(lines, Unknown) else lines:
        if "|-- " in line:
            last = line.partition("|-- ")[2].strip()
        elif "/32 host LOCAL" in line and not last.startswith("127."):
            yield last


def _six(tree: Tree, folder: str) -> Iterator[str]:
    lines = tree.lines(f"{folder}/if_inet6")
    for words in map(str.split, () if isinstance(lines, Unknown) else lines):
        try:
            address, scope = ipaddress.IPv6Address(bytes.fromhex(words[0])), int(words[3], 16)
        except (ValueError, IndexError):
            continue
        if not scope & _OF_LINK and not address.is_loopback:
            yield str(address)
