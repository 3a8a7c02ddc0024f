"""How fast logs are read: text of a job and NCCL_DEBUG=INFO logs of 512 ranks on one core, beside grep; a folder.

`TRIAGE_MIB=1024 scripts/bench triage` sets the size of the logs; the time is the processor's, the memory the peak
of the process, of the folder the time by the clock on one core and on all, and the sum of the processes' peaks.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from benchmarks import extent

RANKS, LOCAL = 512, 8
CHANNELS = 16
MIB = int(os.environ.get("TRIAGE_MIB", extent.of("256", "2")))
TARGET_MB_PER_S = 150.0
TARGET_MIB = 300.0
GREPPED = 20
"""Patterns that grep looks for."""

PIECES = 16
"""Files of the folder."""

_READ = """
import json, os, resource, sys, time
if sys.argv[2] == "without RE2":
    sys.modules["re2"] = None
if sys.argv[2] == "one core":
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
from nccltool.triage import run as triaging
before, clock = time.process_time(), time.monotonic()
incident = triaging.triage([sys.argv[1]], ())
took, passed = time.process_time() - before, time.monotonic() - clock
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
answer = repr((incident.root_cause, incident.overview))
print(json.dumps([took, passed, peak, children, incident.lines_read, answer]))
"""


@dataclass(frozen=True)
class Read:
    """How a log was read, and what came of it."""

    cpu_s: float
    clock_s: float
    mib: float
    largest_child_mib: float
    lines: int
    answer: str


def main() -> bool:
    """Make the logs, read them, compare with grep; whether the targets are met and all answers are the same."""
    with tempfile.TemporaryDirectory() as folder:
        logs = {
            "text of a job": _text(),
            "connections of all to all": _connections(),
            "communicators of eight": _communicators(),
        }
        good = [_one(Path(folder) / "job.log", name, lines) for name, lines in logs.items()]
        return all([*good, _folder(Path(folder))])


def _one(log: Path, name: str, lines: Iterator[str]) -> bool:
    """A log on one core, with RE2 and without it, and grep."""
    size = write(log, MIB << 20, lines)
    fast, slow = _read(log), _read(log, "without RE2")
    grep_s = min(_grep(log) for _ in range(3))
    speed = size / fast.cpu_s / 1e6
    good = speed >= TARGET_MB_PER_S and max(fast.mib, slow.mib) <= TARGET_MIB and fast.answer == slow.answer
    print(
        f"{name}: {size / (1 << 20):.0f} MiB, {fast.lines} lines: {speed:.0f} MB/s (at least"
        f" {TARGET_MB_PER_S:.0f}), {fast.mib:.0f} MiB of memory (at most {TARGET_MIB:.0f}); without RE2"
        f" {size / slow.cpu_s / 1e6:.0f} MB/s, {'the same' if fast.answer == slow.answer else 'ANOTHER'} answer;"
        f" grep -c -E of {GREPPED} of the patterns {size / grep_s / 1e6:.0f} MB/s, so"
        f" {fast.cpu_s / grep_s:.1f} times the time of grep, without RE2 {slow.cpu_s / grep_s:.1f} times"
        f" {'ok' if good else 'MISSED'}",
        flush=True,
    )
    return good


def _folder(place: Path) -> bool:
    """The last log as a folder of files, on one core and on all."""
    _cut(place / "job.log", place / "ranks")
    one, all_cores = _read(place / "ranks", "one core"), _read(place / "ranks")
    cores = len(os.sched_getaffinity(0))
    good = one.answer == all_cores.answer
    print(
        f"a folder of {PIECES} files: {one.clock_s:.1f} s on one core, {all_cores.clock_s:.1f} s on {cores}, so"
        f" {one.clock_s / all_cores.clock_s:.2f} times as fast, {all_cores.mib:.0f} MiB and at most"
        f" {all_cores.largest_child_mib:.0f} MiB of each process beside it,"
        f" {'the same answer ok' if good else 'ANOTHER ANSWER MISSED'}"
    )
    return good


def _cut(log: Path, folder: Path) -> None:
    """Pieces of about the same size, each of whole lines."""
    folder.mkdir()
    share = log.stat().st_size // PIECES + 1
    with log.open("rb") as file:
        for number in range(PIECES):
            (folder / f"piece{number:02}.log").write_bytes(file.read(share) + file.readline())


def _read(log: Path, how: str = "") -> Read:
    command = [sys.executable, "-c", _READ, str(log), how]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Read(*json.loads(done.stdout))


def _grep(log: Path) -> float:
    """Seconds of the processor that grep needs for some of the expressions."""
    from nccltool.triage.logs import reader

    words = [
        re.escape(item.literal) for item in reader.PATTERNS if item.role == "failure" and len(item.literal) > 9
    ]
    before = os.times()
    subprocess.run(["grep", "-c", "-E", "|".join(words[:GREPPED]), str(log)], check=False, capture_output=True)
    after = os.times()
    spent_s = after.children_user + after.children_system - before.children_user - before.children_system
    return max(spent_s, 1 / os.sysconf("SC_CLK_TCK"))  # the system counts in these


def write(log: Path, size: int, lines: Iterator[str]) -> int:
    """A log of at least `size` bytes; the bytes written."""
    started = time.monotonic()
    with log.open("w", encoding="ascii") as file:
        while file.tell() < size:
            file.writelines(islice(lines, 10_000))
    print(f"log written in {time.monotonic() - started:.0f} s", flush=True)
    return log.stat().st_size


def _text() -> Iterator[str]:
    """What 8 ranks of a trainer print: steps, its loggers, bars, warnings, checkpoints; without end."""
    draw = random.Random(1)
    for step in count(1):
        clock = f"2026-03-01 {step // 3600 % 24:02}:{step // 60 % 60:02}:{step % 60:02}"
        yield (
            f" [{clock}] iteration {step:8}/ 500000 | consumed samples: {step * 1024:12} | elapsed time per"
            f" iteration (ms): {draw.uniform(900, 1100):.1f} | learning rate: 1.500000E-04 | lm loss:"
            f" {draw.uniform(2, 3):.6E} | grad norm: {draw.random():.3f} | number of nan iterations:   0 |\n"
        )
        for rank in range(LOCAL):
            yield (
                f"[rank{rank}]: {clock},{draw.randrange(1000):03} - trainer - INFO - batch {step} fetched in"
                f" {draw.uniform(1, 9):.2f} ms, queue depth {draw.randrange(64)}\n"
            )
            yield (
                f"[rank{rank}]: I0301 {clock[11:]}.{draw.randrange(10**6):06} {4100 + rank} memory.py:"
                f"{draw.randrange(900)}] allocated {draw.uniform(20, 70):.2f} GiB reserved 74.25 GiB\n"
            )
        if step % 10 == 0:
            yield f" 12%|#2        | {step}/500000 [10:01<90:00, {draw.uniform(1, 9):.2f}it/s, loss=2.31]\r"
        if step % 50 == 0:
            yield f"/v/torch/utils/data/dataloader.py:{draw.randrange(999)}: UserWarning: 'pin_memory' is set\n"
        if step % 100 == 0:
            yield f"  successfully saved checkpoint from iteration {step} to /data/ckpt\n"


def _connections() -> Iterator[str]:
    """Every rank's start, its communicators and channels, then the connections of an all-to-all, without end."""
    yield from _starts()
    yield from _communicator(0, range(RANKS))
    for number in range(1, 4):
        for first in range(0, RANKS, LOCAL):
            yield from _communicator(number * 1000 + first, range(first, first + LOCAL))
    for shift in count(1):
        yield from _peers(shift)


