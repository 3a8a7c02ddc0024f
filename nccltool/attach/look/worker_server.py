"""torch's worker server inside a rank, asked over HTTP: the flight recorder, and whether Python runs."""

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nccltool.attach.look import server_address
from nccltool.attach.look.sample import told
from nccltool.attach.look.server_address import ServerAddress
from nccltool.attach.seen.job import RankSample, Unread
from nccltool.attach.seen.ranks import RankFound
from nccltool.attach.seen.sources import GroupStatus, RecorderSeen, WorkerServerSeen
from nccltool.core.text import whole
from nccltool.core.unknown import Unknown
from nccltool.triage import flight_recorder

_ANSWERS_S = 2.0
"""ping took 0.3 ms and dump_traceback 1 ms, also in ranks that hang."""
_LARGEST = 64 << 20
_HANDLERS = ("dump_traceback", "fr_trace_json", "wait_counter_values")


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerServerAnswers:
    """What the servers of a host's ranks say."""

    servers: tuple[WorkerServerSeen, ...] = ()
    recorders: tuple[RecorderSeen, ...] = ()
    unread: tuple[Unread, ...] = ()


def asked(ranks: Sequence[RankFound], samples: Mapping[int, RankSample]) -> WorkerServerAnswers:
    """Of those ranks that have a server. `samples`: by pid."""
    places = [(rank, server_address.of_rank(rank, samples.get(rank.pid))) for rank in ranks]
    found = [_asked(rank, where) for rank, where in places if where is not None]
    return WorkerServerAnswers(
        servers=tuple(one for answer in found for one in answer.servers),
        recorders=tuple(one for answer in found for one in answer.recorders),
        unread=tuple(one for answer in found for one in answer.unread),
    )


def _asked(rank: RankFound, where: ServerAddress | Unknown) -> WorkerServerAnswers:
    what = f"worker server of {told(rank)}"
    if isinstance(where, Unknown):
        return _unread(rank, what, where.reason)
    try:
        if _post(where, "ping") is None:
            return _unread(rank, what, f"no answer within {_ANSWERS_S:g} s")
        offered = json.loads(_get(where))
        answers = {name: _post(where, name) for name in _HANDLERS if name in offered}
    except (OSError, http.client.HTTPException, ValueError, TypeError, RecursionError) as error:
        return _unread(rank, what, getattr(error, "strerror", None) or str(error) or type(error).__name__)
    seen = WorkerServerSeen(
        pid=rank.pid,
        address=str(where),
        answers=True,
        gil_held="dump_traceback" in answers and answers["dump_traceback"] is None,
        store_waits=_store_waits(answers.get("wait_counter_values")),
    )
    recorder = answers.get("fr_trace_json")
    if recorder is None or rank.rank is None:
        return WorkerServerAnswers(servers=(seen,))
    try:
        recorded = of_server(str(where), rank.rank, recorder)
    except ValueError as error:
        missing = Unread(what=f"flight recorder of {told(rank)}", reason=str(error), host=rank.host, pid=rank.pid)
        return WorkerServerAnswers(servers=(seen,), unread=(missing,))
    return WorkerServerAnswers(servers=(seen,), recorders=(recorded,))


def _unread(rank: RankFound, what: str, reason: str) -> WorkerServerAnswers:
    needs = f"run as root or as {rank.user}" if "ermission" in reason else ""
    return WorkerServerAnswers(
        unread=(Unread(what=what, reason=reason, missing=needs, host=rank.host, pid=rank.pid),)
    )


class _Connection(http.client.HTTPConnection):
    """HTTP over the socket of a rank."""

    def __init__(self, where: ServerAddress) -> None:
        super().__init__("localhost", timeout=_ANSWERS_S)
        self.where = where

    def connect(self) -> None:
        self.sock = self.where.connected(_ANSWERS_S)


def _get(where: ServerAddress) -> bytes:
    return _exchange(where, "GET", "/handler/")


def _post(where: ServerAddress, handler: str) -> bytes | None:
    """None: no answer in time."""
    try:
        return _exchange(where, "POST", f"/handler/{handler}")
    except TimeoutError:
        return None


def _exchange(where: ServerAddress, method: str, target: str) -> bytes:
    """Raises OSError, HTTPException, ValueError."""
    connection = _Connection(where)
    end = time.monotonic() + 2 * _ANSWERS_S
    try:
        connection.request(method, target, headers={"Content-Length": "0"})
        answer = connection.getresponse()
        pieces, size = [], 0
        while piece := answer.read1(1 << 16):
            pieces.append(piece)
            size += len(piece)
            if size > _LARGEST or time.monotonic() > end:
                raise ValueError("its answer does not end")
        if answer.status != 200:
            raise ValueError(f"{target}: HTTP status {answer.status}")
        return b"".join(pieces)
    finally:
        connection.close()


def of_server(source: str, rank: int, data: bytes) -> RecorderSeen:
    """The recorder as it is now. Raises ValueError."""
    dump, document = flight_recorder.of_json(source, rank, data)
    status = document.get("pg_status")
    config = document.get("pg_config")
    groups = tuple(
        _group(str(name), one, config if isinstance(config, dict) else {}, dump.world)
        for name, one in (status.items() if isinstance(status, dict) else ())
        if isinstance(one, dict)
    )
    return RecorderSeen(rank=rank, source=source, written_at_s=time.time(), groups=groups, dump=dump)


def _group(name: str, status: dict[str, object], config: dict[str, object], world: frozenset[int]) -> GroupStatus:
    about = config.get(name)
    text = str(about.get("ranks", "")) if isinstance(about, dict) else ""
    named = tuple(int(part) for part in text.strip("[]").split(",") if part.strip().isdecimal())
    return GroupStatus(
        group=name,
        description=str(about.get("desc", "")) if isinstance(about, dict) else "",
        last_enqueued=_number(status, "last_enqueued_collective"),
        last_started=_number(status, "last_started_collective"),
        last_completed=_number(status, "last_completed_collective"),
        members=named or tuple(sorted(world)),
    )


def _number(status: dict[str, object], name: str) -> int | None:
    return whole(str(status.get(name)))  # -1: none so far


def _store_waits(data: bytes | None) -> int | None:
    """Calls that wait for the store now."""
    try:
        counters = json.loads(data or b"")
        return sum(
            whole(str(one["active_count"])) or 0
            for name, one in counters.items()
            if name.rpartition(".")[2] in ("TCPStore__get", "TCPStore__wait", "TCPStore__waitForWorkers")
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
