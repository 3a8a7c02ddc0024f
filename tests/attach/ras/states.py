"""Twelve states of a job, as RAS of each version writes them: text of 2.24 to 2.32, JSON of 2.28.7 to 2.32.

The shapes are those of src/ras/client_support.cc; no line of them is known to the parsers' modules.
"""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from nccltool.core.versions import Version, parse

VERSIONS = (
    "2.24.3",
    "2.25.1",
    "2.26.2",
    "2.27.3",
    "2.27.7",
    "2.28.3",
    "2.28.7",
    "2.28.9",
    "2.29.2",
    "2.29.7",
    "2.30.3",
    "2.30.7",
    "2.31.1",
    "2.32.3",
)
OPERATIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")


@dataclass(frozen=True, kw_only=True)
class Rank:
    rank: int
    counts: dict[str, int] = field(default_factory=lambda: {"AllReduce": 1201, "Broadcast": 1})
    status: str = "RUNNING"
    init_error: int = 0
    async_error: int = 0
    gone: str = ""
    """silent, dead, or left; "" = it answered with its counts."""

    @property
    def host(self) -> str:
        return f"10.0.0.{self.rank // 8 + 1}"

    @property
    def pid(self) -> int:
        return 4700 + self.rank

    @property
    def gpu(self) -> int:
        return self.rank % 8


@dataclass(frozen=True, kw_only=True)
class Communicator:
    hash: int = 0x9F2A00C1D3E4B576
    ranks: tuple[Rank, ...] = tuple(Rank(rank=number) for number in range(8))


@dataclass(frozen=True, kw_only=True)
class State:
    name: str
    communicators: tuple[Communicator, ...] = (Communicator(),)
    timeouts: int = 0


def _with(changed: dict[int, dict[str, Any]], of: int = 8) -> tuple[Communicator, ...]:
    return (Communicator(ranks=tuple(replace(Rank(rank=n), **changed.get(n, {})) for n in range(of))),)


_LATE = {"AllReduce": 1200, "Broadcast": 1}
STATES = (
    State(name="healthy"),
    State(name="healthy on many hosts", communicators=_with({}, of=64)),
    State(name="no communicator yet", communicators=()),
    State(name="initializing", communicators=_with({n: {"status": "INIT", "counts": {}} for n in range(8)})),
    State(name="one rank late", communicators=_with({3: {"counts": _LATE}})),
    State(name="one rank ahead", communicators=_with({n: {"counts": _LATE} for n in range(40) if n != 5}, of=40)),
    State(
        name="operations crossed",
        communicators=_with(
            {0: {"counts": {"AllReduce": 1202}}, 1: {"counts": {"AllReduce": 1201, "AllGather": 1}}}, 2
        ),
    ),
    State(name="one process stopped", communicators=_with({6: {"gone": "silent"}}), timeouts=1),
    State(name="one process dead", communicators=_with({6: {"gone": "dead"}, 7: {"gone": "dead"}})),
    State(name="one rank left", communicators=_with({2: {"gone": "left"}})),
    State(name="asynchronous error", communicators=_with({1: {"async_error": 6}, 4: {"init_error": 2}})),
    State(
        name="two communicators, one aborting",
        communicators=(Communicator(hash=0xA), *_with({n: {"status": "ABORT"} for n in (0, 1, 2)})),
    ),
)
ERRORS = {2: "System error", 6: "Remote process error"}
_RESULT_OF_INIT = 7


def speaks_json(version: str) -> bool:
    return (parse(version) or Version(0)) >= Version(2, 28, 7)


def json_of(state: State, version: str) -> bytes:
    """As 2.28.7 and later write it; 2.28 without the comma before the status of a missing rank."""
    document = {
        "nccl_version": f"{version}+cuda12.9",
        "cuda_runtime_version": 12090,
        "cuda_driver_version": 12080,
        "timestamp": "2026-11-24 12:00:00",
        "communicators_count": len(state.communicators),
        "communicators": [_json_of(one) for one in state.communicators],
        "ras": {"collection_time_sec": 0.012, "timeouts_count": state.timeouts},
    }
    text = json.dumps(document, indent=2)
    if (parse(version) or Version(0)) < Version(2, 29):
        lines, broken = text.split("\n"), []
        inside = False
        for line in lines:
            inside = inside or '"missing_ranks"' in line
            broken.append(line.rstrip(",") if inside and '"nvml_dev"' in line else line)
            inside = inside and '"communicators_count"' not in line and '"ranks": [' not in line
        text = "\n".join(broken)
    return text.encode() + b"\n"