def _communicators() -> Iterator[str]:
    """Every rank's start, and communicators of the ranks of a host, without end; 3 lines of 5 are of channels."""
    yield from _starts()
    for number in count(1):
        for first in range(0, RANKS, LOCAL):
            yield from _communicator(number * 1000 + first, range(first, first + LOCAL))


def _head(rank: int) -> str:
    host, local = divmod(rank, LOCAL)
    return f"gpu-node-{host:03}:{41000 + local}:{41900 + local} [{local}] NCCL INFO "


def _starts() -> Iterator[str]:
    """What each process says once."""
    for rank in range(RANKS):
        head, host = _head(rank), rank // LOCAL
        hcas = " ".join(f"[{n}]mlx5_{n}:1/IB/SHARP" for n in range(8))
        for text in (
            f"Bootstrap: Using bond0:10.1.{host // 250}.{host % 250}<0>",
            "cudaDriverVersion 12040",
            "NCCL version 2.21.5+cuda12.4",
            "NCCL_SOCKET_IFNAME set by environment to bond0",
            "NCCL_IB_HCA set to mlx5",
            f"NET/IB : Using {hcas} [RO]; OOB bond0:10.1.{host // 250}.{host % 250}<0>",
            "Using non-device net plugin version 0",
            "Using network IB",
            "DMA-BUF is available on GPU device 0",
        ):
            yield f"{head}{text}\n"


