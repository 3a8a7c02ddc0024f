"""Answers of the server, and where it listens; as a user starts it, it is tried in test_serve.py."""

import asyncio
import errno
import os
import socket
import time
from typing import Any

import pytest

from nccltool.monitor import http_server
from nccltool.monitor.web_config import WebConfig
from tests.monitor.test_serve import LIMIT_S


@pytest.mark.parametrize("path", ["/metrics", "/runs", "/healthz"])
@pytest.mark.parametrize(("age_s", "status"), [(0.0, 200), (61.0, 503)])
def test_what_was_not_looked_at_for_too_long_is_not_shown(path: str, age_s: float, status: int) -> None:
    body = http_server.ResponseBody.of(http_server.TEXT, b"nccltool_last_run_success 1\n")
    page = http_server.MetricsPage(text=body, openmetrics=body, runs=body, made=time.monotonic() - age_s)
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    app = http_server.MetricsApp(lambda: page, 60.0, WebConfig(), frozenset())
    asyncio.run(app({"type": "http", "method": "GET", "path": path, "headers": []}, receive, send))
    assert sent[0]["status"] == status
    text = b"".join(message.get("body", b"") for message in sent)
    assert (b"is too old" in text) == (status == 503)
    assert b"nccltool_" not in text or status == 200


@pytest.mark.parametrize("has_ipv6", [True, False])
def test_all_addresses_also_where_the_kernel_has_no_ipv6(monkeypatch: pytest.MonkeyPatch, has_ipv6: bool) -> None:
    class Socket(socket.socket):
        def __init__(self, family: int, kind: int) -> None:
            if family == socket.AF_INET6 and not has_ipv6:
                raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
            super().__init__(family, kind)

    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", Socket)
        listening = http_server.listen(":0")
    with listening:
        assert listening.family == (socket.AF_INET6 if has_ipv6 else socket.AF_INET)
        socket.create_connection(("127.0.0.1", listening.getsockname()[1]), LIMIT_S).close()
