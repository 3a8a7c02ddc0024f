"""The example package of plug-ins, installed: each of its members is used as one of nccltool's own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "docs/examples/nccltool-acme"
LIMIT_S = 120.0
ALL_REDUCE = ("probe", "--nproc-per-node", "2", "--op", "all_reduce", "--sizes", "1KiB", "-n", "4", "-q")
BAD_OPERATION = """
import os
from nccltool.probe.collectives import base
from nccltool.probe.collectives.base import Collective, Part

NCCLTOOL_PLUGIN = 1
calls = 0


def defect(where, good=None, rank=None):
    if os.environ["DEFECT"] == where and rank != 0:
        raise ZeroDivisionError("no way")
    return good


def bind(comm, send, recv):
    defect("bind", rank=comm.rank)

    def call():
        global calls
        calls += 1
        defect("call on all ranks")
        defect("call on one rank", rank=comm.rank)
        if calls > 5:
            defect("a later call", rank=comm.rank)
        comm.exchange(send, (comm.rank + 1) % comm.world_size, recv, (comm.rank - 1) % comm.world_size)

    return call


COLLECTIVE = Collective(
    order=1,
    nccl_tests="bad_op",
    placements=("out-of-place",),
    is_point_to_point=True,
    min_world=2,
    layout=lambda *of: defect("layout", base.whole(*of)),
    bus_factor=lambda world: "one" if os.environ["DEFECT"] == "bus_factor" else 1.0,
    least_seconds=lambda homes, rates: defect("least_seconds", 1.0),
    bind=bind,
    expected=lambda rank, world, layout: defect("expected", (Part(0, layout.recv, (rank - 1) % world, 0),)),
)
"""
Nccltool = Callable[..., "subprocess.CompletedProcess[str]"]
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package is installed to, from a copy: a build leaves files behind."""
    folder = tmp_path_factory.mktemp("acme")
    source = folder / "source"
    subprocess.run(["cp", "-r", str(PACKAGE), str(source)], check=True)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    subprocess.run([*pip, "--target", str(folder / "site"), str(source)], check=True, timeout=LIMIT_S)
    return folder / "site"


@pytest.fixture
def nccltool(site: Path, tmp_path: Path) -> Nccltool:
    """Runs nccltool where the package is installed."""
    onhost = tmp_path / "bin/onhost"
    onhost.parent.mkdir()
    onhost.write_text('#!/bin/sh\nexec sh -c "$2"\n')
    onhost.chmod(0o755)
    path = f"{onhost.parent}:{os.environ['PATH']}"

    def run(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-P", "-m", "nccltool", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{site}:{ROOT}", "PATH": path, **env},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    return run


@pytest.mark.quick
def test_all_are_listed(nccltool: Nccltool) -> None:
    done = nccltool("plugins")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["rules", "site"],
        ["causes", "dataset-missing"],
        ["collectives", "far-exchange"],
        ["checks", "room"],
        ["importers", "acme-bench"],
        ["exporters", "jsonlines"],
        ["launchers", "onhost"],
        ["suites", "acme"],
    ]


