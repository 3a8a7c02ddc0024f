"""How much more memory processes may take here before the kernel ends one of them: of the host and of a cgroup."""

from nccltool.core.text import whole
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import Count, known, or_unknown
from nccltool.hosts.sources.base import Tree
from nccltool.hosts.sources.limits import groups

_FILES = {2: ("memory.max", "memory.current", "inactive_file"), 1: (
    "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
)}  # fmt: skip
"""Version of cgroups -> limit, usage, and in memory.stat the pages of files that are given back first."""


def of_host(tree: Tree) -> Count:
    """The least of what the kernel calls available and of what each cgroup leaves; swap does not count."""
    available = tree.meminfo("MemAvailable")
    if isinstance(available, Unknown):
        return available
    return min([available, *_left(tree, 2), *_left(tree, 1)])


def _left(tree: Tree, version: int) -> list[int]:
    """Of each group with a limit, from this process's own to the outermost that is visible."""
    controller = "" if version == 2 else "memory"
    path = _path(tree, controller)
    if isinstance(path, Unknown):
        return []
    found = (_left_of(tree, group, *_FILES[version]) for group in groups(tree, controller, path))
    return [left for left in found if isinstance(left, int)]


@or_unknown
def _path(tree: Tree, controller: str) -> str:
    """Of this process's group."""
    rows = (line.split(":", 2) for line in known(tree.lines("/proc/self/cgroup")))
    return next((row[2] for row in rows if len(row) == 3 and controller in row[1].split(",")), "/")


@or_unknown
def _left_of(tree: Tree, group: str, limit: str, usage: str, given_back: str) -> int:
    """As the kubelet counts: what was read from files, and not lately, is given back when memory is short."""
    most, used = known(tree.number(f"{group}/{limit}")), known(tree.number(f"{group}/{usage}"))
    files = tree.row(f"{group}/memory.stat", given_back, " ")
    cached = (whole(files, 20) if isinstance(files, str) else None) or 0
    return max(most - max(used - cached, 0), 0)
