"""Serve the run directory over HTTP: look at it again and again, and answer from the newest look."""

import asyncio
import contextlib
import errno
import json
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.monitor import exposition, http_server
from nccltool.monitor.export import HeldAgainst, without_baseline
from nccltool.monitor.run_cache import RunCache, RunScan
from nccltool.monitor.web_config import WebConfig

STALE_LOOKS = 4
"""So many looks may fail to come before nothing is shown any more."""
LEAST_STALE_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """Where to listen, what to look at, and how often."""

    base: Path
    listening: socket.socket
    web: WebConfig
    every_s: float
    max_age_s: float
    against: HeldAgainst = without_baseline

    def run(self, ready: Callable[[], None]) -> None:
        """Serve until SIGINT or SIGTERM; `ready` is called when requests are answered."""
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: Callable[[], None]) -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        cache = RunCache(self.base, self.max_age_s, self.against)
        pages = _Pages(cache)
        newest = [await asyncio.to_thread(pages.look)]
        app = http_server.MetricsApp(lambda: newest[0], max(STALE_LOOKS * self.every_s, LEAST_STALE_S), self.web)
        looking = asyncio.create_task(self._look(pages, newest))
        ready()
        try:
            await http_server.serve(app, self.listening, self.web, ended.wait)
        finally:
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking

    async def _look(self, pages: "_Pages", newest: list[http_server.MetricsPage]) -> None:
        """In a thread: a file system that hangs holds up the looks, not the answers."""
        while True:
            await asyncio.sleep(self.every_s)
            newest[0] = await asyncio.to_thread(pages.look)


def listen(address: str) -> socket.socket:
    """A socket on HOST:PORT or :PORT (all addresses). Raises BadInput."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise BadInput(
            f"--listen {address!r} is not HOST:PORT", "write 127.0.0.1:9779, or :9779 for all addresses"
        )
    try:
        return _listening(host.strip("[]"), int(port))
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f"--listen {address}: {reason}", "choose another port or address") from error


def _listening(host: str, port: int) -> socket.socket:
    """Without a host, on all addresses: where the kernel has no IPv6, those of IPv4."""
    try:
        return http_server.listen(host or "::", port)
    except OSError as error:
        if host or error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
            raise
        return http_server.listen("0.0.0.0", port)  # noqa: S104


class _Pages:
    """The page of each look; where nothing is new in the cache, it is the one before, made now.

    To write 10,000 series anew at each look would cost 0.2 s of a core and leave holes in the process's memory.
    """

    def __init__(self, cache: RunCache) -> None:
        self._cache = cache
        self._last: tuple[RunScan, http_server.MetricsPage] | None = None

    def look(self) -> http_server.MetricsPage:
        seen = self._cache.look()
        if self._last is not None and self._last[0] is seen:
            page = replace(self._last[1], made=time.monotonic())
        else:
            page = _page(seen)
        self._last = seen, page
        return page


def _page(seen: RunScan) -> http_server.MetricsPage:
    return http_server.MetricsPage(
        text=http_server.ResponseBody.of(http_server.TEXT, exposition.text(seen.samples)),
        openmetrics=http_server.ResponseBody.of(
            http_server.OPENMETRICS, exposition.text(seen.samples, "openmetrics")
        ),
        runs=http_server.ResponseBody.of(http_server.JSON, _runs(seen)),
        made=time.monotonic(),
    )


def _runs(seen: RunScan) -> bytes:
    """The list of runs, the newest first; without folders, which are nobody's business over the network."""
    rows = [{name: value for name, value in asdict(entry).items() if name != "path"} for entry in seen.entries]
    document = {"schema": 1, "kind": "runs", "problem": seen.problem, "runs": rows}
    return (json.dumps(document, indent=2) + "\n").encode()