def test_each_is_used(nccltool: Nccltool, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        '[rank3]: Traceback (most recent call last):\n[rank3]:   File "train.py", line 8, in <module>\n'
        "[rank3]: FileNotFoundError: [Errno 2] No such file or directory: '/data/tokens.bin'\n"
    )
    (tmp_path / "bench.txt").write_text("acme-bench 4 ranks\nall_reduce 1048576 120.5\n")
    asked = {
        "PASS far_exchange": ("probe", "--nodes", "2", "--op", "far_exchange", "--sizes", "1KiB", "-n", "4", "-q"),
        "PASS all_reduce, 1 KiB": (*ALL_REDUCE, "--launcher", "onhost", "--hosts", "localhost"),
        "PASS bench.txt: all_reduce, 1 MiB": ("import", "bench.txt"),
        "FAIL triage: dataset-missing": ("triage", "job.log"),
        "PASS preflight acme": ("preflight", "--suite", "acme", "--metrics", "jsonlines:samples.jsonl", "-q"),
        "WARNING SITE001": ("doctor", "--select", "SITE001", "--nccl-version", "2.30.7"),
    }
    for shown, words in asked.items():
        done = nccltool(*words, NCCL_DEBUG_FILE="/nfs/nccl.log")
        assert shown in done.stdout, f"{words}:\n{done.stdout}{done.stderr}"
    assert '["' in (tmp_path / "samples.jsonl").read_text()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("room", "Checks: room/free."),
        ("room/free", "It comes with the plug-in room (checks of nccltool-acme 1.0)."),
        ("far_exchange", "it comes with the plug-in far-exchange (collectives of nccltool-acme 1.0)"),
        ("SITE001", "NCCL_DEBUG_FILE leads to the file server."),
        ("dataset-missing", "The program opened a missing file."),
        ("acme", "Takes about 1 s on healthy nodes."),
        ("checks", "room/free"),
    ],
)
def test_its_words_are_explained(nccltool: Nccltool, word: str, said: str) -> None:
    done = nccltool("explain", word)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in " ".join(done.stdout.split())


def put(folder: Path, points: str, **modules: str) -> str:
    """A package `broken 0.1` with these entry points; the value of PYTHONPATH."""
    info = folder / "broken-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(points)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return f"{folder}:{ROOT}"


@pytest.mark.parametrize(
    "defect",
    [
        *("bus_factor", "call on one rank"),
        *(
            pytest.param(defect, marks=pytest.mark.slow)
            for defect in ("layout", "least_seconds", "expected", "bind", "call on all ranks", "a later call")
        ),
    ],
)
def test_a_broken_operation_costs_no_other_one_and_no_rank_is_blamed(
    defect: str, nccltool: Nccltool, tmp_path: Path
) -> None:
    path = put(tmp_path / "site", "[nccltool.collectives]\nbad_op = bad_op\n", bad_op=BAD_OPERATION)
    sizes = ("--sizes", "1KiB,4KiB", "-n", "8", "--timeout", "6")
    words = ("probe", "--nodes", "2", "--op", "bad_op,all_reduce", *sizes, "--format", "json")
    done = nccltool(*words, PYTHONPATH=path, DEFECT=defect)
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"]) == (3, "incomplete")
    assert [(row["op"], row["bytes"]) for row in found["measurements"]] == [
        ("all_reduce", 1024),
        ("all_reduce", 4096),
    ]
    (finding,) = (one for one in found["findings"] if one["severity"] != "info")
    assert finding["code"] == "plugin-failed"
    said = "bus_factor(2) is 'one'" if defect == "bus_factor" else "ZeroDivisionError: no way"
    assert f"plug-in bad-op (collectives of broken 0.1) failed: {said}" in finding["message"]
    assert finding["subject"]["kind"] in ("operation", "run")
    assert "bad_op" in finding["message"]
    assert not any(one["code"] == "triage" for one in found["findings"])


def test_a_broken_one_is_named_and_costs_only_itself(nccltool: Nccltool, tmp_path: Path) -> None:
    points = "[nccltool.rules]\nbad = broken_rules\n[nccltool.collectives]\nop = broken_op\n"
    modules = {
        "broken_rules": "import no_such_module\n",
        "broken_op": "NCCLTOOL_PLUGIN = 1\nCOLLECTIVE = 7\n",
    }
    path = put(tmp_path / "site", points, **modules)
    named = nccltool("plugins", PYTHONPATH=path)
    assert named.returncode == 1
    assert "not used: ModuleNotFoundError: No module named 'no_such_module'" in named.stdout
    assert "not used: broken_op.COLLECTIVE is no Collective" in named.stdout
    done = nccltool(*ALL_REDUCE, PYTHONPATH=path)
    assert done.returncode == 0
    assert done.stdout.startswith("PASS all_reduce")
    assert "WARNING plug-in op (collectives of broken 0.1) is not used" in done.stderr
