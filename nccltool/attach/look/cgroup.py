"""The cgroup of a process, version 1 or 2: whether it is frozen, short of CPU, or lost processes for memory."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from nccltool.attach.seen.process import CgroupState
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

_ROOT = "/sys/fs/cgroup"


def state(pid: int, tree: Tree) -> CgroupState | None:
    """None when it cannot be read, or there is none."""
    groups = dict(_groups(or_none(tree.lines(f"/proc/{pid}/cgroup")) or ()))
    second = _second(groups[""], tree) if "" in groups else None
    if not any(groups.get(name) for name in ("freezer", "memory", "cpu")):
        return second
    first = _first(groups, tree)
    if second is not None and second.frozen:  # a host with both versions
        return replace(first, path=second.path, version=2, frozen=True)
    return first


def _groups(lines: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Controller -> path; the one without a name is that of version 2."""
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for name in controllers.split(","):
            yield name, path


def _levels(base: str, path: str) -> Iterator[str]:
    """The folder of a group and those above, as they are seen here."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for count in range(len(parts), -1, -1):
        yield "/".join((base, *parts[:count]))


def _second(path: str, tree: Tree) -> CgroupState | None:
    base = f"{_ROOT}/unified" if tree.exists(f"{_ROOT}/unified/cgroup.controllers") is True else _ROOT
    levels = tuple(_levels(base, path))
    if tree.exists(f"{levels[0]}/cgroup.events") is not True and len(levels) > 1:
        return None
    events = [_pairs(tree, f"{level}/cgroup.events") for level in levels]
    cpu = [_pairs(tree, f"{level}/cpu.stat") for level in levels]
    memory = [_pairs(tree, f"{level}/memory.events") for level in levels]
    throttled = _most(cpu, "throttled_usec")
    return CgroupState(
        path=path,
        version=2,
        frozen=_any(events, "frozen"),
        throttled=_most(cpu, "nr_throttled"),
        throttled_s=None if throttled is None else throttled / 1e6,
        oom_kills=_most(memory, "oom_kill"),
        memory_bytes=or_none(tree.number(f"{levels[0]}/memory.current")),
        memory_limit_bytes=_least(tree, levels, "memory.max"),
        cpu_pressure=_pressure(tree, f"{levels[0]}/cpu.pressure"),
    )


def _first(groups: Mapping[str, str], tree: Tree) -> CgroupState:
    freezer = tuple(_levels(f"{_ROOT}/freezer", groups.get("freezer", "/")))
    folder = "cpu" if tree.exists(f"{_ROOT}/cpu") is True else "cpu,cpuacct"
    cpu = [_pairs(tree, f"{level}/cpu.stat") for level in _levels(f"{_ROOT}/{folder}", groups.get("cpu", "/"))]
    levels = tuple(_levels(f"{_ROOT}/memory", groups.get("memory", "/")))
    states = [or_none(tree.text(f"{level}/freezer.state")) for level in freezer]
    throttled = _most(cpu, "throttled_time")
    return CgroupState(
        path=groups.get("freezer") or groups.get("cpu") or groups.get("memory", ""),
        version=1,
        frozen=any(one == "FROZEN" for one in states) if any(states) else None,
        throttled=_most(cpu, "nr_throttled"),
        throttled_s=None if throttled is None else throttled / 1e9,
        oom_kills=_most([_pairs(tree, f"{level}/memory.oom_control") for level in levels], "oom_kill"),
        memory_bytes=or_none(tree.number(f"{levels[0]}/memory.usage_in_bytes")),
        memory_limit_bytes=_least(tree, levels, "memory.limit_in_bytes"),
    )


def _pairs(tree: Tree, file: str) -> dict[str, int]:
    words = (line.split() for line in or_none(tree.lines(file)) or ())
    return {parts[0]: int(parts[1]) for parts in words if len(parts) == 2 and parts[1].isdecimal()}


def _most(levels: list[dict[str, int]], name: str) -> int | None:
    return max((level[name] for level in levels if name in level), default=None)


def _any(levels: list[dict[str, int]], name: str) -> bool | None:
    named = [level[name] for level in levels if name in level]
    return any(named) if named else None


_UNLIMITED = 1 << 60
"""Version 1 writes a number close to 2^63 for no limit."""


def _least(tree: Tree, levels: tuple[str, ...], name: str) -> int | None:
    limits = (or_none(tree.number(f"{level}/{name}")) for level in levels)
    return min((limit for limit in limits if limit is not None and limit < _UNLIMITED), default=None)


def _pressure(tree: Tree, file: str) -> float | None:
    for line in or_none(tree.lines(file)) or ():
        kind, _, rest = line.partition(" ")
        average = dict(part.partition("=")[::2] for part in rest.split()).get("avg10", "")
        if kind == "some" and average.replace(".", "", 1).isdigit():
            return float(average) / 100
    return None