def _json_of(one: Communicator) -> dict[str, Any]:
    present = [rank for rank in one.ranks if not rank.gone]
    missing = [rank for rank in one.ranks if rank.gone]
    return {
        "hash": f"{one.hash:#x}",
        "secondary_hash": "0x1:0x2",
        "size": len(one.ranks),
        "ranks_count": len(present),
        "missing_ranks_count": len(missing),
        "ranks": [
            {
                **_place(rank),
                "status": {
                    "init_state": rank.init_error or (_RESULT_OF_INIT if rank.status == "INIT" else 0),
                    "async_error": rank.async_error,
                    "finalize_called": rank.status == "FINALIZE",
                    "destroy_flag": False,
                    "abort_flag": rank.status == "ABORT",
                },
                "collective_counts": {name: rank.counts.get(name, 0) for name in OPERATIONS},
            }
            for rank in present
        ],
        "missing_ranks": [
            {
                **_place(rank),
                "status": {"unresponsive": rank.gone != "left", "considered_dead": rank.gone == "dead"},
            }
            for rank in missing
        ],
    }


def _place(rank: Rank) -> dict[str, Any]:
    return {"rank": rank.rank, "host": rank.host, "pid": rank.pid, "cuda_dev": rank.gpu, "nvml_dev": rank.gpu}


def text_of(state: State, version: str, verbose: bool = False) -> bytes:
    """As VERBOSE STATUS or STATUS writes it."""
    return "\n".join(_Text(state, parse(version) or Version(2, 30), verbose).lines()).encode() + b"\n"


