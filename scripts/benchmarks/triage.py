"""How fast logs are read: an NCCL_DEBUG=INFO log of 512 ranks on one core, with grep as the yardstick.

`TRIAGE_MIB=1024 scripts/bench triage` sets the size of the log; the time is the processor's, the memory the peak
of the process.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

RANKS, LOCAL = 512, 8
CHANNELS = 16
MIB = int(os.environ.get("TRIAGE_MIB", "256"))
TARGET_MB_PER_S = 150.0
TARGET_MIB = 300.0
GREPPED = 20
"""Patterns that grep looks for."""

_READ = """
import json, resource, sys, time
from nccltool import triaging
before = time.process_time()
incident = triaging.triage([sys.argv[1]], ())
took = time.process_time() - before
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([took, peak, incident.root_cause, incident.lines_read]))
"""


def main() -> bool:
    """Make the log, read it, compare with grep; whether both targets are met."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "job.log"
        size = write(log, MIB << 20)
        took, peak, cause, count = json.loads(_run([sys.executable, "-c", _READ, str(log)]))
        grep_s = _grep(log)
    speed = size / took / 1e6
    good: bool = speed >= TARGET_MB_PER_S and peak <= TARGET_MIB
    print(
        f"{size / (1 << 20):.0f} MiB, {count} lines of {RANKS} ranks: {speed:.0f} MB/s (at least"
        f" {TARGET_MB_PER_S:.0f}), {peak:.0f} MiB of memory (at most {TARGET_MIB:.0f}), root cause {cause};"
        f" grep -c -E of {GREPPED} of the patterns {size / grep_s / 1e6:.0f} MB/s, ratio {took / grep_s:.2f}"
        f" {'ok' if good else 'MISSED'}"
    )
    return good


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _grep(log: Path) -> float:
    """Seconds of the processor that grep needs for some of the expressions."""
    from nccltool import logs

    words = [re.escape(item.literal) for item in logs.PATTERNS if item.role == "failure" and len(item.literal) > 9]
    before = os.times()
    subprocess.run(["grep", "-c", "-E", "|".join(words[:GREPPED]), str(log)], check=False, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def write(log: Path, size: int) -> int:
    """A log of at least `size` bytes: every rank's start, its communicators and channels; the bytes written."""
    started = time.monotonic()
    with log.open("w", encoding="ascii") as file:
        file.writelines(_starts())
        file.writelines(_communicator(0, range(RANKS)))
        for number in range(1, 4):
            for first in range(0, RANKS, LOCAL):
                file.writelines(_communicator(number * 1000 + first, range(first, first + LOCAL)))
        shift = 0
        while file.tell() < size:
            shift += 1
            file.writelines(_peers(shift))
    print(f"log written in {time.monotonic() - started:.0f} s", flush=True)
    return log.stat().st_size


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
