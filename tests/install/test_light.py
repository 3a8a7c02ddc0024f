"""An empty environment with the wheel and its dependencies: small, and without torch all but ranks works."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.incidents import LOGS
from tests.support.streams import LEADER, good, mixed

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tests/interop/importers/samples/all_reduce-2.13.txt"
MOST_MB = 40
LIMIT_S = 120.0
pytestmark = pytest.mark.install
Nccltool = Callable[..., "Ended"]


class Ended:
    """What a command of the light environment said."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.said = f"exit code {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.said, self.said


def _clean_environment() -> dict[str, str]:
    ours = ("PYTHON", "NCCLTOOL_", "SLURM_", "XDG_", "VIRTUAL_ENV")
    return {name: text for name, text in os.environ.items() if not name.startswith(ours)}


def _run(*argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, cwd=cwd, env=_clean_environment(), capture_output=True, text=True, check=False, timeout=LIMIT_S
    )


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment; pip is not in it."""
    folder = tmp_path_factory.mktemp("light")
    pip = ("-m", "pip", "--python", folder / "env/bin/python", "install", "--quiet", "--constraint")
    for words in (
        ("-m", "hatchling", "build", "-t", "wheel", "-d", folder),
        ("-m", "venv", "--without-pip", folder / "env"),
        (*pip, ROOT / "scripts/constraints.txt", folder / "nccltool-0.1.0-py3-none-any.whl"),
    ):
        done = _run(sys.executable, *words, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "env"


@pytest.fixture
def nccltool(light: Path, tmp_path: Path) -> Nccltool:
    """Runs a command of it in an empty folder, with runs kept there."""

    def run(*words: str | Path) -> Ended:
        env = {**_clean_environment(), "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
        argv = (light / "bin/nccltool", *words)
        return Ended(
            subprocess.run(
                argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=LIMIT_S
            )
        )

    return run


@pytest.fixture
def ssh(tmp_path: Path) -> str:
    """In place of an ssh client: the last word is what would run on the other host."""
    program = tmp_path / "ssh"
    program.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "exec $last"\n')
    program.chmod(0o755)
    return str(program)


def test_it_is_small_and_has_no_torch(light: Path) -> None:
    files = [path for path in light.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_blocks * 512 for path in files) < MOST_MB * 2**20  # as du counts
    (site,) = light.glob("lib/python3*/site-packages")
    names = {path.name for path in site.iterdir()}
    assert "nccltool" in names
    assert not names & {"torch", "numpy"}


def test_what_looks_at_this_host(nccltool: Nccltool, ssh: str) -> None:
    assert nccltool("--version").out.startswith("nccltool ")
    assert nccltool("--help").out.startswith("Usage: nccltool [OPTIONS] COMMAND [ARGS]...\n")
    looked = nccltool("doctor", "--format", "json")
    assert (looked.code in (0, 1), json.loads(looked.out)["kind"]) == (True, "doctor"), looked.said
    nodes = nccltool("doctor", "--hosts", "n1", "--ssh", ssh, "--format", "json")
    assert nodes.code in (0, 1), nodes.said
    facts = nccltool("facts")
    assert (facts.code, "not installed" in facts.out) == (0, True), facts.said
    assert "ib-link" in nccltool("explain", "ib-link").out
    assert nccltool("checks", "validate").out.endswith(" files, no mistakes\n")
    checked = nccltool("preflight", "--nodes", "2", "--only", "inventory,reach", "--suite", "smoke")
    assert checked.code == 0, checked.said


def test_what_reads_logs_and_runs(nccltool: Nccltool, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(LOGS["shm-64m-pod"])
    (tmp_path / "pods.log").write_bytes(b"".join(mixed([good(0), good(1)])))
    assert json.loads(nccltool("triage", "job.log", "--format", "json").out)["root_cause"] == "shm-size"
    collected = nccltool("collect", "pods.log")
    assert collected.code == 0, collected.said
    assert nccltool("import", SAMPLE, "--op", "all_reduce", "--keep").code == 0
    assert LEADER in nccltool("runs").out
    saved = nccltool("baseline", "save", "healthy", LEADER)
    assert saved.code == 0, saved.said
    compared = nccltool("compare", "baseline:healthy", LEADER, "--format", "json")
    assert (compared.code, json.loads(compared.out)["kind"]) == (4, "compare"), compared.said  # with itself
    assert "nccltool_last_run_success" in nccltool("export", LEADER).out
    bundled = nccltool("bundle", "--output", "bundle.tar.gz")
    assert bundled.code == 0, bundled.said


def test_what_prints_jobs(nccltool: Nccltool) -> None:
    assert "kind: Job" in nccltool("manifest", "--image", "nccltool", "probe", "--nodes", "2").out
    assert "#SBATCH --nodes=2" in nccltool("sbatch", "probe", "--nodes", "2").out


def test_the_server_starts_and_stops(light: Path, tmp_path: Path) -> None:
    argv = (light / "bin/nccltool", "serve", "--listen", "127.0.0.1:0", "--run-dir", tmp_path)
    process = subprocess.Popen(argv, cwd=tmp_path, env=_clean_environment(), stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stderr
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        try:
            with urllib.request.urlopen(f"{found[0]}/healthz", timeout=LIMIT_S) as answer:
                assert (answer.status, answer.read()) == (200, b"ok\n")
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("words", ["probe --nodes 2", "train ddp", "preflight --nodes 2", "probe --loop 1h"])
def test_ranks_of_this_host_need_torch(nccltool: Nccltool, light: Path, words: str) -> None:
    ended = nccltool(*words.split())
    assert (ended.code, ended.out) == (2, ""), ended.said
    problem, remedy = ended.err.splitlines()[-2:]
    command = words.split()[0]
    assert problem == (
        f"Error: {command} starts ranks, which need torch and numpy, but {light / 'bin/python'} has no torch"
    )
    assert remedy.startswith("  -> pip install 'nccltool[torch]', or ")


def test_a_host_whose_python_has_no_torch_is_named(nccltool: Nccltool, light: Path, ssh: str) -> None:
    ended = nccltool("probe", "--hosts", "n1", "--ssh", ssh, "--format", "json", "-q")
    assert ended.code == 3, ended.said
    (finding,) = json.loads(ended.out)["findings"]
    assert (finding["code"], finding["subject"]) == ("host-misconfigured", {"kind": "host", "name": "n1"})
    assert finding["message"] == f"n1 cannot start ranks: {light / 'bin/python'} has no torch"
