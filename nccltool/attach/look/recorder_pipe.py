"""Has ranks write their flight recorder dumps, as the user agreed: one byte into the pipe that torch reads.

A rank has the pipe only if TORCH_NCCL_DEBUG_INFO_PIPE_FILE was set when it started; its monitor looks each second.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from nccltool.attach.look import recorders
from nccltool.attach.look.sample import told
from nccltool.attach.seen.job import Unread
from nccltool.attach.seen.ranks import RankFound
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree

VARIABLE = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
DEADLINE_S = 8.0
_POLL_S = 0.25


def ask(ranks: Sequence[RankFound], tree: Tree, wait: Callable[[float], None]) -> tuple[Unread, ...]:
    """Returns when all that were asked have written, or after the deadline; the dumps are then read as files."""
    before = {rank.pid: _written(rank, tree) for rank in ranks}
    refused = {rank.pid: reason for rank in ranks if (reason := _asked(rank, tree))}
    asked = [rank for rank in ranks if rank.pid not in refused]
    end = time.monotonic() + DEADLINE_S
    while (late := [one for one in asked if _written(one, tree) == before[one.pid]]) and time.monotonic() < end:
        wait(_POLL_S)
    return tuple(_unread(ranks, refused, late))


def _unread(ranks: Sequence[RankFound], refused: dict[int, str], late: Sequence[RankFound]) -> Iterator[Unread]:
    slow = dict.fromkeys((one.pid for one in late), f"no dump within {DEADLINE_S:g} s of asking")
    for rank in ranks:
        if reason := {**slow, **refused}.get(rank.pid):
            what = f"flight recorder, asked by its pipe, of {told(rank)}"
            yield Unread(what=what, reason=reason, host=rank.host, pid=rank.pid)


def _asked(rank: RankFound, tree: Tree) -> str:
    """Why a rank could not be asked; empty = it was."""
    stem = rank.setting(VARIABLE)
    if not stem or rank.rank is None:
        return f"{VARIABLE} was not set when it started"
    path = f"{tree.root}/proc/{rank.pid}/root{stem}{rank.rank}.pipe"
    try:
        if not stat.S_ISFIFO(os.lstat(path).st_mode):
            return f"{stem}{rank.rank}.pipe is no pipe"
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.write(handle, b"1")
        finally:
            os.close(handle)
    except OSError as error:  # ENXIO: nobody reads from it
        return f"{stem}{rank.rank}.pipe: {error.strerror}"
    return ""


def _written(rank: RankFound, tree: Tree) -> tuple[tuple[str, float], ...]:
    """The dumps of a rank and when they were written."""
    found = ((path, tree.stat(f"/proc/{rank.pid}/root{path}")) for path in recorders.files(rank))
    return tuple((path, status.st_mtime) for path, status in found if not isinstance(status, Unknown))
