"""Which log files belong to a job: regular files that its ranks, or what started them, write to."""

from collections.abc import Sequence
from pathlib import Path

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

_OUTPUTS = ("1", "2")


def of(pids: Sequence[int], tree: Tree) -> dict[str, tuple[int, ...]]:
    """Path, as its process sees it -> processes that write to it, first come first."""
    found: dict[str, tuple[int, ...]] = {}
    for pid in pids:
        for number in _OUTPUTS:
            path = or_none(tree.link(f"/proc/{pid}/fd/{number}")) or ""
            if (
                path.startswith("/")
                and not path.startswith(("/dev/", "/proc/"))
                and pid not in found.get(path, ())
            ):
                found[path] = (*found.get(path, ()), pid)
    return found


def tail(pid: int, path: str, most: int, tree: Tree) -> bytes | Unknown:
    """The last bytes of a file that a process sees under this path."""
    place = f"{tree.root}/proc/{pid}/root{path}"
    try:
        if not Path(place).is_file():  # a pipe or a socket would wait
            return Unknown(f"{path} is no file")
        with Path(place).open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - most))
            return opened.read(most)
    except OSError as error:
        return Unknown(error.strerror or str(error))
