"""Does `nccltool serve` hold under load? 200 scrapes a second of 10,000 series, beside slow and rude peers.

Scrapes begin on a clock, whether the ones before are answered or not (an open loop: a server that stalls cannot
hide it by slowing down its clients), over connections that are kept, and ask for gzip as Prometheus does. The time
of a scrape counts from when it should have begun. The clients run on the same machine.

Memory is flat when the last quarter of the load needs no more than the first, beside the same peers; until then
they have been there for longer than the server waits for a silent one.
"""

import asyncio
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import extent
from nccltool.core.documents import RunInfo
from nccltool.core.statistics import Stats
from nccltool.core.verdicts import Verdict
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.probe import collectives
from nccltool.probe.document import to_json
from nccltool.probe.job import ProbeJob
from nccltool.probe.result import Measurement, Run

RATE = 200
SECONDS = extent.of(20, 2)
BEFORE_S = extent.of(15, 1)
SERIES = extent.of(10_000, 500)
P99_TARGET_S = 0.5
GROWTH_TARGET = 1.10
SLOW_READERS, SILENT, RUDE = 50, 200, 20


def main() -> bool:
    """Print what was seen; whether there was no error, p99 is under the target and memory is flat."""
    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder))
        server, port = _started(folder)
        try:
            first = asyncio.run(_load(port, 2))
            times, errors, series, resident = asyncio.run(_loaded(port, server.pid))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(10)
    quarter = max(len(resident) // 4, 1)
    before, after = statistics.median(resident[:quarter]), statistics.median(resident[-quarter:])
    p99 = statistics.quantiles(times, n=100)[98] if len(times) > 100 else float("inf")
    good = not errors and p99 <= P99_TARGET_S and series >= SERIES and after <= GROWTH_TARGET * before
    peers = f"{SLOW_READERS} slow readers, {SILENT} silent and {RUDE} rude peers"
    alone = statistics.median(first[0])
    print(
        f"{len(times)} scrapes of {series} series in {SECONDS} s beside {peers}: {errors} errors, median "
        f"{statistics.median(times) * 1e3:.1f} ms (alone {alone * 1e3:.1f} ms), p99 {p99 * 1e3:.0f} ms (at most "
        f"{P99_TARGET_S * 1e3:.0f}), resident {before / 2**20:.0f} -> {after / 2**20:.0f} MiB, "
        f"at most {max(resident) / 2**20:.0f} "
        f"{'ok' if good else 'MISSED'}"
    )
    return good


def _fill(base: Path) -> None:
    """A run with enough rows: each is five series."""
    started = datetime.now(UTC)
    info = RunInfo(
        id=f"{started:%Y%m%dT%H%M%SZ}-00000000",
        started=f"{started:%Y-%m-%dT%H:%M:%SZ}",
        command=("nccltool", "probe"),
        nccltool="0",
        torch=None,
        backend="nccl",
        backend_version="2.29.7",
        backend_reason=None,
        nodes=64,
        emulated=False,
        world_size=512,
        hosts=("a", "b"),
    )
    times = Stats(mean=1e-3, median=1e-3, p90=1.1e-3, p99=1.3e-3, min=9e-4, max=2e-3, ci95=(9e-4, 1.1e-3))
    rows = tuple(
        Measurement(
            op=op,
            bytes=8 * (size + 1),
            bytes_per_rank=8,
            count=size,
            dtype="float32",
            reduce_op=None,
            placement="in-place",
            cadence="stream",
            iterations=200,
            time_s=times,
            algbw_bytes_per_s=1e9 + size,
            busbw_bytes_per_s=2e9 + size / 3,
            wrong=0,
            late_s=1e-3,
        )
        for op in collectives.NAMES
        for size in range(SERIES // 5 // len(collectives.NAMES) + 1)
    )
    folder = run_dir_of(base, ProbeJob(run_id=info.id, ops=collectives.NAMES))
    verdict = Verdict(status="pass", exit_code=0)
    folder.finish(to_json(Run(info=info, verdict=verdict, measurements=rows, findings=(), models=())))
    folder.close()


def _started(folder: str) -> tuple[subprocess.Popen[str], int]:
    argv = [
        sys.executable,
        "-m",
        "nccltool",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--run-dir",
        folder,
        "--every",
        "5",
    ]
    server = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    said = server.stderr.readline()
    return server, int(said.split(":")[-1].split("/")[0])


async def _loaded(port: int, pid: int) -> tuple[list[float], int, int, list[int]]:
    """The load beside rude peers: as _load, and the server's memory at each second of it."""
    _allow_many_files()
    rudes = [asyncio.create_task(task) for task in _rude(port)]
    await _load(port, BEFORE_S)
    watching = asyncio.create_task(_watched(pid))
    times, errors, series = await _load(port, SECONDS)
    resident = await watching
    for task in rudes:
        task.cancel()
    await asyncio.gather(*rudes, return_exceptions=True)
    return times, errors, series, resident


async def _watched(pid: int) -> list[int]:
    resident = []
    for _ in range(SECONDS):
        await asyncio.sleep(1)
        resident.append(_resident(pid))
    return resident


async def _load(port: int, seconds: int) -> tuple[list[float], int, int]:
    """(seconds of each scrape, errors, series of one)."""
    begin = time.perf_counter() + 0.2
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    scrapes = [asyncio.create_task(_scrape(port, begin + index / RATE, free)) for index in range(RATE * seconds)]
    done = await asyncio.gather(*scrapes, return_exceptions=True)
    series = await _series(port)
    times = [seconds for seconds in done if isinstance(seconds, float)]
    for problem in {repr(one) for one in done if isinstance(one, BaseException)}:
        print(f"  {problem}")
    return times, len(done) - len(times), series


async def _scrape(
    port: int, due: float, free: "asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]"
) -> float:
    await asyncio.sleep(max(due - time.perf_counter(), 0.0))
    async with asyncio.timeout(10):
        connection = await asyncio.open_connection("127.0.0.1", port) if free.empty() else free.get_nowait()
        reader, writer = connection
        writer.write(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head[:30]
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        assert len(await reader.readexactly(length)) == length
        if b"connection: close" in head.lower():  # a connection ends after so many requests, and says so
            writer.close()
        else:
            free.put_nowait(connection)
    return time.perf_counter() - due


async def _series(port: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    text = await reader.read()
    while piece := await reader.read():
        text += piece
    return sum(line.startswith(b"nccltool_") for line in text.splitlines())


def _rude(port: int):  # type: ignore[no-untyped-def]
    async def silent() -> None:
        while True:
            with suppress(OSError):
                reader, _ = await asyncio.open_connection("127.0.0.1", port)
                await reader.read()

    async def slow() -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
                writer.write(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")
                await asyncio.sleep(3600)

    async def huge() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET /metrics HTTP/1.1\r\nx: " + b"a" * 2**20)
                await reader.read()
            await asyncio.sleep(0.5)

    return [
        *(silent() for _ in range(SILENT)),
        *(slow() for _ in range(SLOW_READERS)),
        *(huge() for _ in range(RUDE)),
    ]


def _allow_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
