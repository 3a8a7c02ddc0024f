"""The example package of plug-ins, installed: each of its members is used as one of nccltool's own."""

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
Nccltool = Callable[..., "subprocess.CompletedProcess[str]"]
pytestmark = [pytest.mark.torch, pytest.mark.quick]


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
        "PASS all_reduce, 1 MiB": ("import", "bench.txt"),
        "FAIL triage: dataset-missing": ("triage", "job.log"),
        "PASS preflight acme": ("preflight", "--suite", "acme", "--metrics", "jsonlines:samples.jsonl", "-q"),
        "WARNING SITE001": ("doctor", "--select", "SITE001", "--nccl-version", "2.30.7"),
    }
    for shown, words in asked.items():
        done = nccltool(*words, NCCL_DEBUG_FILE="/nfs/nccl.log")
        assert shown in done.stdout, f"{words}:\n{done.stdout}{done.stderr}"
    assert '["' in (tmp_path / "samples.jsonl").read_text()


def test_a_broken_one_is_named_and_costs_only_itself(nccltool: Nccltool, tmp_path: Path) -> None:
    broken = tmp_path / "site"
    info = broken / "broken-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[nccltool.rules]\nbad = broken_rules\n[nccltool.collectives]\nop = broken_op\n"
    )
    (broken / "broken_rules.py").write_text("import no_such_module\n")
    (broken / "broken_op.py").write_text("NCCLTOOL_PLUGIN = 1\nCOLLECTIVE = 7\n")
    named = nccltool("plugins", PYTHONPATH=f"{broken}:{ROOT}")
    assert named.returncode == 1
    assert "not used: ModuleNotFoundError: No module named 'no_such_module'" in named.stdout
    assert "not used: broken_op.COLLECTIVE is no Collective" in named.stdout
    done = nccltool(*ALL_REDUCE, PYTHONPATH=f"{broken}:{ROOT}")
    assert done.returncode == 0
    assert done.stdout.startswith("PASS all_reduce")
    assert "WARNING plug-in op (collectives of broken 0.1) is not used" in done.stderr
