"""Limits of this process and of its cgroup (version 1 and 2), huge pages, what logind removes; shared memory."""

import os
import re
import time
from collections.abc import Callable
from typing import Any

from nccltool.core.text import whole
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Limit, ProcessLimits, Shm, ShmFile, Text
from nccltool.hosts.facts.leaves import NotKnown, Texts, all_unknown, known, or_unknown, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_LIMITS = "/proc/self/limits"
_DIGITS = 20
"""Of the largest number that the kernel writes, of 64 bits."""
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
_SHM = "/dev/shm"  # noqa: S108 - nothing is written there
_MOST = 64
_FACTORS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


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
    if word == "unlimited":
        return None
    if (number := whole(word, _DIGITS)) is None:
        raise NotKnown(f"{_LIMITS} contains {word[:40]!r}")
    return number


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
        raise NotKnown(f"no cgroup mounted under {_ROOT}")
    controllers = ("", "", "", "") if second else ("pids", "memory", "cpu", "cpuset")
    pids, memory, cpu, cpuset = (groups(tree, name, paths.get(name, "/")) for name in controllers)
    limit = _smallest(tree, memory, "memory.max" if second else "memory.limit_in_bytes")
    if not second and isinstance(limit, int) and limit > _UNLIMITED_V1:
        limit = None
    file, event = ("memory.events", "oom") if second else ("memory.oom_control", "oom_kill")
    events = tree.row(f"{memory[0]}/{file}", event, " ") if memory else Unknown("no memory cgroup")
    cpus = "cpuset.cpus.effective" if second else "cpuset.cpus"
    return ProcessLimits(
        cgroup_version=2 if second else 1,
        cgroup_path=paths.get(controllers[1], "/"),
        pids_max=_smallest(tree, pids, "pids.max"),
        pids_current=tree.number(f"{pids[0]}/pids.current") if pids else Unknown("no pids cgroup mounted"),
        memory_max_bytes=limit,
        cpu_cores=_cores(tree, cpu, _quota if second else _quota_v1),
        oom_events=then(events, int),
        cpuset=tree.text(f"{cpuset[0]}/{cpus}") if cpuset else Unknown("no cpuset cgroup mounted"),
    )


def groups(tree: Tree, controller: str, path: str) -> list[str]:
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
        return Unknown(f"no cgroup of this process has {name}")
    return min((number for text in found if (number := whole(text, _DIGITS)) is not None), default=None)


@or_unknown
def _quota(tree: Tree, group: str) -> float | None:
    """`200000 100000` -> 2.0; `max 100000` -> None."""
    quota, _, period = known(tree.text(f"{group}/cpu.max")).partition(" ")
    used, of = whole(quota), whole(period)
    return used / of if used is not None and of else None


@or_unknown
def _quota_v1(tree: Tree, group: str) -> float | None:
    quota, period = (known(tree.number(f"{group}/cpu.cfs_{word}_us")) for word in ("quota", "period"))
    return quota / period if quota > 0 and period > 0 else None


def _cores(tree: Tree, groups: list[str], quota: Callable[[Tree, str], _Cores]) -> _Cores:
    seen = [one for one in (quota(tree, group) for group in groups) if not isinstance(one, Unknown)]
    if not seen:
        return Unknown("no cgroup of this process has a CPU quota")
    return min((one for one in seen if one is not None), default=None)


def shared_memory(tree: Tree) -> Shm:
    """What is mounted at /dev/shm, and what dead jobs have left in it."""
    mount = _mount(tree)
    if not tree.live:
        there = mount if isinstance(mount, Unknown) else bool(mount) or tree.exists(_SHM)
        return all_unknown(Shm, CAPTURED, exists=there, fstype=_fstype(mount), size_bytes=_size(mount))
    try:
        state, device = os.statvfs(_SHM), os.stat(_SHM).st_dev
    except OSError as error:
        why = tree.why(_SHM, error)
        there = tree.exists(_SHM)
        return all_unknown(Shm, why.reason, exists=there, nccl_files=() if there is False else why)
    return Shm(
        exists=True,
        fstype=_fstype(mount),
        size_bytes=state.f_blocks * state.f_frsize,
        free_bytes=state.f_bavail * state.f_frsize,
        writable=os.access(_SHM, os.W_OK | os.X_OK),
        device=device,
        nccl_files=_files(tree),
    )


@or_unknown
def _mount(tree: Tree) -> list[str]:
    """[type, source, options] of the last mount there; [] = it is an ordinary folder."""
    return next((words for point, words in reversed(known(tree.mounts())) if point == _SHM), [])


def _fstype(mount: list[str] | Unknown) -> Text:
    return then(mount, lambda words: words[0] if words else Unknown(f"nothing mounted at {_SHM}"))


@or_unknown
def _size(mount: list[str] | Unknown) -> int:
    """The option size=65536k, which the kernel shows unless it is half of the memory."""
    match = re.search(r"(?:^|,)size=(\d+)([kmg]?)", (known(mount) or [""])[-1])
    if match is None:
        raise NotKnown(f"the {_SHM} mount has no size option")
    return int(match[1]) * _FACTORS[match[2]]


@or_unknown
def _files(tree: Tree) -> tuple[ShmFile, ...]:
    states = {name: tree.stat(f"{_SHM}/{name}") for name in known(tree.names(_SHM)) if name.startswith("nccl-")}
    mapped, now = _mapped(tree) if states else (), time.time()
    found = (
        ShmFile(
            name=name,
            size_bytes=state.st_size,
            age_s=max(0.0, now - state.st_mtime),
            uid=state.st_uid,
            mapped=then(mapped, {f"{_SHM}/{name}"}.issubset),
        )
        for name, state in states.items()
        if not isinstance(state, Unknown)  # gone meanwhile
    )
    return tuple(sorted(found, key=lambda file: -file.age_s)[:_MOST])


@or_unknown
def _mapped(tree: Tree) -> tuple[str, ...]:
    """Files nccl-* that a process has mapped. Unknown as soon as one process may not be looked at."""
    found: set[str] = set()
    for pid in known(tree.names("/proc")):
        maps = tree.exact(f"/proc/{pid}/maps") if pid.isdigit() else ""
        if isinstance(maps, str):
            found.update(re.findall(rf"{_SHM}/nccl-\S+", maps))
        elif not maps.reason.endswith(("No such file or directory", "No such process")):
            raise NotKnown("other users' processes are not readable")
    return tuple(found)


SOURCES = (
    Source.quick("limits", "limits", process),
    Source.quick("cgroup", "limits", cgroup),
    Source.quick("shm", "shm", shared_memory),
)
