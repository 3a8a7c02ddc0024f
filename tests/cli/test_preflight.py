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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--suite", "preflite"), "there is no suite 'preflite'"),
        (("--suite", "/nowhere/x.toml"), "/nowhere/x.toml"),
        (("--platform", "h100"), "there is no platform 'h100'"),
        (("--only", "acros"), "--only: 'acros' is not a rung"),
        (("--skip", "inventory,dokter"), "--skip: 'dokter' is not a rung"),
        (("--budget", "60"), "--budget '60' is no time"),
        (("--keep-going",), "--keep-going needs --hosts or --hostfile"),
        (("--baseline", "/nowhere/x.json"), "/nowhere/x.json"),
        (("--baseline", "usual"), "there are no baselines"),
        (("--run-dir", "/proc/nowhere"), "/proc/nowhere/"),
        (("--hosts-dir", "/proc/nowhere"), "--hosts-dir /proc/nowhere cannot be written"),
    ],
)
def test_words_that_cannot_be_used(words: tuple[str, ...], said: str, nccltool: Nccltool) -> None:
    done = nccltool("preflight", *WITHOUT_RANKS, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_inside_of_a_started_job_there_is_no_preflight(nccltool: Nccltool) -> None:
    place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "n1", "MASTER_PORT": "1"}
    done = nccltool("preflight", **place)
    assert (done.code, done.out) == (2, "")
    assert "preflight starts ranks itself, and this is rank 0 of a job that torchrun started" in done.err


def test_a_mistake_in_a_suite_is_said_with_its_place(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('schema = 1\ntitle = "x"\nabout = "1 s"\n[across]\nops = "all"\nsizes = ["64"]\n')
    done = nccltool("preflight", "--suite", str(file))
    assert done.code == 2
    assert f"{file}:6: across.sizes must be a size with its unit" in done.err


def test_a_dry_run_starts_nothing(nccltool: Nccltool, tmp_path: Path) -> None:
    done = nccltool(
        "preflight", "--dry-run", "--hosts", "n[1-3]", "--ssh", "true", "--run-dir", str(tmp_path / "r")
    )
    assert (done.code, done.err) == (0, "")
    assert "    nccltool probe --op all_reduce,all_gather --sizes 64KiB,4MiB" in done.out
    assert "--launcher ssh --hosts n1,n2,n3 --nodes 3 --ssh true\n" in done.out
    assert done.out.endswith(" s in all, on healthy nodes\n")
    assert not (tmp_path / "r").exists()


def document(done_out: str) -> dict[str, str]:
    """Rungs that are one outcome, to what it says."""
    return {
        one["code"]: f"{one['status']}: {one['reason']}"
        for one in json.loads(done_out)["outcomes"]
        if one["code"] == one["rung"]
    }


def test_what_is_left_out_says_why(nccltool: Nccltool) -> None:
    words = (
        "--nodes",
        "2",
        "--only",
        "inventory,doctor",
        "--only",
        "pairs",
        "--suite",
        "smoke",
        "--format",
        "json",
    )
    done = nccltool("preflight", *words)
    assert document(done.out) == {
        "reach": "skip: --only inventory,doctor,pairs",
        "within": "skip: --only inventory,doctor,pairs",
        "across": "skip: --only inventory,doctor,pairs",
        "pairs": "skip: pairs of nodes cannot be measured yet",
        "train": "skip: --only inventory,doctor,pairs",
    }


def test_what_the_budget_does_not_allow_is_unknown(nccltool: Nccltool) -> None:
    done = nccltool("preflight", "--nodes", "2", "--budget", "2s", "--format", "json", "--skip", "doctor")
    found = document(done.out)
    assert found["across"].startswith("unknown: it takes about 6 s, and ")
    assert found["train"].startswith("unknown: it takes about 6 s, and ")
    assert (done.code, json.loads(done.out)["status"]) == (4, "unknown")
    assert [(one["status"], one["exclude"]) for one in json.loads(done.out)["hosts"]] == [("unknown", False)]


def test_a_wrong_interface(nccltool: Nccltool, tmp_path: Path) -> None:
    """One finding fails the doctor's rung, what needs it is skipped, and all is kept."""
    words = ("--nodes", "2", "--format", "json", "-q", "--hosts-dir", str(tmp_path / "lists"))
    done = nccltool("preflight", *words, NCCL_SOCKET_IFNAME="ib9")
    assert (done.code, done.err) == (1, "")
    found = json.loads(done.out)
    failed = [(one["code"], one["host"], one["shown"]) for one in found["outcomes"] if one["status"] == "fail"]
    assert failed == [("doctor/NETIF001", HERE, "everywhere")]
    assert {one["reason"] for one in found["outcomes"] if one["rung"] in ("across", "train")} == {"doctor failed"}
    assert found["hosts"] == [
        {"host": HERE, "status": "fail", "reason": "doctor/NETIF001", "exclude": False}
    ]  # a variable of the job is no fault of the host
    lists = {file.name: file.read_text() for file in (tmp_path / "lists").iterdir()}
    assert {name: text for name, text in lists.items() if text} == {"hosts.fail": f"{HERE}\n"}
    folder = Path(found["folder"])
    assert json.loads((folder / "run.json").read_text()) == found
    evidence = folder / "evidence/doctor-NETIF001"
    assert sorted(file.name for file in evidence.iterdir()) == ["facts-0.json", "outcomes.json"]


def test_observed_it_never_fails(nccltool: Nccltool) -> None:
    done = nccltool("preflight", *WITHOUT_RANKS, "--observe", NCCL_SOCKET_IFNAME="ib9")
    assert done.code == 0
    assert "observed only: the exit code would have been 1\nfail: " in done.out


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
    assert "\nrung       result    checks\n" in nccltool("runs", entry["id"]).out
    assert json.loads(nccltool("runs", entry["id"], "--format", "json").out)["kind"] == "preflight"
    assert nccltool("runs", entry["id"], "--format", "csv").code == 2


LOOK = ("--nodes", "1", "--only", "inventory", "-q")
"""Over in a moment, and healthy."""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("file:/x", "--metrics 'file:/x' cannot be used"),
        ("textfile:", "--metrics 'textfile:' cannot be used"),
        ("textfile:/x.txt", "--metrics textfile /x.txt: the collector reads .prom files only"),
        ("pushgateway:gateway:9091", "--metrics pushgateway 'gateway:9091' is not an address"),
        ("pushgateway:http://u:p@h:9", "--metrics pushgateway: a password in an address ends in logs"),
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
    assert done.err.startswith("WARNING metrics-not-handed-over: the metrics were not handed over: ")
    assert done.err.splitlines()[1].startswith("    -> ")
    assert done.err.splitlines()[2] == "    page: docs/findings.md#metrics-not-handed-over"
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
