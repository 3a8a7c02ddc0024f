"""nccltool preflight: words in, text and exit code out; no rank is started here."""

import json
import resource
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.conftest import Nccltool
from tests.support.commands import clean_environment

HERE = socket.gethostname()
WITHOUT_RANKS = ("--nodes", "2", "--skip", "across,train")


def test_a_mistake_in_a_suite_is_said_with_its_place(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('schema = 1\ntitle = "x"\nabout = "1 s"\n[across]\nops = "all"\nsizes = ["64"]\n')
    done = nccltool("preflight", "--suite", str(file))
    assert done.code == 2
    assert f"{file}:6: across.sizes must be a size with its unit" in done.err


def test_observed_it_never_fails(nccltool: Nccltool) -> None:
    done = nccltool("preflight", *WITHOUT_RANKS, "--observe", NCCL_SOCKET_IFNAME="ib9")
    assert done.code == 0
    assert "; observed only: the exit code would have been 1\n" in done.out


def test_a_low_limit(tmp_path: Path) -> None:
    """In a process of its own, for a limit cannot be raised again."""
    done = subprocess.run(
        [sys.executable, "-m", "nccltool", "preflight", *WITHOUT_RANKS, "--format", "json", "--run-dir", tmp_path],
        env=clean_environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)),
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)
    failed = [(one["code"], one["host"]) for one in found["outcomes"] if one["status"] == "fail"]
    assert (done.returncode, failed) == (1, [("doctor/LIM001", HERE)])
    (folder,) = tmp_path.iterdir()
    assert (folder / "nodes.exclude").read_text() == f"{HERE}\n"


def test_past_runs_have_it(nccltool: Nccltool) -> None:
    nccltool("preflight", *WITHOUT_RANKS)
    listed = json.loads(nccltool("runs", "--format", "json").out)
    assert [" ".join(entry["command"]) for entry in listed["runs"]] == [
        "nccltool preflight --nodes 2 --skip across,train"
    ]
    (entry,) = listed["runs"]
    assert "\nstage      result  checks\n" in nccltool("runs", entry["id"]).out
    assert json.loads(nccltool("runs", entry["id"], "--format", "json").out)["kind"] == "preflight"
    assert nccltool("runs", entry["id"], "--format", "nccl-tests").code == 2


LOOK = ("--nodes", "1", "--only", "inventory", "-q")
"""Over in a moment, and healthy."""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("file:/x", "--metrics 'file:/x' is not valid"),
        ("textfile:", "--metrics 'textfile:' is not valid"),
        ("textfile:/x.txt", "--metrics textfile /x.txt: node_exporter reads only .prom files"),
        ("pushgateway:gateway:9091", "--metrics pushgateway 'gateway:9091' is not a URL"),
        ("pushgateway:http://u:p@h:9", "--metrics pushgateway: a password in a URL shows up in logs"),
    ],
)
def test_ways_for_metrics_that_there_are_not(word: str, said: str, nccltool: Nccltool) -> None:
    done = nccltool("preflight", *LOOK, "--metrics", word)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_metrics_are_handed_over(nccltool: Nccltool, tmp_path: Path) -> None:
    files = [tmp_path / "a.prom", tmp_path / "b.prom"]
    words = [word for file in files for word in ("--metrics", f"textfile:{file}")]
    done = nccltool("preflight", *LOOK, *words)
    assert (done.code, done.err) == (0, "")
    for file in files:
        assert 'nccltool_last_run_success{command="preflight"} 1.0' in file.read_text()


def test_metrics_that_nobody_takes_do_not_hide_the_verdict(nccltool: Nccltool, tmp_path: Path) -> None:
    good = tmp_path / "a.prom"
    words = ("--metrics", f"textfile:{tmp_path}/none/x.prom", "--metrics", f"textfile:{good}", "--format", "json")
    done = nccltool("preflight", *LOOK, *words)
    found = json.loads(done.out)
    assert (done.code, found["status"]) == (0, "warn")
    assert [one["code"] for one in found["findings"]] == ["metrics-not-handed-over"]
    assert done.err.startswith("WARNING metrics-not-handed-over: the metrics were not exported: ")
    assert done.err.splitlines()[1].startswith("    -> ")
    assert done.err.splitlines()[2] == "    nccltool explain metrics-not-handed-over"
    assert json.loads((Path(found["folder"]) / "run.json").read_text()) == found
    assert good.exists()
    failed = nccltool("preflight", "--nodes", "2", "--only", "doctor", "-q", *words, NCCL_SOCKET_IFNAME="ib9")
    assert (failed.code, json.loads(failed.out)["status"]) == (1, "fail")


@pytest.mark.parametrize(("answer", "codes"), [(200, []), (400, ["metrics-not-handed-over"])])
def test_metrics_are_pushed(answer: int, codes: list[str], nccltool: Nccltool) -> None:
    pushed: list[tuple[str, bytes]] = []

    class Gateway(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            pushed.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answer)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Gateway) as server:
        serving = Thread(target=server.handle_request)
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}"
        done = nccltool("preflight", *LOOK, "--metrics", f"pushgateway:{url}", "--format", "json")
        serving.join()
    ((path, text),) = pushed
    assert path == "/metrics/job/nccltool/command/preflight"
    assert b'nccltool_last_run_success{command="preflight"} 1.0\n' in text
    assert (done.code, [one["code"] for one in json.loads(done.out)["findings"]]) == (0, codes)
