"""Is a full sweep quick, and are its ranks small? 2 nodes x 2 ranks, all operations, 1 KiB to 16 MiB, checked."""

import json
import multiprocessing
import subprocess
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from benchmarks import extent
from benchmarks.startup import NCCLTOOL
from nccltool.core.processes import peak_rss_bytes
from nccltool.probe import collectives
from nccltool.worker.probe.comm import TorchComm

SECONDS_TARGET = 60
EXTRA_TARGET_MIB = 40
LARGEST = extent.of(16 * 2**20, 64 * 2**10)
WORLD = 4


def main() -> bool:
    """Print two lines; whether both targets are met."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [NCCLTOOL, "probe", "--nodes", "2", "--nproc-per-node", "2", "--run-dir", folder]
        sweep = ["-b", "1KiB", "-e", str(LARGEST), "-q", "--format", "json"]
        begin = time.perf_counter()
        done = subprocess.run([*argv, *sweep], stdout=subprocess.PIPE, check=False)
        seconds = time.perf_counter() - begin
        peak_mib = max(_peaks(next(Path(folder).glob("*/events.jsonl")))) / 2**20
    rows = json.loads(done.stdout)["measurements"]
    good_time = done.returncode == 0 and seconds < SECONDS_TARGET
    print(
        f"{len(rows)} rows, wrong {sum(row['wrong'] for row in rows)}, in {seconds:.1f} s"
        f" (under {SECONDS_TARGET}) {'ok' if good_time else 'MISSED'}"
    )
    bare_mib = _bare_peak() / 2**20
    extra = peak_mib - bare_mib
    good_memory = extra <= EXTRA_TARGET_MIB
    print(
        f"largest rank {peak_mib:.0f} MiB = bare torch rank with the same buffers and calls {bare_mib:.0f}"
        f" + {extra:.0f} (at most {EXTRA_TARGET_MIB}) {'ok' if good_memory else 'MISSED'}"
    )
    return good_time and good_memory


def _peaks(events: Path) -> list[int]:
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    return [line["peak_rss_bytes"] for line in lines if line["event"] == "bye"]


def _bare_peak() -> int:
    """Peak memory of ranks that only make the same calls, started as users start them.

    Gloo copies inside several collectives (all_gather and reduce_scatter keep the total a second time), so a
    rank that makes no calls would be the wrong yardstick.
    """
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        results = context.SimpleQueue()
        ranks = [context.Process(target=_bare_rank, args=(rank, folder, results)) for rank in range(WORLD)]
        for rank in ranks:
            rank.start()
        peaks: list[int] = [results.get() for _ in ranks]
        for rank in ranks:
            rank.join()
    return max(peaks)


def _bare_rank(rank: int, folder: str, results: "multiprocessing.SimpleQueue[int]") -> None:
    store = dist.FileStore(str(Path(folder) / "store"), WORLD)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=timedelta(seconds=60))
    comm = TorchComm("sum")
    for op in collectives.NAMES:
        collective = collectives.get(op)
        layout = collective.layout(LARGEST // 4, WORLD, 4)
        send = torch.zeros(layout.send)
        recv = send if collective.placements[0] == "in-place" else torch.zeros(layout.recv)
        call = collective.bind(comm, send, recv)
        for _ in range(25):
            call()
        del call, send, recv
    results.put(peak_rss_bytes() or 0)
    dist.destroy_process_group()
