"""Runs from what a Prometheus has recorded: only what is certainly theirs, and no answer that hangs or lies."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from nccltool.core.errors import BadInput, DidNotComplete, NccltoolError
from nccltool.history import keeping, prometheus
from nccltool.history.database import History
from nccltool.history.prometheus import PrometheusServer, is_url

NOW = 1_790_000_000.0
NIGHT = NOW - 86400
FROM = {"instance": "head:9100", "job": "nccltool"}


def _series(name: str, value: float, **labels: str) -> dict[str, Any]:
    return {"metric": {"__name__": f"nccltool_{name}", **FROM, **labels}, "value": [NIGHT, str(value)]}


ROW = {"op": "all_reduce", "bytes": "1048576", "dtype": "float32", "nodes": "2", "world_size": "16"}
RECORDED: dict[str, list[dict[str, Any]]] = {
    "query_range": [
        {
            "metric": {"__name__": "nccltool_last_run_timestamp_seconds", **FROM, "command": command},
            "values": [[NIGHT + number * 600, str(started)] for number, started in enumerate(starts)],
        }
        for command, starts in (
            ("preflight", (NIGHT - 60, NIGHT - 60, NIGHT + 900)),
            ("probe", (NIGHT - 30,)),
            ("<script>", (NIGHT,)),
        )
    ],
    "query": [
        _series("last_run_status", 2, command="preflight"),
        _series("last_run_status", 0, command="probe"),
        _series("host_status", 0, host="n1"),
        _series("host_status", 2, host="n2"),
        _series("expected_hosts", 2),
        _series("measurement_timestamp_seconds", NIGHT - 30, op="all_reduce", nodes="2", world_size="16"),
        _series("bus_bandwidth_bytes_per_second", 5e10, placement="in-place", **ROW),
        _series("bus_bandwidth_bytes_per_second", 4e10, placement="in-place", **{**ROW, "op": "broadcast"}),
        _series("build_info", 1, version="0.1.0", torch="2.9.0", nccl="2.27.3"),
    ],
}


class _Server(ThreadingHTTPServer):
    """Answers with what was recorded, or with one text."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.code, self.text, self.location = 200, "", ""
        self.asked: list[tuple[str, dict[str, list[str]], str]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        kind = parts.path.rpartition("/")[2]
        self.server.asked.append((kind, parse_qs(parts.query), self.headers.get("Authorization", "")))
        data = json.dumps({"status": "success", "data": {"result": RECORDED.get(kind, [])}})
        self.send_response(self.server.code)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()
        self.wfile.write((self.server.text or data).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def _named(server: _Server, **more: Any) -> PrometheusServer:
    return PrometheusServer(url=f"http://127.0.0.1:{server.server_address[1]}/", **more)


def test_each_start_is_a_run(server: _Server) -> None:
    first, probe, second = prometheus.records(_named(server, user="me", password="x"), NOW - 5 * 86400, NOW)
    assert (first.kind, first.started, first.status) == ("preflight", NIGHT - 60, "fail")
    assert [(one.host, one.status) for one in first.visits] == [("n1", "pass"), ("n2", "fail")]
    assert (first.versions.backend, first.values) == ("nccl 2.27.3", ())
    assert (second.kind, second.started) == ("preflight", NIGHT + 900)
    (value,) = probe.values  # the broadcast is of another run
    assert (value.series.name, value.series.of, value.value) == ("all_reduce 1 MiB", "all_reduce", 5e10)
    kind, words, access = server.asked[1]
    assert (kind, words["time"], access) == ("query", [f"{NIGHT}"], "Basic bWU6eA==")
    assert 'instance="head:9100"' in words["query"][0]


def test_hosts_of_older_preflights_prove_nothing(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    more = [*RECORDED["query"], _series("host_status", 2, host="n3")]
    monkeypatch.setitem(RECORDED, "query", more)
    assert [one.visits for one in prometheus.records(_named(server), 0, NOW)] == [(), (), ()]


def test_runs_are_added_once(server: _Server, tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    assert keeping.take_in(file, [_named(server)], NOW).added == 3
    again = keeping.take_in(file, [_named(server)], NOW)
    assert (again.added, again.known, len(History(file).ids())) == (0, 3, 3)


@pytest.mark.parametrize(
    ("code", "text", "said", "kind"),
    [
        (401, "", "refused the credentials: HTTP 401", BadInput),
        (422, "", "refused the query: HTTP 422", BadInput),
        (503, "", "could not be asked: HTTP 503", DidNotComplete),
        (200, "<html>", "did not answer as a Prometheus does", BadInput),
        (200, '{"status":"success"}', "did not answer as a Prometheus does", BadInput),
        (200, '{"data":{"result":[{"metric":{},"values":[[1,2]]}]}}', "did not answer as a Prometheus", BadInput),
    ],
)
def test_other_answers(server: _Server, code: int, text: str, said: str, kind: type[NccltoolError]) -> None:
    server.code, server.text = code, text
    with pytest.raises(kind, match=said):
        [*prometheus.records(_named(server), 0, NOW)]


def test_credentials_go_to_nobody_else(server: _Server) -> None:
    server.code, server.location = 302, "http://elsewhere.invalid/"
    with pytest.raises(BadInput, match="HTTP 302"):
        [*prometheus.records(_named(server, user="me"), 0, NOW)]


def test_nobody_there_and_too_much(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "_MOST_BYTES", 10)
    with pytest.raises(BadInput, match="more than"):
        [*prometheus.records(_named(server), 0, NOW)]
    for url in ("http://127.0.0.1:1", "http://127.0.0.1:99999"):
        with pytest.raises(NccltoolError):
            [*prometheus.records(PrometheusServer(url=url), 0, NOW)]
    with pytest.raises(BadInput, match="is not the address"):
        [*prometheus.records(PrometheusServer(url="http://me:secret@host"), 0, NOW)]
    assert is_url("https://prom:9090")
    assert not is_url("runs/http")
