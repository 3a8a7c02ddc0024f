"""Limits of the cgroup: processes, memory, processors; version 1 and 2."""

from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Count, Limit, ProcessLimits, Text
from nccltool.hosts.sources.base import Source, Tree

_ROOT = "/sys/fs/cgroup"
_LEAVES = (
    "cgroup_version", "cgroup_path", "pids_max", "pids_current", "memory_max_bytes", "cpu_cores", "oom_events",
    "cpuset",
)  # fmt: skip
_UNLIMITED_V1 = 1 << 60
"""Version 1 writes the largest number of pages for no limit."""


def read(tree: Tree, env: Mapping[str, str]) -> ProcessLimits:
    """The smallest limits between this process's group and the root of what is visible here."""
    del env
    lines = tree.lines("/proc/self/cgroup")
    if isinstance(lines, Unknown):
        return _unknown(lines)
    rows = [line.split(":", 2) for line in lines]
    paths = {name: row[2] for row in rows if len(row) == 3 for name in row[1].split(",")}
    if tree.exists(f"{_ROOT}/cgroup.controllers") is True:
        return _second(tree, paths.get("", "/"))
    if tree.exists(f"{_ROOT}/memory") is True or tree.exists(f"{_ROOT}/pids") is True:
        return _first(tree, paths)
    return _unknown(Unknown(f"no cgroup is mounted under {_ROOT}"))


def _unknown(why: Unknown) -> ProcessLimits:
    return ProcessLimits(**dict.fromkeys(_LEAVES, why))


def _up(root: str, path: str) -> Iterator[str]:
    """The group and those above it. In a cgroup namespace the path may lead out of what is mounted: `/../..`."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts), -1, -1):
        yield "/".join((root, *parts[:depth]))


def _second(tree: Tree, path: str) -> ProcessLimits:
    groups = [group for group in _up(_ROOT, path) if tree.exists(group) is True]
    own = groups[0] if groups else _ROOT
    return ProcessLimits(
        cgroup_version=2,
        cgroup_path=path,
        pids_max=_smallest(tree, groups, "pids.max"),
        pids_current=tree.number(f"{own}/pids.current"),
        memory_max_bytes=_smallest(tree, groups, "memory.max"),
        cpu_cores=_cores([_quota(tree.text(f"{group}/cpu.max")) for group in groups]),
        oom_events=_row(tree, f"{own}/memory.events", "oom"),
        cpuset=tree.text(f"{own}/cpuset.cpus.effective"),
    )


def _first(tree: Tree, paths: Mapping[str, str]) -> ProcessLimits:
    def groups(controller: str) -> list[str]:
        found = _up(f"{_ROOT}/{controller}", paths.get(controller, "/"))
        return [group for group in found if tree.exists(group) is True]

    pids, memory, cpu, cpuset = (groups(name) for name in ("pids", "memory", "cpu", "cpuset"))
    limit = _smallest(tree, memory, "memory.limit_in_bytes")
    quotas = [_quota_v1(tree, group) for group in cpu]
    return ProcessLimits(
        cgroup_version=1,
        cgroup_path=paths.get("memory", "/"),
        pids_max=_smallest(tree, pids, "pids.max"),
        pids_current=tree.number(f"{pids[0]}/pids.current") if pids else Unknown("no pids group is mounted"),
        memory_max_bytes=None if isinstance(limit, int) and limit > _UNLIMITED_V1 else limit,
        cpu_cores=_cores(quotas),
        oom_events=_row(tree, f"{memory[0]}/memory.oom_control", "oom_kill")
        if memory
        else Unknown("no memory group"),
        cpuset=tree.text(f"{cpuset[0]}/cpuset.cpus") if cpuset else Unknown("no cpuset group is mounted"),
    )


def _smallest(tree: Tree, groups: list[str], name: str) -> Limit:
    """The root group has no such file; a controller that is off has none anywhere."""
    texts = [tree.text(f"{group}/{name}") for group in groups]
    found = [text for text in texts if isinstance(text, str)]
    numbers = [int(text) for text in found if text.isdigit()]
    if not found:
        return Unknown(f"{_ROOT}: no group of this process shows {name}")
    return min(numbers) if numbers else None


def _quota(text: Text) -> float | Unknown | None:
    """`200000 100000` -> 2.0; `max 100000` -> None."""
    if isinstance(text, Unknown):
        return text
    quota, _, period = text.partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _quota_v1(tree: Tree, group: str) -> float | Unknown | None:
    quota, period = tree.number(f"{group}/cpu.cfs_quota_us"), tree.number(f"{group}/cpu.cfs_period_us")
    if isinstance(quota, Unknown) or isinstance(period, Unknown):
        return Unknown(f"{group} shows no cpu.cfs_quota_us")
    return quota / period if quota > 0 and period > 0 else None


def _cores(quotas: list[float | Unknown | None]) -> float | Unknown | None:
    seen = [quota for quota in quotas if not isinstance(quota, Unknown)]
    if not seen:
        return Unknown(f"{_ROOT}: no group of this process shows a quota of processors")
    return min((quota for quota in seen if quota is not None), default=None)


def _row(tree: Tree, path: str, name: str) -> Count:
    lines = tree.lines(path)
    if isinstance(lines, Unknown):
        return lines
    rows = [line.split() for line in lines]
    return next((int(row[1]) for row in rows if row[0] == name), Unknown(f"{path} has no {name}"))


SOURCES = (Source.quick("cgroup", "limits", read),)