def _communicator(number: int, ranks: range) -> Iterator[str]:
    """The lines of a communicator, of all its ranks in turns."""
    size, nodes = len(ranks), max(1, len(ranks) // LOCAL)
    name = f"0x{0xF00D0000 + number:x}"
    for phase in range(3):
        for rank in ranks:
            head, own = _head(rank), rank - ranks[0]
            comm = f"comm 0x{0x7F0000000000 + number * 4096 + rank:x} rank {own} nranks {size}"
            where = f"cudaDev {rank % LOCAL} nvmlDev {rank % LOCAL} busId {rank % LOCAL:x}b000 commId {name}"
            if phase == 0:
                yield f"{head}ncclCommInitRank {comm} {where} - Init START\n"
                yield f"{head}Setting affinity for GPU {rank % LOCAL} to ff,ffff0000,00ffffff\n"
                yield f"{head}NVLS multicast support is available on dev {rank % LOCAL}\n"
                told = comm.replace("nranks", "nRanks")
                yield f"{head}{told} nNodes {nodes} localRanks {LOCAL} localRank {rank % LOCAL} MNNVL 0\n"
                trees = " ".join(f"[{n}] {own + 1}/-1/-1->{own}->{own - 1}" for n in range(CHANNELS))
                yield f"{head}Trees {trees}\n"
                yield f"{head}P2P Chunksize set to 131072\n"
            elif phase == 1:
                yield from _ring(head, own, size)
                yield f"{head}Connected all rings\n"
                yield f"{head}Connected all trees\n"
            else:
                yield f"{head}threadThresholds 8/8/64 | {size * 8}/8/64 | 512 | 512\n"
                yield f"{head}{CHANNELS} coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels\n"
                yield f"{head}ncclCommInitRank {comm} {where} - Init COMPLETE\n"


def _ring(head: str, rank: int, size: int) -> Iterator[str]:
    following = (rank + 1) % size
    for channel in range(CHANNELS):
        via = "P2P/CUMEM/read" if following % LOCAL else f"NET/IB/{channel % 8}/GDRDMA"
        way = "" if following % LOCAL else " [send]"
        yield f"{head}Channel {channel:02}/0 : {rank}[{rank % 8}] -> {following}[{following % 8}]{way} via {via}\n"


def _peers(shift: int) -> Iterator[str]:
    """The connections that an all-to-all makes, of all ranks."""
    for rank in range(RANKS):
        to = (rank + shift) % RANKS
        far = to // LOCAL != rank // LOCAL
        head, tail = _head(rank), f"{rank}[{rank % LOCAL}] -> {to}[{to % LOCAL}]"
        for channel in range(2):
            via = f" [send] via NET/IB/{rank % 8}/GDRDMA/Shared" if far else " via P2P/CUMEM"
            yield f"{head}Channel {channel:02}/1 : {tail}{via}\n"
