"""Pushing, to a small gateway that answers as it is told."""

import base64
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nccltool.core.errors import BadInput
from nccltool.monitor.exporters.base import PushFailed
from nccltool.monitor.exporters.pushgateway import Destination
from nccltool.monitor.metrics import Sample

LIMIT_S = 60.0
SAMPLES = [Sample("suspect", ("alpha",), 1)]


class FakeGateway(ThreadingHTTPServer):
    """Answers with the statuses that it is given, the last one for ever."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = [200]
        self.requests: list[tuple[str, str, str | None, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeGateway

    def do_PUT(self) -> None:
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        self.server.requests.append((self.command, self.path, self.headers["authorization"], text))
        statuses = self.server.statuses
        self.send_response(statuses.pop(0) if len(statuses) > 1 else statuses[0])
        self.send_header("content-length", "8")
        self.end_headers()
        self.wfile.write(b"because\n")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with FakeGateway() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_it_replaces_what_the_group_has(gateway: FakeGateway) -> None:
    Destination(url=gateway.url, grouping={"instance": "node 1/2"}).push(SAMPLES, "probe")
    [(method, path, authorization, text)] = gateway.requests
    assert method == "PUT"
    assert path.startswith("/metrics/job/nccltool/")
    assert "/command/probe" in path
    assert "/instance@base64/" in path  # a slash would end the value
    assert authorization is None
    assert 'nccltool_suspect{host="alpha"} 1.0' in text


def test_clusters_do_not_replace_each_other(gateway: FakeGateway) -> None:
    for cluster in ("east", "west"):
        Destination(url=gateway.url, cluster=cluster).push(SAMPLES, "probe")
    paths = [path for _, path, _, _ in gateway.requests]
    assert paths == [f"/metrics/job/nccltool/cluster/{name}/command/probe" for name in ("east", "west")]


def test_it_says_who_it_is(gateway: FakeGateway) -> None:
    Destination(url=gateway.url, user="sre", password="geheim:1").push(SAMPLES, "probe")
    assert gateway.requests[0][2] == f"Basic {base64.b64encode(b'sre:geheim:1').decode()}"


def test_it_tries_again_while_the_gateway_is_ill(gateway: FakeGateway) -> None:
    gateway.statuses = [503, 200]
    Destination(url=gateway.url).push(SAMPLES, "probe")
    assert len(gateway.requests) == 2


@pytest.mark.parametrize(("status", "hint"), [(400, "log"), (401, "--push-user"), (404, "log")])
def test_it_does_not_repeat_what_is_refused(gateway: FakeGateway, status: int, hint: str) -> None:
    gateway.statuses = [status]
    with pytest.raises(PushFailed, match=f"refused the metrics: HTTP {status} because") as caught:
        Destination(url=gateway.url).push(SAMPLES, "probe")
    assert len(gateway.requests) == 1
    assert hint in caught.value.remedy


def test_it_gives_up_in_time(gateway: FakeGateway) -> None:
    gateway.statuses = [500]
    with pytest.raises(PushFailed, match=r"did not accept the metrics within 0.2 s: HTTP 500"):
        Destination(url=gateway.url, timeout_s=0.2).push(SAMPLES, "probe")


@pytest.mark.parametrize(
    ("status", "option"), [(401, "--push-user and --push-password-file"), (500, "--push-timeout 300")]
)
def test_after_a_measurement_the_remedy_is_another_command(gateway: FakeGateway, status: int, option: str) -> None:
    gateway.statuses = [status]
    limit_s = 0.2 if status == 500 else LIMIT_S  # only what is refused ends it before
    destination = replace(Destination.of_text(gateway.url, ""), timeout_s=limit_s)
    with pytest.raises(PushFailed) as caught:
        destination.push(SAMPLES, "probe")
    assert f"push the saved run later: nccltool export latest --pushgateway {gateway.url}" in caught.value.remedy
    assert caught.value.remedy.endswith(option)


def test_one_that_answers_byte_by_byte() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\nX: " + b"a" * 400:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(PushFailed, match="no complete response in time"):
            Destination(url=url, timeout_s=0.5).push(SAMPLES, "probe")


def test_nobody_is_there() -> None:
    with pytest.raises(PushFailed, match="Connection refused"):
        Destination(url="http://127.0.0.1:9", timeout_s=0.2).push(SAMPLES, "probe")


@pytest.mark.parametrize(
    ("gateway", "message"),
    [
        (Destination(url="localhost:9091"), "is not a URL"),
        (Destination(url="http://"), "is not a URL"),
        (Destination(url="file:///etc/passwd"), "is not a URL"),
        (Destination(url="http://host:99999"), "is not a URL"),
        (Destination(url="http://ho st:9091"), "is not a URL"),
        (Destination(url="https://host", key_file="key.pem"), "needs a certificate"),
        (Destination(url="http://sre:geheim@host:9091"), "shows up in logs"),
        (Destination(url="http://host", grouping={"host": "a"}), "a label of the metrics"),
        (Destination(url="http://host", grouping={"job": "a"}), "a label of the metrics"),
        (Destination(url="http://host", grouping={"a-b": "a"}), "not a valid label name"),
    ],
)
def test_what_a_gateway_cannot_be(gateway: Destination, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        gateway.check()


def test_files_that_are_no_certificates() -> None:
    with pytest.raises(BadInput, match="--push-ca"):
        Destination(url="https://host", ca_file=__file__).push(SAMPLES, "probe")
