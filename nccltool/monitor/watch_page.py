"""Where the metrics of a watch go: a file for node_exporter, or HTTP, as for `nccltool serve`."""

import asyncio
import os
import socket
import threading
import time
from pathlib import Path
from typing import Protocol

from nccltool.core import written_files
from nccltool.core.errors import BadInput
from nccltool.monitor import exposition, host_headers, http_server, job_metrics
from nccltool.monitor.exporters.textfile import SUFFIX
from nccltool.monitor.http_server import MetricsPage
from nccltool.monitor.job_metrics import WatchedJob
from nccltool.monitor.web_config import WebConfig

_STALE_TICKS = 4
_LEAST_STALE_S = 60.0


class WatchPage(Protocol):
    """Takes each tick."""

    def show(self, watched: WatchedJob) -> None:
        """Raises BadInput where it cannot be written."""


def of_text(where: str, every_s: float) -> WatchPage:
    """FILE.prom or [HOST]:PORT. Raises BadInput."""
    if where.endswith(SUFFIX):
        return _File(Path(where))
    if ":" not in where:
        remedy = "--metrics 127.0.0.1:9780, --metrics :9780 for all addresses, or --metrics FILE.prom"
        raise BadInput(f"--metrics {where[:80]!r} is neither HOST:PORT nor a {SUFFIX} file", remedy)
    return _Http(where, every_s)


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            written_files.check(path)
        except OSError as error:
            raise self._refused(error) from error

    def show(self, watched: WatchedJob) -> None:
        try:
            with written_files.replacing(self._path) as file:
                os.fchmod(file.fileno(), 0o644)  # the collector runs as another user
                file.write(exposition.text(job_metrics.samples(watched)))
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> BadInput:
        return BadInput(f"--metrics {self._path} cannot be written: {error.strerror}", "name another file")


class _Http:
    """A server in a thread of its own; before the first tick it says that there is nothing yet."""

    def __init__(self, where: str, every_s: float) -> None:
        try:
            self._listening: socket.socket = http_server.listen(where)
        except BadInput as error:
            raise BadInput(error.message.replace("--listen", "--metrics", 1), error.remedy) from error
        self._page = MetricsPage(text=_NOTHING, openmetrics=_NOTHING, runs=_NO_RUNS, made=float("-inf"))
        stale_s = max(_STALE_TICKS * every_s, _LEAST_STALE_S)
        app = http_server.MetricsApp(lambda: self._page, stale_s, WebConfig(), host_headers.names(where, ()))
        config = http_server.config_of(self._listening, WebConfig())

        async def for_ever() -> None:
            await asyncio.Event().wait()

        serving = threading.Thread(
            target=lambda: asyncio.run(http_server.serve(app, config, for_ever)), daemon=True
        )
        serving.start()

    def show(self, watched: WatchedJob) -> None:
        samples, body = job_metrics.samples(watched), http_server.ResponseBody.of
        self._page = MetricsPage(
            text=body(http_server.TEXT, exposition.text(samples)),
            openmetrics=body(http_server.OPENMETRICS, exposition.text(samples, "openmetrics")),
            runs=_NO_RUNS,
            made=time.monotonic(),
        )

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])


_NOTHING = http_server.ResponseBody.of(http_server.TEXT, b"")
_NO_RUNS = http_server.ResponseBody.of(
    http_server.JSON, b'{"schema": 1, "kind": "runs", "problem": null, "runs": []}\n'
)
