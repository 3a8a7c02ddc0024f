"""A real Prometheus with what belongs to it, on this host, on ports of its own."""

import json
import shutil
import socket
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.commands import until

PROGRAMS = (
    "prometheus",
    "prometheus-alertmanager",
    "prometheus-pushgateway",
    "prometheus-node-exporter",
    "promtool",
)
LIMIT_S = 60.0


def missing() -> str:
    """Why it cannot be started; empty = it can."""
    lacking = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"{', '.join(lacking)} not installed (scripts/install-debian)" if lacking else ""


def free_port() -> int:
    """A port that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(port: int, path: str) -> str:
    """What a server on this host answers; empty while it does not."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


class Authority:
    """Signs certificates for this host."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self.file = folder / f"{name}.pem"
        self._openssl("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", self.file.name)

    def sign(self, name: str) -> tuple[Path, Path]:
        """A certificate and its key."""
        certificate, key = (self._folder / f"{self._name}-{name}.{kind}" for kind in ("pem", "key"))
        own = (
            "-CA",
            self.file.name,
            "-CAkey",
            f"{self._name}.key",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        )
        for_host = ("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1")
        self._openssl(*own, *for_host, "-keyout", key.name, "-out", certificate.name)
        return certificate, key

    def _openssl(self, *words: str) -> None:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        argv = ("openssl", "req", "-x509", *curve, "-nodes", "-days", "2", *words)
        subprocess.run(argv, cwd=self._folder, check=True, capture_output=True, timeout=LIMIT_S)


class Webhook(ThreadingHTTPServer):
    """Keeps what an Alertmanager sends."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.alerts: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["content-length"]))
        self.server.alerts += json.loads(text)["alerts"]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Stack:
    """Starts the parts, and stops them when it is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack = ExitStack()

    def __enter__(self) -> "Stack":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def webhook(self) -> Webhook:
        """A receiver of alerts."""
        server = self._stack.enter_context(Webhook())
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(server.shutdown)
        return server

    def alertmanager(self, webhook: Webhook) -> int:
        """Its port; it sends at once."""
        config = self.folder / "alertmanager.yml"
        config.write_text(
            "route: {receiver: w, group_wait: 0s, group_interval: 1s, repeat_interval: 1h}\n"
            f'receivers: [{{name: w, webhook_configs: [{{url: "http://127.0.0.1:{webhook.server_port}/"}}]}}]\n'
        )
        options = [f"--config.file={config}", f"--storage.path={self.folder}/am", "--cluster.listen-address="]
        return self._start("prometheus-alertmanager", "/-/ready", options)

    def prometheus(self, targets: dict[str, int], rules: Path, alertmanager: int) -> int:
        """Its port; it scrapes each second."""
        jobs = [
            f'- {{job_name: {name}, honor_labels: true, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}'
            for name, port in targets.items()
        ]
        config = self.folder / "prometheus.yml"
        config.write_text(
            f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{rules}]\n"
            f'alerting: {{alertmanagers: [{{static_configs: [{{targets: ["127.0.0.1:{alertmanager}"]}}]}}]}}\n'
            "scrape_configs:\n" + "\n".join(jobs) + "\n"
        )
        return self._prometheus(config)

    def scraper(self, jobs: Iterable[str]) -> int:
        """The port of a Prometheus that only scrapes: its jobs in YAML, one in a line."""
        config = self.folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s}\nscrape_configs:\n" + "".join(f"- {job}\n" for job in jobs)
        )
        return self._prometheus(config)

    def _prometheus(self, config: Path) -> int:
        options = [f"--config.file={config}", f"--storage.tsdb.path={self.folder}/tsdb"]
        return self._start("prometheus", "/-/ready", options)

    def pushgateway(self) -> int:
        """Its port."""
        in_memory = "--persistence.file="  # as Debian builds it, it remembers what was pushed to others before
        return self._start("prometheus-pushgateway", "/-/ready", [in_memory])

    def node_exporter(self, textfiles: Path) -> int:
        """Its port; it has nothing but the textfile collector."""
        options = ["--collector.disable-defaults", "--collector.textfile"]
        return self._start(
            "prometheus-node-exporter", "/", [*options, f"--collector.textfile.directory={textfiles}"]
        )

    def _start(self, program: str, ready: str, options: list[str]) -> int:
        port = free_port()
        log = self._stack.enter_context((self.folder / f"{program}.log").open("wb"))
        argv = [program, f"--web.listen-address=127.0.0.1:{port}", *options]
        process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=self.folder)
        self._stack.callback(process.wait, LIMIT_S)
        self._stack.callback(process.kill)
        came = until(lambda: bool(get(port, ready)) or process.poll() is not None, LIMIT_S)
        assert came, program
        assert process.poll() is None, (self.folder / f"{program}.log").read_text()
        return port


def query(port: int, expression: str) -> list[dict[str, Any]]:
    """What Prometheus answers just now."""
    answer = get(port, f"/api/v1/query?query={urllib.parse.quote(expression)}")
    return list(json.loads(answer)["data"]["result"]) if answer else []
