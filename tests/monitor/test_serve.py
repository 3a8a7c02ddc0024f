"""The server, started as a user starts it."""

import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import bcrypt
import pytest
from prometheus_client.parser import text_string_to_metric_families as prometheus

from nccltool.core.verdicts import Verdict
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.probe.document import to_json
from nccltool.probe.result import Run
from tests import samples
from tests.support.commands import until

LIMIT_S = 30.0
Server = Callable[..., "Address"]


class Address:
    """Where it listens."""

    def __init__(self, process: subprocess.Popen[str], port: int, tls: ssl.SSLContext | None = None) -> None:
        self.process, self.port, self.tls = process, port, tls

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        if self.tls:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                "localhost", self.port, timeout=LIMIT_S, context=self.tls
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.request(
                method, path, headers={name.replace("_", "-"): text for name, text in headers.items()}
            )
            answer = connection.getresponse()
            return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Server]:
    with ExitStack() as stack:

        def start(*options: str, tls: ssl.SSLContext | None = None) -> Address:
            runs = tmp_path / "runs"
            folder = run_dir_of(runs, samples.job())
            verdict = samples.good_run().verdict
            folder.finish(to_json(Run(info=samples.info(), verdict=verdict, measurements=(), findings=())))
            folder.close()
            argv = [sys.executable, "-m", "nccltool", "serve", "--listen", "127.0.0.1:0", "--run-dir", str(runs)]
            process = subprocess.Popen([*argv, *options], stderr=subprocess.PIPE, text=True)
            stack.callback(process.wait, LIMIT_S)
            stack.callback(process.send_signal, signal.SIGTERM)
            assert process.stderr is not None
            stack.callback(process.stderr.close)
            said = process.stderr.readline()
            assert "serving" in said, said + process.stderr.read()
            return Address(process, int(said.rsplit(":", 1)[1].split("/")[0]), tls)

        yield start