class _Text:
    def __init__(self, state: State, version: Version, verbose: bool) -> None:
        self.state, self.version, self.verbose = state, version, verbose

    def lines(self) -> list[str]:
        ranks = {rank.pid: rank for one in self.state.communicators for rank in one.ranks}
        hosts = {rank.host for rank in ranks.values()}
        out = [f"NCCL version {self.version}+cuda12.9 compiled with CUDA 12.9"]
        out += ["CUDA runtime version 12090, driver version 12080", "", "Job summary", "===========", ""]
        out += ["  Nodes  Processes         GPUs  Processes     GPUs"]
        out += ["(total)   per node  per process    (total)  (total)"]
        nodes = max(len(hosts), 1)
        out += [f"{nodes:7d}  {len(ranks) // nodes:9d}  {1:11d}  {len(ranks):9d}  {len(ranks):7d}", ""]
        took = "0.01" if self.version < Version(2, 29) else "0.012"
        out += [f"Communicators... ({took}s)", "=============", "", *self._table(), ""]
        out += ["Errors", "======", "", *self._lost(), *self._errors()]
        return [*out, "Warnings", "========", "", *self._timeouts(), *self._mismatches()]

    def _table(self) -> list[str]:
        if not self.state.communicators:
            return ["No communicator data collected!"]
        out = ["Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors"]
        out += ["    #  in group  per comm  per node  per comm  in group"]
        for number, one in enumerate(self.state.communicators):
            hosts: dict[str, int] = {}
            for rank in one.ranks:
                hosts[rank.host] = hosts.get(rank.host, 0) + 1
            low, high = min(hosts.values()), max(hosts.values())
            errors = ",".join(self._words(one)) or "OK"
            out.append(
                f"{number:5d}  {1:8d}  {len(hosts):8d}  {f'{low}' if low == high else f'{low}-{high}':>8}  "
                f"{len(one.ranks):8d}  {len(one.ranks):8d}  {self._worst(one):>8}  {errors:>6}"
            )
        return out

    def _words(self, one: Communicator) -> list[str]:
        words = ["INCOMPLETE"] if any(rank.gone in ("silent", "dead") for rank in one.ranks) else []
        words += ["ERROR"] if any(rank.async_error or rank.init_error for rank in one.ranks) else []
        return [*words, *(["MISMATCH"] if self._sets(one) or self._statuses(one) else [])]

    def _worst(self, one: Communicator) -> str:
        present = {self._status(rank) for rank in one.ranks}
        return next(
            word for word in ("ABORT", "FINALIZE", "INIT", "NOCOMM", "UNKNOWN", "RUNNING") if word in present
        )

    def _status(self, rank: Rank) -> str:
        if rank.gone == "left":
            return "NOCOMM" if self.version >= Version(2, 26) else "UNKNOWN"
        return rank.status if not rank.gone else "RUNNING"

    def _lost(self) -> list[str]:
        out: list[str] = []
        for gone, head, told in (
            ("silent", "INCOMPLETE", "  Missing communicator data from {} job process{}"),
            ("dead", "DEAD", "  {} job process{} considered dead (unreachable via the RAS network)"),
        ):
            lost = [rank for one in self.state.communicators for rank in one.ranks if rank.gone == gone]
            if lost:
                plural = ("es" if len(lost) > 1 else "") + (
                    "" if gone == "silent" else " are" if len(lost) > 1 else " is"
                )
                out += [head, told.format(len(lost), plural)]
                out += [
                    f"  Process {rank.pid} on node {rank.host} managing GPU {rank.gpu}"
                    + (" (NVML 3)" if rank.gpu == 7 else "")
                    for rank in lost
                ]
                out.append("")
        return out

    def _errors(self) -> list[str]:
        out: list[str] = []
        for number, one in enumerate(self.state.communicators):
            lost = [rank for rank in one.ranks if rank.gone in ("silent", "dead")]
            if lost:
                out.append(f"#{number}-0 ({one.hash:016x}) INCOMPLETE")
                out.append(f"  Missing communicator data from {len(lost)} rank{'s' if len(lost) > 1 else ''}")
                if self.version >= Version(2, 26):
                    out += [f"  Rank {rank.rank} -- {_where(rank)}" for rank in lost]
                else:
                    numbers = ",".join(str(rank.rank) for rank in lost)
                    out.append(f"  The missing rank{'s' if len(lost) > 1 else ''}: {numbers}")
                out.append("")
            failed = [("Initialization", rank, rank.init_error) for rank in one.ranks if rank.init_error]
            failed += [("Asynchronous", rank, rank.async_error) for rank in one.ranks if rank.async_error]
            if failed:
                out.append(f"#{number}-0 ({one.hash:016x}) ERROR")
                for when, rank, code in failed:
                    out += [
                        f"  {when} error on 1 rank",
                        f"  Rank {rank.rank} reported {ERRORS[code]} -- {_where(rank)}",
                    ]
                out.append("")
        return out

    def _timeouts(self) -> list[str]:
        count = self.state.timeouts
        timeouts = f"timeout{'s' if count > 1 else ''}"
        told = f"  Encountered {count} communication {timeouts} while gathering communicator data"
        return ["TIMEOUT", told, ""] if count else []

    def _mismatches(self) -> list[str]:
        out: list[str] = []
        for number, one in enumerate(self.state.communicators):
            statuses, sets = self._statuses(one), self._sets(one)
            if statuses or sets:
                out.append(f"#{number}-0 ({one.hash:016x}) MISMATCH")
            if statuses:
                out.append("  Communicator ranks have different status")
                out += self._listed(statuses, one, "has status {}", "have status {}")
            for operation, counts in sets.items():
                out.append(f"  Communicator ranks have different {operation} operation counts")
                out += self._listed(
                    counts, one, "has launched up to operation {}", "have launched up to operation {}"
                )
                out.append("")
        return out

    def _statuses(self, one: Communicator) -> dict[Any, list[Rank]]:
        found: dict[Any, list[Rank]] = {}
        for rank in one.ranks:
            if rank.gone not in ("silent", "dead"):
                found.setdefault(self._status(rank), []).append(rank)
        return found if len(found) > 1 else {}

    def _sets(self, one: Communicator) -> dict[str, dict[Any, list[Rank]]]:
        present = [rank for rank in one.ranks if not rank.gone]
        out: dict[str, dict[Any, list[Rank]]] = {}
        for operation in OPERATIONS if self.version >= Version(2, 26) else ("collective",):
            counts: dict[Any, list[Rank]] = {}
            for rank in present:
                total = sum(rank.counts.values()) if operation == "collective" else rank.counts.get(operation, 0)
                counts.setdefault(total, []).append(rank)
            if len(counts) > 1:
                out[operation] = counts
        return out

    def _listed(self, sets: dict[Any, list[Rank]], one: Communicator, of_one: str, of_many: str) -> list[str]:
        out = []
        for value, ranks in sorted(sets.items(), key=lambda item: -len(item[1])):
            if len(ranks) == 1:
                out.append(f"  Rank {ranks[0].rank} {_told(of_one, value)} -- {_where(ranks[0])}")
                continue
            out.append(f"  {len(ranks)} ranks {_told(of_many, value)}")
            few = len(ranks) <= 10 and len(ranks) * 4 <= len(one.ranks)
            if few or (self.verbose and len(ranks) * 2 < len(one.ranks)):
                out += [f"  Rank {rank.rank} -- {_where(rank)}" for rank in ranks]
        return out


def _told(form: str, value: Any) -> str:
    if value == 0:
        return f"{form.partition(' ')[0]} not launched any operations"
    return form.format(value)


def _where(rank: Rank) -> str:
    return f"GPU {rank.gpu} managed by process {rank.pid} on node {rank.host}"
