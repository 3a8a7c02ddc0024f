"""The processes of this host, as far as finding ranks needs them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nccltool.attach.find import variables
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

_DISTRIBUTED = ("gloo_tcp_loop", "pt_gloo_runloop", "pt_nccl_watchdg", "pt_nccl_heartbt", "NCCL ")
"""Threads that torch and NCCL start for process groups; a forked child, such as a loader worker, has none."""
_MOST_THREADS = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessRow:
    """One process."""

    pid: int
    parent: int
    name: str
    state: str
    uid: int
    started_ticks: int
    """Of the clock, since the boot."""
    inner_pids: tuple[int, ...] = ()
    command: tuple[str, ...] = ()
    env: Mapping[str, str] | Unknown = field(default_factory=dict)
    network: str = ""
    """Its network namespace; empty = not readable."""
    is_distributed: bool = False
    """It has a thread of torch's process groups."""


def rows(tree: Tree | None = None) -> dict[int, ProcessRow]:
    """All processes that can be seen; one that ends meanwhile is left out."""
    tree = tree or Tree()
    names = or_none(tree.names("/proc")) or ()
    found = (row(tree, int(name)) for name in names if name.isdecimal())
    return {one.pid: one for one in found if one is not None}


def row(tree: Tree, pid: int) -> ProcessRow | None:
    folder = f"/proc/{pid}"
    stat, status = or_none(tree.text(f"{folder}/stat")), or_none(tree.rows(f"{folder}/status"))
    if stat is None or status is None:
        return None
    words = stat.rpartition(")")[2].split()
    if len(words) < 20:
        return None
    command = tuple(part for part in (or_none(tree.exact(f"{folder}/cmdline")) or "").split("\0") if part)
    raw = tree.raw(f"{folder}/environ") if command else b""  # kernel threads have none
    return ProcessRow(
        pid=pid,
        parent=int(words[1]),
        name=status.get("Name", "?"),
        state=words[0],
        uid=int((status.get("Uid") or "0").split()[0]),
        started_ticks=int(words[19]),
        inner_pids=tuple(map(int, status.get("NSpid", "").split())),
        command=command,
        network=or_none(tree.link(f"{folder}/ns/net")) or "" if command else "",
        env=raw if isinstance(raw, Unknown) else variables.chosen(raw),
        is_distributed=bool(command) and any(_has_group_thread(tree, folder)),
    )


def _has_group_thread(tree: Tree, folder: str) -> Iterator[bool]:
    for thread in (or_none(tree.names(f"{folder}/task")) or ())[:_MOST_THREADS]:
        yield (or_none(tree.text(f"{folder}/task/{thread}/comm")) or "").startswith(_DISTRIBUTED)


def started_at_s(tree: Tree, ticks: int) -> float | None:
    """Seconds since 1970; the kernel's clock of the boot may be off by a second."""
    lines = or_none(tree.lines("/proc/stat")) or ()
    boot = next((line.split()[1] for line in lines if line.startswith("btime ")), "")
    return int(boot) + ticks / os.sysconf("SC_CLK_TCK") if boot.isdecimal() else None
