"""RAS's JSON: NCCL 2.28.7 to 2.32, with the comma that 2.28.7 and 2.28.9 omit."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from nccltool.attach.ras.document import (
    NotRas,
    RasCommunicator,
    RasCount,
    RasDocument,
    RasError,
    RasMissing,
    RasProcess,
    RasStatus,
    RasStatusCount,
)

_NO_COMMA = re.compile(rb'("nvml_dev"\s*:\s*-?\d{1,10})(\s*"status")')
"""nccl#1762: fixed in 2.29.2."""
_IN_PROGRESS = 7
"""ncclInProgress of ncclResult_t."""
_ERRORS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}


class _State(msgspec.Struct):
    init_state: int = 0
    async_error: int = 0
    finalize_called: bool = False
    destroy_flag: bool = False
    abort_flag: bool = False

    @property
    def status(self) -> RasStatus:
        """JSON has flags only; this is what text calls them."""
        if self.abort_flag:
            return "ABORT"
        if self.finalize_called or self.destroy_flag:
            return "FINALIZE"
        return "INIT" if self.init_state == _IN_PROGRESS else "RUNNING"


class _Absence(msgspec.Struct):
    unresponsive: bool
    considered_dead: bool = False


class _Process(msgspec.Struct):
    rank: int
    host: str = ""
    pid: int = -1
    cuda_dev: int = -1
    nvml_dev: int = -1

    @property
    def told(self) -> RasProcess:
        return RasProcess(
            rank=self.rank,
            host="" if self.host == "unknown" else self.host,
            pid=self.pid if self.pid > 0 else None,
            gpus=(self.cuda_dev,) if self.cuda_dev >= 0 else (),
            nvml_gpus=(self.nvml_dev,) if self.nvml_dev >= 0 else (),
        )


class _Rank(_Process, kw_only=True):
    status: _State
    collective_counts: dict[str, int] = {}


class _MissingRank(_Process, kw_only=True):
    status: _Absence


class _Communicator(msgspec.Struct):
    hash: str
    size: int
    ranks: list[_Rank]
    missing_ranks: list[_MissingRank] = []
    missing_ranks_count: int = 0


class _Collection(msgspec.Struct):
    collection_time_sec: float | None = None
    timeouts_count: int = 0


class _Answer(msgspec.Struct):
    nccl_version: str
    communicators: list[_Communicator]
    communicators_count: int | None = None
    ras: _Collection = msgspec.field(default_factory=_Collection)


def parse(data: bytes) -> RasDocument:
    """The answer in `data`; raises NotRas."""
    repaired = _NO_COMMA.sub(rb"\1,\2", data)
    try:
        answer = msgspec.json.decode(repaired, type=_Answer)
    except (msgspec.DecodeError, RecursionError) as error:  # ValidationError is a DecodeError
        raise NotRas(f"not a whole document in RAS's JSON: {error}") from error
    except UnicodeDecodeError as error:
        raise NotRas("the document is not UTF-8") from error
    communicators = tuple(_communicator(one) for one in answer.communicators)
    gone = {
        (rank.process.host, rank.process.pid, rank.considered_dead): rank.process
        for one in communicators
        for rank in one.missing
        if rank.unresponsive
    }
    dead = tuple(process for (_, _, is_dead), process in gone.items() if is_dead)
    silent = tuple(process for (_, _, is_dead), process in gone.items() if not is_dead)
    return RasDocument(
        form="json",
        nccl_version=answer.nccl_version,
        communicators=communicators,
        communicator_count=answer.communicators_count,
        dead=dead,
        dead_processes=len(dead),
        silent=silent,
        silent_processes=len(silent),
        collection_s=answer.ras.collection_time_sec,
        timeouts=answer.ras.timeouts_count,
        repaired=repaired != data,
    )


def _communicator(one: _Communicator) -> RasCommunicator:
    missing = tuple(
        RasMissing(
            process=rank.told,
            unresponsive=rank.status.unresponsive,
            considered_dead=rank.status.considered_dead,
        )
        for rank in one.missing_ranks
    )
    return RasCommunicator(
        hash=_hash(one.hash),
        size=one.size,
        missing=missing,
        missing_ranks=max(one.missing_ranks_count, len(missing)),
        statuses=(*_statuses(one.ranks), *_left(missing)),
        errors=(*_errors(one.ranks),),
        counts=(*_counts(one.ranks),),
    )


def _hash(text: str) -> str:
    try:
        return f"{int(text, 16):016x}"
    except ValueError as error:
        raise NotRas("the hash of a communicator is no hexadecimal number") from error


def _statuses(ranks: Sequence[_Rank]) -> Iterator[RasStatusCount]:
    for status, members in groupby(sorted(ranks, key=_status), key=_status):
        told = tuple(one.told for one in members)
        yield RasStatusCount(status=status, ranks=len(told), members=told)


def _status(rank: _Rank) -> RasStatus:
    return rank.status.status


def _left(missing: Sequence[RasMissing]) -> Iterator[RasStatusCount]:
    """Text calls them NOCOMM: their processes answered, and have no such communicator."""
    left = tuple(one.process for one in missing if not one.unresponsive)
    if left:
        yield RasStatusCount(status="NOCOMM", ranks=len(left), members=left)


def _errors(ranks: Sequence[_Rank]) -> Iterator[RasError]:
    for rank in ranks:
        if rank.status.init_state not in (0, _IN_PROGRESS):
            told = _ERRORS.get(rank.status.init_state, "Unexpected error")
            yield RasError(when="initialization", error=told, ranks=1, members=(rank.told,))
        if rank.status.async_error not in (0, _IN_PROGRESS):
            told = _ERRORS.get(rank.status.async_error, "Unexpected error")
            yield RasError(when="asynchronous", error=told, ranks=1, members=(rank.told,))


def _counts(ranks: Sequence[_Rank]) -> Iterator[RasCount]:
    for operation in sorted({name for rank in ranks for name in rank.collective_counts}):
        known = [rank for rank in ranks if operation in rank.collective_counts]
        by_count: dict[int, list[RasProcess]] = {}
        for rank in known:
            by_count.setdefault(rank.collective_counts[operation], []).append(rank.told)
        for count, members in sorted(by_count.items(), reverse=True):
            yield RasCount(operation=operation, count=count, ranks=len(members), members=tuple(members))
