"""Flight recorder dumps that are already there: those of ranks that run, if they say something about now."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nccltool.attach.look.sample import told
from nccltool.attach.seen.job import HostSample, Unread
from nccltool.attach.seen.ranks import RankFound
from nccltool.attach.seen.sources import RecorderSeen
from nccltool.core.errors import BadInput
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree
from nccltool.triage import flight_recorder

_PREFIXES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_OLD_FOLDER = "/" + "tmp"
"""Of the rank, where torch wrote before it had a cache folder."""
_OLD_S = 600.0
"""Where nothing tells since when the rank has been idle: torch's time limit of NCCL groups."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecorderFiles:
    """The dumps of a host's ranks, and those that could not be read."""

    recorders: tuple[RecorderSeen, ...] = ()
    unread: tuple[Unread, ...] = ()


def found(ranks: Sequence[RankFound], last: HostSample, tree: Tree, trust_pickle: bool) -> RecorderFiles:
    seen: list[RecorderSeen] = []
    unread: list[Unread] = []
    for rank in ranks:
        for path in files(rank):
            try:
                one = _read(rank, path, last, tree, trust_pickle)
            except BadInput:
                what, reason = f"flight recorder dump of {told(rank)}", f"{path} is a pickle, which can run code"
                missing = "--trust-pickle, if you trust who wrote it"
                unread.append(Unread(what=what, reason=reason, missing=missing, host=rank.host, pid=rank.pid))
                continue
            if one is not None and one.stale:
                what = f"flight recorder dump of {told(rank)}"
                unread.append(Unread(what=what, reason=f"{path} {one.stale}", host=rank.host, pid=rank.pid))
            if one is not None:
                seen.append(one)
                break
    return RecorderFiles(recorders=tuple(seen), unread=tuple(unread))


def files(rank: RankFound) -> Iterator[str]:
    """Where torch writes the dump of a rank, as the rank sees the path: newest name first."""
    if rank.rank is None:
        return
    if prefix := rank.setting(*_PREFIXES):
        yield f"{prefix}{rank.rank}"
        return
    home = rank.setting("HOME")
    if cache := rank.setting("XDG_CACHE_HOME") or (f"{home}/.cache" if home else ""):
        yield f"{cache}/torch/comm_lib_trace_rank_{rank.rank}"
    yield f"{_OLD_FOLDER}/nccl_trace_rank_{rank.rank}"


def _read(rank: RankFound, path: str, last: HostSample, tree: Tree, trust_pickle: bool) -> RecorderSeen | None:
    """None: there is none. Raises BadInput for a pickle that is not trusted."""
    place = f"/proc/{rank.pid}/root{path}"
    status = tree.stat(place)
    if isinstance(status, Unknown) or not path.startswith("/"):
        return None
    number = rank.rank or 0
    stale = _stale(rank, status.st_mtime, last)
    if stale:
        return RecorderSeen(rank=number, source=path, written_at_s=status.st_mtime, stale=stale)
    dump = flight_recorder.dump(f"{tree.root}{place}", trust_pickle)
    if dump is None or dump.rank != number:
        return None
    return RecorderSeen(rank=number, source=path, written_at_s=status.st_mtime, dump=dump)


def _stale(rank: RankFound, written_s: float, last: HostSample) -> str:
    """Why a dump says nothing about now: the rank started, or sent data, later."""
    if rank.started_at_s is not None and written_s < rank.started_at_s:
        return "is older than the process"
    age, idle = last.wall_s - written_s, _idle_s(rank, last)
    if idle is not None and age > idle:
        return f"was written {age:.0f} s ago, and data has moved since"
    if idle is None and age > _OLD_S:
        return f"was written {age / 60:.0f} min ago"
    return ""


def _idle_s(rank: RankFound, last: HostSample) -> float | None:
    """Since the last data on any connection but that of the store; None = not known."""
    sample = last.of(rank.pid)
    quiet = [
        ms
        for one in (sample.sockets if sample else None) or ()
        if one.state == "ESTAB" and one.peer != rank.master
        for ms in (one.last_sent_ms, one.last_received_ms)
        if ms is not None
    ]
    return min(quiet) / 1000 if quiet else None
