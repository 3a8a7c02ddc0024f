"""Shared memory: its size, what is free, and what dead jobs have left in it."""

import os
import re
import time
from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Count, Flag, Shm, ShmFile, Text, Texts, all_unknown
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_SHM = "/dev/shm"  # noqa: S108 - nothing is written there
_MOST = 64
_FACTORS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def read(tree: Tree, env: Mapping[str, str]) -> Shm:
    """What is mounted there."""
    del env
    mount = _mount(tree)
    return _live(tree, mount) if tree.live else _captured(tree, mount)


def _mount(tree: Tree) -> list[str] | Unknown:
    """(type, source, options) of the last mount there; [] = it is an ordinary folder."""
    lines = tree.lines("/proc/self/mountinfo")
    if isinstance(lines, Unknown):
        return lines
    rows = [line.partition(" - ") for line in lines]
    found = [right.split() for left, _, right in rows if left.split()[4:5] == [_SHM]]
    return found[-1] if found else []


def _live(tree: Tree, mount: list[str] | Unknown) -> Shm:
    try:
        state, device = os.statvfs(_SHM), os.stat(_SHM).st_dev
    except OSError as error:
        why = tree.why(_SHM, error).reason
        return all_unknown(
            Shm, why, exists=tree.exists(_SHM), nccl_files=() if tree.exists(_SHM) is False else Unknown(why)
        )
    return Shm(
        exists=True,
        fstype=_fstype(mount),
        size_bytes=state.f_blocks * state.f_frsize,
        free_bytes=state.f_bavail * state.f_frsize,
        writable=os.access(_SHM, os.W_OK | os.X_OK),
        device=device,
        nccl_files=_files(tree),
    )


def _captured(tree: Tree, mount: list[str] | Unknown) -> Shm:
    size = _size(mount)
    there: Flag = mount if isinstance(mount, Unknown) else bool(mount) or tree.exists(_SHM)
    return all_unknown(Shm, CAPTURED, exists=there, fstype=_fstype(mount), size_bytes=size)


def _fstype(mount: list[str] | Unknown) -> Text:
    if isinstance(mount, Unknown):
        return mount
    return mount[0] if mount else Unknown(f"nothing is mounted at {_SHM}")


def _size(mount: list[str] | Unknown) -> Count:
    """The option size=65536k, which the kernel shows unless it is half of the memory."""
    if isinstance(mount, Unknown):
        return mount
    match = re.search(r"(?:^|,)size=(\d+)([kmg]?)", mount[-1] if mount else "")
    return int(match[1]) * _FACTORS[match[2]] if match else Unknown(f"the mount of {_SHM} names no size")


def _files(tree: Tree) -> tuple[ShmFile, ...] | Unknown:
    names = tree.names(_SHM)
    if isinstance(names, Unknown):
        return names
    ours = [name for name in names if name.startswith("nccl-")]
    mapped = _mapped(tree) if ours else ()
    found = sorted(_look(tree, ours, mapped), key=lambda file: -file.age_s)
    return tuple(found[:_MOST])


def _look(tree: Tree, names: list[str], mapped: Texts) -> Iterator[ShmFile]:
    now = time.time()
    for name in names:
        state = tree.stat(f"{_SHM}/{name}")
        if isinstance(state, Unknown):  # gone meanwhile
            continue
        path = f"{_SHM}/{name}"
        yield ShmFile(
            name=name,
            size_bytes=state.st_size,
            age_s=max(0.0, now - state.st_mtime),
            uid=state.st_uid,
            mapped=True if not isinstance(mapped, Unknown) and path in mapped else _unless(mapped),
        )


def _unless(mapped: Texts) -> Flag:
    return mapped if isinstance(mapped, Unknown) else False


def _mapped(tree: Tree) -> Texts:
    """Files nccl-* that a process has mapped. Unknown as soon as one process may not be looked at."""
    pids = tree.names("/proc")
    if isinstance(pids, Unknown):
        return pids
    found: set[str] = set()
    for pid in pids:
        if not pid.isdigit():
            continue
        maps = tree.exact(f"/proc/{pid}/maps")
        if isinstance(maps, str):
            found.update(re.findall(rf"{_SHM}/nccl-\S+", maps))
        elif not maps.reason.endswith(("No such file or directory", "No such process")):
            return Unknown("processes of other users may not be looked at")
    return tuple(found)


SOURCES = (Source.quick("shm", "shm", read),)
