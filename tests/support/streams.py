"""Streams of `nccltool probe --events` made by hand, and the forms in which `kubectl logs` shows them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nccltool.core.findings import Finding
from nccltool.launch import events
from nccltool.launch.events import Event
from nccltool.launch.printed_events import StreamEnd, Teller
from nccltool.probe.events import Result, Samples
from nccltool.probe.job import ProbeJob
from nccltool.probe.run import ProbeBegun
from tests.samples import facts, job

LEADER, FOLLOWER = "20250102T030405Z-beef", "20250102T030406Z-cafe"
WORLD = events.World(
    world_size=4, emulated=False, backend="gloo", backend_version="2.13.0", backend_reason="no GPU", steps=2
)


def job_of(node: int) -> ProbeJob:
    """As the command of one of two nodes has it."""
    return job(run_id=FOLLOWER if node else LEADER, emulated=False, node_ranks=(node,), endpoint="alpha:1")


def begun(node: int, **changes: Any) -> ProbeBegun:
    """What the command of one of two nodes knows at its beginning."""
    plain = ProbeBegun(
        job=job_of(node),
        leads=node == 0,
        part=node,
        parts=2,
        ranks_seen=2 if node else 4,
        command=("nccltool", "probe", "--nodes", "2", "--events"),
        started="2025-01-02T03:04:05Z",
        nccltool="0.1.0",
        torch="2.13.0",
    )
    return replace(plain, **changes)


def ended(findings: Sequence[Finding] = (), interrupted: bool = False) -> StreamEnd:
    return StreamEnd(findings=tuple(findings), interrupted=interrupted, nodes=2, ranks_seen=4)


def result(step: int, size: int) -> Result:
    return Result(
        step=step,
        op="all_reduce",
        count=size // 4,
        bytes=size,
        bytes_per_rank=size,
        dtype="float32",
        reduce_op="sum",
        placement="in-place",
        cadence="stream",
        noisy=False,
        wrong=0,
    )


def beginning(node: int) -> list[Event]:
    ranks = (2 * node, 2 * node + 1)
    host = ("alpha", "beta")[node]
    return [
        *(events.Spawned(rank=rank, node_rank=node, host=host, pid=rank) for rank in ranks),
        *(events.Hello(facts=facts(rank, gpu=None)) for rank in ranks),
        *(events.Met(rank=rank, run_id=LEADER) for rank in ranks if node),
        *([] if node else [WORLD]),
    ]


def steps(node: int) -> list[Event]:
    said: list[Event] = []
    for step, size in enumerate((1024, 2**20)):
        said += [events.Enter(rank=2 * node + r, step=step, op="all_reduce", bytes=size) for r in (0, 1)]
        if node == 0:
            said += [Samples(step=step, ns=(10**6, 2 * 10**6)), Samples(step=step, ns=(4 * 10**6,))]
            said += [result(step, size)]
    return said


def leaving(node: int) -> list[Event]:
    ranks = (2 * node, 2 * node + 1)
    said: list[Event] = [events.Log(rank=ranks[0], text='a line with "quotes"')]
    return [
        *said,
        *(events.Bye(rank=rank) for rank in ranks),
        *(events.Exited(rank=rank, code=0) for rank in ranks),
    ]


def part(start: ProbeBegun, said: Sequence[Event], end: StreamEnd | None) -> list[bytes]:
    """The lines of one command."""
    lines: list[str] = []
    teller = Teller(lines.append, start.job.run_id, start.part)
    teller.begin(start)
    for event in said:
        teller.tell(events.encode(event)[1:])
    if end is not None:
        teller.end(end)
    return [line.encode() for line in lines]


def good(node: int, **changes: Any) -> list[bytes]:
    """A node of a healthy run."""
    said = [*beginning(node), *steps(node), *leaving(node)]
    return part(begun(node, **changes), said, replace(ended(), ranks_seen=2 if node else 4))


def mixed(parts: Sequence[list[bytes]]) -> list[bytes]:
    """Line by line in turn, as `kubectl logs -f` and a sort by time show several pods."""
    longest = max(map(len, parts))
    return [one[number] for number in range(longest) for one in parts if number < len(one)]


def _prefixed(parts: Sequence[list[bytes]]) -> list[list[bytes]]:
    return [[b"[pod/probe-%d-x2x4z/nccltool] %s" % (n, line) for line in one] for n, one in enumerate(parts)]


def _timed(parts: Sequence[list[bytes]]) -> list[list[bytes]]:
    return [
        [b"2025-01-02T03:04:%02d.%09dZ %s" % (5 + number // 60, number, line) for number, line in enumerate(one)]
        for one in parts
    ]


def _coloured(parts: Sequence[list[bytes]]) -> list[list[bytes]]:
    return [
        [b"\x1b[36mprobe-%d\x1b[0m \x1b[32m%s\x1b[0m\n" % (n, line[:-1]) for line in one]
        for n, one in enumerate(parts)
    ]


def _among_others(parts: Sequence[list[bytes]]) -> list[list[bytes]]:
    noise = [b"INFO nccl: NET/Socket\n", b'{"event":"not ours"}\n', b"\xff\xfe\n", b"\n", b"half a line"]
    return [[*noise[:4], *(text for line in one for text in (line, noise[0])), noise[4], b"\n"] for one in parts]


def _stored(parts: Sequence[list[bytes]]) -> list[list[bytes]]:
    """As Docker's json-file driver stores them."""
    time = "2026-11-24T01:02:03.4Z"
    entries = [[{"log": line.decode(), "stream": "stdout", "time": time} for line in one] for one in parts]
    return [[json.dumps(entry).encode() + b"\n" for entry in one] for one in entries]


def forms(parts: Sequence[list[bytes]]) -> dict[str, bytes]:
    """The same logs as they can come."""
    return {
        "one pod after the other": b"".join(b"".join(one) for one in parts),
        "node 0 last": b"".join(b"".join(one) for one in reversed(parts)),
        "in turn": b"".join(mixed(parts)),
        "--prefix": b"".join(mixed(_prefixed(parts))),
        "--timestamps": b"".join(mixed(_timed(parts))),
        "--prefix --timestamps": b"".join(mixed(_prefixed(_timed(parts)))),
        "colours": b"".join(mixed(_coloured(parts))),
        "Windows": b"".join(mixed(parts)).replace(b"\n", b"\r\n"),
        "other lines": b"".join(mixed(_among_others(parts))),
        "one pod twice": b"".join([*parts[0], *parts[-1], *parts[0]]),
        "shuffled a little": b"".join(
            line for pair in zip(*[iter(mixed(parts))] * 2, strict=False) for line in pair[::-1]
        )
        + (mixed(parts)[-1] if len(mixed(parts)) % 2 else b""),
        "Docker's files": b"".join(mixed(_stored(parts))),
        "without the separator": b"".join(mixed(parts)).replace(b"\x1e", b""),
    }