RUDE = (
    *(b"\0\xff\r\n\r\n", b"GET /metrics\r\n\r\n", b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"),
    b"GET /metrics HTTP/1.1\r\nx: " + b"a" * 2**20,
    b"POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999\r\n\r\n",
)


def test_what_it_answers_and_that_rude_peers_do_not_hurt_it(serve: Server) -> None:
    server = serve()
    for text in RUDE:
        with socket.create_connection(("127.0.0.1", server.port), LIMIT_S) as peer:
            try:
                peer.sendall(text)
                answer = peer.recv(100)
            except ConnectionError:
                answer = b""
            assert not answer.startswith(b"HTTP/1.1 2")
    status, headers, body = server.get("/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "nccltool_last_run_success" in {sample.name for f in prometheus(body.decode()) for sample in f.samples}
    status, headers, body = server.get("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert headers["content-type"].startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
    status, _, body = server.get("/runs")
    assert (status, json.loads(body)["runs"][0]["id"]) == (200, "20250102T030405Z-beef")
    assert "path" not in json.loads(body)["runs"][0]
    assert server.get("/healthz")[::2] == (200, b"ok\n")
    assert server.get("/metrics", "HEAD")[::2] == (200, b"")
    assert server.get("/metrics", "POST")[0] == 405
    assert server.get("/../etc/passwd")[0] == 404
    assert server.get("/metrics", "GET", accept_encoding="gzip")[2].startswith(b"\x1f\x8b")
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(LIMIT_S) == 0


def test_peers_that_take_nothing_do_not_hold_up_its_end(serve: Server) -> None:
    server = serve()
    with ExitStack() as peers:
        for _ in range(3):
            peer = peers.enter_context(socket.socket())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            peer.connect(("127.0.0.1", server.port))
            peer.sendall(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n" * 200)
        assert server.get("/healthz")[0] == 200  # it answers others meanwhile
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(LIMIT_S) == 0
    assert server.process.stderr is not None
    assert server.process.stderr.read() == ""


def test_a_page_whose_name_was_rebound_reads_nothing(serve: Server) -> None:
    server = serve("--allowed-host", "metrics.example")
    assert server.get("/metrics", host="metrics.example:9779")[0] == 200
    status, _, body = server.get("/metrics", host="evil.example")
    assert (status, b"--allowed-host" in body, b"nccltool_last" in body) == (421, True, False)


def certificate(folder: Path) -> ssl.SSLContext:
    """A new one in the folder, and who trusts it."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    argv = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*argv, *names, *files], check=True, capture_output=True, timeout=LIMIT_S)
    return ssl.create_default_context(cafile=str(folder / "cert.pem"))


def test_without_credentials_only_that_it_lives(serve: Server, tmp_path: Path) -> None:
    """Over TLS, as credentials should be sent."""
    trusting = certificate(tmp_path)
    hashed = bcrypt.hashpw(b"geheim", bcrypt.gensalt(4, b"2a")).decode()
    config = tmp_path / "web.yml"
    tls = "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
    config.write_text(f"{tls}basic_auth_users:\n  sre: {hashed}\n")
    server = serve("--web-config", str(config), tls=trusting)

    def status(path: str, *user: str) -> int:
        token = base64.b64encode(":".join(user).encode()).decode()
        return server.get(path, **({"authorization": f"Basic {token}"} if user else {}))[0]

    assert status("/healthz") == 200
    for path in ("/metrics", "/runs", "/nothing"):
        assert [status(path), status(path, "sre", "falsch"), status(path, "nobody", "geheim")] == [401] * 3
        assert status(path, "sre") == 401
        assert server.get(path, authorization="Bearer x")[0] == 401
        assert server.get(path, authorization="Basic ???")[0] == 401
    assert status("/metrics", "sre", "geheim") == 200
    assert status("/nothing", "sre", "geheim") == 404


def test_each_look_shows_what_is_new_and_a_run_directory_that_breaks(serve: Server, tmp_path: Path) -> None:
    server = serve("--every", "0.1")
    before = server.get("/metrics")[2]
    time.sleep(0.5)
    assert server.get("/metrics")[2] == before
    folder = run_dir_of(tmp_path / "runs", samples.job(run_id="20250102T040405Z-beef"))
    failed = Verdict(status="fail", exit_code=1)
    folder.finish(to_json(Run(info=samples.info(), verdict=failed, measurements=(), findings=())))
    folder.close()
    assert until(lambda: server.get("/metrics")[2] != before, LIMIT_S)
    os.rename(tmp_path / "runs", tmp_path / "gone")
    assert until(lambda: b"nccltool_run_directory_readable 0.0" in server.get("/metrics")[2], LIMIT_S)
    assert b"nccltool_last_run_timestamp_seconds{" not in server.get("/metrics")[2]


TLS = "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"


def user(password: str) -> str:
    return f"basic_auth_users:\n  sre: {bcrypt.hashpw(password.encode(), bcrypt.gensalt(4, b'2a')).decode()}\n"


def said_after_hangup(server: Address) -> str:
    server.process.send_signal(signal.SIGHUP)
    assert server.process.stderr is not None
    return server.process.stderr.readline()


def test_a_reload_takes_another_certificate_and_other_users(serve: Server, tmp_path: Path) -> None:
    config = tmp_path / "web.yml"
    config.write_text(TLS + user("old"))
    server = serve("--web-config", str(config), tls=certificate(tmp_path))

    def status(password: str) -> int:
        token = base64.b64encode(f"sre:{password}".encode()).decode()
        return server.get("/metrics", authorization=f"Basic {token}")[0]

    assert (status("old"), status("new")) == (200, 401)
    trusting = certificate(tmp_path)
    config.write_text(TLS + user("new"))
    assert said_after_hangup(server) == f"reloaded {config}\n"
    with pytest.raises(ssl.SSLError):
        status("new")
    server.tls = trusting
    assert (status("old"), status("new")) == (401, 200)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "line 1 is not YAML"),
        ("tls_server_config: {cert_file: web.yml, key_file: web.yml}", "cannot be used"),
        (TLS, "a change of plain text or TLS needs a restart"),
    ],
    ids=["broken", "no certificate", "TLS"],
)
def test_what_cannot_be_used_is_said_and_changes_nothing(
    text: str, problem: str, serve: Server, tmp_path: Path
) -> None:
    certificate(tmp_path)
    config = tmp_path / "web.yml"
    config.write_text(user("geheim"))
    server = serve("--web-config", str(config))
    config.write_text(text)
    said = said_after_hangup(server)
    assert said.startswith("not reloaded: ")
    assert problem in said
    assert said.endswith("; the previous configuration stays in use\n")
    assert server.get("/metrics")[0] == 401


def test_there_may_be_nothing_to_reload(serve: Server) -> None:
    server = serve()
    assert said_after_hangup(server) == "SIGHUP: nothing to reload without --web-config\n"
    assert server.get("/metrics")[0] == 200


ON_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "nccltool", "serve", "--listen", "127.0.0.1:0", *sys.argv[1:]])
"""


def test_a_terminal_that_closes_ends_it(tmp_path: Path) -> None:
    ours, its = os.openpty()
    argv = [sys.executable, "-c", ON_A_TERMINAL, "--run-dir", str(tmp_path)]
    process = subprocess.Popen(argv, stdin=its, stdout=its, stderr=its, start_new_session=True)
    os.close(its)
    try:
        assert b"serving" in os.read(ours, 1000)
        os.close(ours)
        assert process.wait(LIMIT_S) == 0
    finally:
        process.kill()
        process.wait()
