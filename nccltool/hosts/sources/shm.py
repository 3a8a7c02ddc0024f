"""Shared memory: its size, what is free, and what dead jobs have left in it."""

import os
import re
import time
from collections.abc import Iterator

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Shm, ShmFile, Text
from nccltool.hosts.facts.leaves import Flag, NotKnown, Texts, all_unknown, known, or_unknown, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_SHM = "/dev/shm"  # noqa: S108 - nothing is written there
_MOST = 64
_FACTORS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def read(tree: Tree) -> Shm:
    """What is mounted there."""
    mount = _mount(tree)
    return _live(tree, mount) if tree.live else _captured(tree, mount)


@or_unknown
def _mount(tree: Tree) -> list[str]:
    """[type, source, options] of the last mount there; [] = it is an ordinary folder."""
    return next((words for point, words in reversed(known(tree.mounts())) if point == _SHM), [])


def _live(tree: Tree, mount: list[str] | Unknown) -> Shm:
    try:
        state, device = os.statvfs(_SHM), os.stat(_SHM).st_dev
    except OSError as error:
        why = tree.why(_SHM, error).reason
        there = tree.exists(_SHM)
        return all_unknown(Shm, why, exists=there, nccl_files=() if there is False else Unknown(why))
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
    return then(mount, lambda words: words[0] if words else Unknown(f"nothing is mounted at {_SHM}"))


@or_unknown
def _size(mount: list[str] | Unknown) -> int:
    """The option size=65536k, which the kernel shows unless it is half of the memory."""
    match = re.search(r"(?:^|,)size=(\d+)([kmg]?)", (known(mount) or [""])[-1])
    if match is None:
        raise NotKnown(f"the mount of {_SHM} names no size")
    return int(match[1]) * _FACTORS[match[2]]


@or_unknown
def _files(tree: Tree) -> tuple[ShmFile, ...]:
    ours = [name for name in known(tree.names(_SHM)) if name.startswith("nccl-")]
    mapped = _mapped(tree) if ours else ()
    found = sorted(_look(tree, ours, mapped), key=lambda file: -file.age_s)
    return tuple(found[:_MOST])


def _look(tree: Tree, names: list[str], mapped: Texts) -> Iterator[ShmFile]:
    now = time.time()
    for name in names:
        path = f"{_SHM}/{name}"
        state = tree.stat(path)
        if not isinstance(state, Unknown):  # gone meanwhile
            yield ShmFile(
                name=name,
                size_bytes=state.st_size,
                age_s=max(0.0, now - state.st_mtime),
                uid=state.st_uid,
                mapped=then(mapped, {path}.issubset),
            )


@or_unknown
def _mapped(tree: Tree) -> tuple[str, ...]:
    """Files nccl-* that a process has mapped. Unknown as soon as one process may not be looked at."""
    found: set[str] = set()
    for pid in known(tree.names("/proc")):
        maps = tree.exact(f"/proc/{pid}/maps") if pid.isdigit() else ""
        if isinstance(maps, str):
            found.update(re.findall(rf"{_SHM}/nccl-\S+", maps))
        elif not maps.reason.endswith(("No such file or directory", "No such process")):
            raise NotKnown("processes of other users may not be looked at")
    return tuple(found)


SOURCES = (Source.quick("shm", "shm", read),)
