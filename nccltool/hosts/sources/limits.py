"""Limits of this process and of its cgroup (version 1 and 2), huge pages, and what logind removes."""

from collections.abc import Callable
from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Limit, ProcessLimits
from nccltool.hosts.facts.leaves import NotKnown, Texts, known, or_unknown, then
from nccltool.hosts.sources.base import Source, Tree

_LIMITS = "/proc/self/limits"
_ROWS = {
    "Max open files": ("nofile_soft", "nofile_hard"),
    "Max locked memory": ("memlock_soft_bytes", "memlock_hard_bytes"),
    "Max stack size": ("stack_soft_bytes", "stack_hard_bytes"),
    "Max processes": ("nproc_soft", "nproc_hard"),
    "Max address space": ("address_space_soft_bytes",),
    "Max core file size": ("core_soft_bytes",),
}
_LOGIND = ("/etc/systemd/logind.conf", "/usr/lib/systemd/logind.conf")
_DROP_INS = ("/usr/lib/systemd/logind.conf.d", "/etc/systemd/logind.conf.d")
_ROOT = "/sys/fs/cgroup"
_OF_A_CGROUP = (
    "cgroup_version", "cgroup_path", "pids_max", "pids_current", "memory_max_bytes", "cpu_cores", "oom_events",
    "cpuset",
)  # fmt: skip
_UNLIMITED_V1 = 1 << 60
"""Version 1 writes the largest number of pages for no limit."""
_Cores = float | Unknown | None


def process(tree: Tree) -> ProcessLimits:
    """All but the cgroup's."""
    lines = tree.lines(_LIMITS)
    own: dict[str, Any] = {
        field: _limit(lines, title, column)
        for title, fields in _ROWS.items()
        for column, field in enumerate(fields)
    }
    return ProcessLimits(
        **own,
        hugepages_total=tree.meminfo("HugePages_Total", 1),
        hugepages_free=tree.meminfo("HugePages_Free", 1),
        hugepage_bytes=tree.meminfo("Hugepagesize"),
        remove_ipc=_remove_ipc(tree),
    )


@or_unknown
def _limit(lines: Texts, title: str, column: int) -> int | None:
    rows = [line[len(title) :].split() for line in known(lines) if line.startswith(title)]
    if not rows or len(rows[0]) < 2:
        raise NotKnown(f"{_LIMITS} has no {title}")
    word = rows[0][column]
    if word != "unlimited" and not word.isdigit():
        raise NotKnown(f"{_LIMITS} says {word!r}")
    return None if word == "unlimited" else int(word)


@or_unknown
def _remove_ipc(tree: Tree) -> bool:
    """The last word counts; without a word it is yes."""
    files = [path for path in _LOGIND if tree.exists(path) is True][:1]
    if not files:
        raise NotKnown(f"{_LOGIND[0]} does not exist")
    for folder in _DROP_INS:
        files += [f"{folder}/{name}" for name in known(tree.names(folder, absent=())) if name.endswith(".conf")]
    words = [known(tree.rows(file, "=")).get("RemoveIPC") for file in files]
    said = [word.lower() for word in words if word is not None]
    return not said or said[-1] in ("1", "yes", "y", "true", "t", "on")


def cgroup(tree: Tree) -> ProcessLimits:
    """The smallest limits between this process's group and the root of what is visible here."""
    found = _of_cgroup(tree)
    return ProcessLimits(**dict.fromkeys(_OF_A_CGROUP, found)) if isinstance(found, Unknown) else found


@or_unknown
def _of_cgroup(tree: Tree) -> ProcessLimits:
    rows = [line.split(":", 2) for line in known(tree.lines("/proc/self/cgroup"))]
    paths = {name: row[2] for row in rows if len(row) == 3 for name in row[1].split(",")}
    second = tree.exists(f"{_ROOT}/cgroup.controllers") is True
    if not second and True not in (tree.exists(f"{_ROOT}/memory"), tree.exists(f"{_ROOT}/pids")):
        raise NotKnown(f"no cgroup is mounted under {_ROOT}")
    controllers = ("", "", "", "") if second else ("pids", "memory", "cpu", "cpuset")
    pids, memory, cpu, cpuset = (_groups(tree, name, paths.get(name, "/")) for name in controllers)
    limit = _smallest(tree, memory, "memory.max" if second else "memory.limit_in_bytes")
    if not second and isinstance(limit, int) and limit > _UNLIMITED_V1:
        limit = None
    file, event = ("memory.events", "oom") if second else ("memory.oom_control", "oom_kill")
    events = tree.row(f"{memory[0]}/{file}", event, " ") if memory else Unknown("no memory group")
    cpus = "cpuset.cpus.effective" if second else "cpuset.cpus"
    return ProcessLimits(
        cgroup_version=2 if second else 1,
        cgroup_path=paths.get(controllers[1], "/"),
        pids_max=_smallest(tree, pids, "pids.max"),
        pids_current=tree.number(f"{pids[0]}/pids.current") if pids else Unknown("no pids group is mounted"),
        memory_max_bytes=limit,
        cpu_cores=_cores(tree, cpu, _quota if second else _quota_v1),
        oom_events=then(events, int),
        cpuset=tree.text(f"{cpuset[0]}/{cpus}") if cpuset else Unknown("no cpuset group is mounted"),
    )


def _groups(tree: Tree, controller: str, path: str) -> list[str]:
    """The group and those above it. In a cgroup namespace the path may lead out of what is mounted: `/../..`."""
    root = f"{_ROOT}/{controller}".rstrip("/")
    parts = [part for part in path.split("/") if part and part != ".."]
    above = ("/".join((root, *parts[:depth])) for depth in range(len(parts), -1, -1))
    return [group for group in above if tree.exists(group) is True]


def _smallest(tree: Tree, groups: list[str], name: str) -> Limit:
    """The root group has no such file; a controller that is off has none anywhere."""
    texts = [tree.text(f"{group}/{name}") for group in groups]
    found = [text for text in texts if isinstance(text, str)]
    if not found:
        return Unknown(f"{_ROOT}: no group of this process shows {name}")
    return min((int(text) for text in found if text.isdigit()), default=None)


@or_unknown
def _quota(tree: Tree, group: str) -> float | None:
    """`200000 100000` -> 2.0; `max 100000` -> None."""
    quota, _, period = known(tree.text(f"{group}/cpu.max")).partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


@or_unknown
def _quota_v1(tree: Tree, group: str) -> float | None:
    quota, period = (known(tree.number(f"{group}/cpu.cfs_{word}_us")) for word in ("quota", "period"))
    return quota / period if quota > 0 and period > 0 else None


def _cores(tree: Tree, groups: list[str], quota: Callable[[Tree, str], _Cores]) -> _Cores:
    seen = [one for one in (quota(tree, group) for group in groups) if not isinstance(one, Unknown)]
    if not seen:
        return Unknown(f"{_ROOT}: no group of this process shows a quota of processors")
    return min((one for one in seen if one is not None), default=None)


SOURCES = (Source.quick("limits", "limits", process), Source.quick("cgroup", "limits", cgroup))
