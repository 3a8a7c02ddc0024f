"""Files of NCCL Inspector: the last operation that each rank has finished in each communicator."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nccltool.attach.seen.ranks import RankFound
from nccltool.attach.seen.sources import InspectorSeen
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree
from nccltool.trace.inspector_records import InspectorLog, InspectorRecord, UnknownFormatError, UnreadRecordError

_TAIL = 256 << 10
_MOST_COMMUNICATORS = 64


def found(ranks: Sequence[RankFound], tree: Tree) -> tuple[InspectorSeen, ...]:
    return tuple(one for rank in ranks for one in _of(rank, tree))


def file_of(rank: RankFound) -> str:
    """DIR/HOST-pidPID.log, relative to where the rank was started; empty = it writes none."""
    if rank.setting("NCCL_INSPECTOR_ENABLE") in ("", "0"):
        return ""
    job = rank.setting("SLURM_JOB_ID") or "unknown-jobid"
    folder = rank.setting("NCCL_INSPECTOR_DUMP_DIR") or f"nccl-inspector-{job}"
    pid = rank.inner_pids[-1] if rank.inner_pids else rank.pid
    base = f"/proc/{rank.pid}/root" if folder.startswith("/") else f"/proc/{rank.pid}/cwd/"
    return f"{base}{folder}/{rank.host}-pid{pid}.log"


def _of(rank: RankFound, tree: Tree) -> Iterator[InspectorSeen]:
    path = file_of(rank)
    status = tree.stat(path) if path else Unknown("not used")
    if isinstance(status, Unknown):
        return
    if rank.started_at_s is not None and status.st_mtime < rank.started_at_s:
        return  # of an earlier process with this pid
    last: dict[str, InspectorSeen] = {}
    log = InspectorLog()
    for line in _lines(Path(f"{tree.root}{path}")):
        one = _done(log, line, path, rank.pid, status.st_mtime)
        if one is not None and (one.communicator in last or len(last) < _MOST_COMMUNICATORS):
            last[one.communicator] = one
    yield from last.values()


def _lines(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - _TAIL))
            return opened.read(_TAIL).splitlines()
    except OSError:
        return []


def _done(log: InspectorLog, line: bytes, path: str, pid: int, written_at_s: float) -> InspectorSeen | None:
    """One operation that has finished; None for what is cut, or is something else."""
    try:
        record = log.take(line)
    except (UnreadRecordError, UnknownFormatError):
        return None
    if not isinstance(record, InspectorRecord) or record.coll_perf.coll_sn is None:
        return None
    return InspectorSeen(
        file=path,
        pid=pid,
        communicator=record.header.id[:40],
        rank=record.header.rank,
        ranks=record.header.n_ranks,
        operation=record.coll_perf.coll[:40],
        number=record.coll_perf.coll_sn,
        written_at_s=written_at_s,
    )
