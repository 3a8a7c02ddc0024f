"""Limits of this process, huge pages, and what logind removes."""

from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Count, Flag, Limit, ProcessLimits, Texts
from nccltool.hosts.sources.base import Source, Tree

_LIMITS = "/proc/self/limits"
_ROWS = {
    "nofile": "Max open files",
    "memlock": "Max locked memory",
    "stack": "Max stack size",
    "nproc": "Max processes",
    "address_space": "Max address space",
    "core": "Max core file size",
}
_LOGIND = ("/etc/systemd/logind.conf", "/usr/lib/systemd/logind.conf")
_DROP_INS = ("/usr/lib/systemd/logind.conf.d", "/etc/systemd/logind.conf.d")


def read(tree: Tree, env: Mapping[str, str]) -> ProcessLimits:
    """All but the cgroup's."""
    del env
    lines, memory = tree.lines(_LIMITS), tree.lines("/proc/meminfo")
    nofile, memlock, stack, nproc, space, core = (_pair(lines, title) for title in _ROWS.values())
    return ProcessLimits(
        nofile_soft=nofile[0],
        nofile_hard=nofile[1],
        memlock_soft_bytes=memlock[0],
        memlock_hard_bytes=memlock[1],
        stack_soft_bytes=stack[0],
        stack_hard_bytes=stack[1],
        nproc_soft=nproc[0],
        nproc_hard=nproc[1],
        address_space_soft_bytes=space[0],
        core_soft_bytes=core[0],
        hugepages_total=_number(memory, "HugePages_Total"),
        hugepages_free=_number(memory, "HugePages_Free"),
        hugepage_bytes=_number(memory, "Hugepagesize", 1024),
        remove_ipc=_remove_ipc(tree),
    )


def _pair(lines: Texts, title: str) -> tuple[Limit, Limit]:
    """(soft, hard)."""
    if isinstance(lines, Unknown):
        return lines, lines
    rows = [line[len(title) :].split() for line in lines if line.startswith(title)]
    if not rows or len(rows[0]) < 2:
        why = Unknown(f"{_LIMITS} has no {title}")
        return why, why
    return _limit(rows[0][0]), _limit(rows[0][1])


def _limit(word: str) -> Limit:
    if word == "unlimited":
        return None
    return int(word) if word.isdigit() else Unknown(f"{_LIMITS} says {word!r}")


def _number(memory: Texts, name: str, factor: int = 1) -> Count:
    if isinstance(memory, Unknown):
        return memory
    rows = [line.split() for line in memory if line.startswith(name + ":")]
    found = [int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()]
    return found[0] * factor if found else Unknown(f"/proc/meminfo has no {name}")


def _remove_ipc(tree: Tree) -> Flag:
    """The last word counts; without a word it is yes."""
    files = [path for path in _LOGIND if tree.exists(path) is True][:1]
    if not files:
        return Unknown(f"{_LOGIND[0]} does not exist")
    for folder in _DROP_INS:
        names = tree.names(folder, absent=())
        if isinstance(names, Unknown):
            return names
        files += [f"{folder}/{name}" for name in names if name.endswith(".conf")]
    said = True
    for file in files:
        lines = tree.lines(file)
        if isinstance(lines, Unknown):
            return lines
        for name, _, value in (line.strip().partition("=") for line in lines):
            if name.strip() == "RemoveIPC":
                said = value.strip().lower() in ("1", "yes", "y", "true", "t", "on")
    return said


SOURCES = (Source.quick("limits", "limits", read),)
