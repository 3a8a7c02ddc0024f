"""Serve the run directory over HTTP: scan it repeatedly, and answer from the newest scan."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nccltool.monitor import exposition, http_server, web_reload
from nccltool.monitor.export import HeldAgainst
from nccltool.monitor.http_server import MetricsPage
from nccltool.monitor.run_cache import RunCache, RunScan
from nccltool.monitor.web_config import WebConfig
from nccltool.monitor.web_reload import WebReload

STALE_LOOKS = 4
"""So many looks may fail to come before nothing is shown any more."""
LEAST_STALE_S = 60.0
DRAIN_S = 3.0
"""For answers that are on their way at the end."""


async def serve(
    base: Path,
    listening: socket.socket,
    reload: WebReload,
    *,
    hosts: frozenset[str],
    every_s: float,
    max_age_s: float,
    against: HeldAgainst,
    cluster: str,
    ready: Callable[[], None],
) -> None:
    """Serve the runs of a folder until SIGINT or SIGTERM; `ready` is called when requests are answered."""
    ended, asked = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    web_reload.take_hangups(loop, asked, ended)
    loop.set_exception_handler(_handle)
    pages = _Pages(RunCache(base, max_age_s, against), cluster)
    await asyncio.to_thread(pages.look)
    app = http_server.MetricsApp(
        lambda: pages.newest, max(STALE_LOOKS * every_s, LEAST_STALE_S), reload.web, hosts
    )
    config = http_server.config_of(listening, reload.web)

    def use(web: WebConfig) -> None:
        config.renew(web)
        app.admit(web.users)

    tasks = [asyncio.create_task(_look(pages, every_s)), asyncio.create_task(reload.on(asked, use))]
    ready()

    async def until_asked() -> None:
        await ended.wait()
        loop.call_later(DRAIN_S, os._exit, 0)  # asyncio would wait for peers that take nothing; nothing is lost

    try:
        await http_server.serve(app, config, until_asked)
    finally:
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Python's streams report a connection that was cancelled as an error; it is one that the end has cut."""
    if not isinstance(context.get("exception"), asyncio.CancelledError):
        loop.default_exception_handler(context)


async def _look(pages: "_Pages", every_s: float) -> None:
    """In a thread: a file system that hangs holds up the looks, not the answers."""
    while True:
        await asyncio.sleep(every_s)
        await asyncio.to_thread(pages.look)


class _Pages:
    """The page of the newest look; where nothing is new in the cache, it is the one before, made now.

    To write 10,000 series anew at each look would cost 0.2 s of a core and leave holes in the process's memory.
    """

    def __init__(self, cache: RunCache, cluster: str) -> None:
        self._cache, self._cluster = cache, cluster
        self._seen: RunScan | None = None
        self.newest: MetricsPage

    def look(self) -> None:
        seen = self._cache.look()
        self.newest = (
            replace(self.newest, made=time.monotonic()) if seen == self._seen else _page(seen, self._cluster)
        )
        self._seen = seen


def _page(seen: RunScan, cluster: str) -> MetricsPage:
    samples, body = seen.samples(), http_server.ResponseBody.of
    return MetricsPage(
        text=body(http_server.TEXT, exposition.text(samples, cluster=cluster)),
        openmetrics=body(http_server.OPENMETRICS, exposition.text(samples, "openmetrics", cluster)),
        runs=body(http_server.JSON, _runs(seen)),
        made=time.monotonic(),
    )


def _runs(seen: RunScan) -> bytes:
    """The list of runs, the newest first; without folders, which are nobody's business over the network."""
    rows = [{name: value for name, value in asdict(entry).items() if name != "path"} for entry in seen.entries]
    document = {"schema": 1, "kind": "runs", "problem": seen.problem, "runs": rows}
    return (json.dumps(document, indent=2) + "\n").encode()
