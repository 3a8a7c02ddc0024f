"""Configuration files: which value wins, what is wrong with a file, and what a project's file may not set."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.cli import config
from nccltool.cli.root import cli
from nccltool.cli.tree import Option, leaves
from tests.cli.test_bad_words import last_sentence
from tests.conftest import Nccltool


@dataclasses.dataclass(frozen=True)
class Files:
    user: Path
    project: Path


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Where both files would be; neither is there."""
    monkeypatch.chdir(tmp_path)
    user = config.user_file()
    assert user == tmp_path / "config/nccltool/config.toml"
    user.parent.mkdir(parents=True)
    return Files(user, tmp_path / ".nccltool.toml")


def test_the_first_that_has_a_value_wins(files: Files, nccltool: Nccltool) -> None:
    """Command line, environment, project, user; a command's table before the top of its file."""

    def dtype(*words: str, **env: str) -> str:
        return last_sentence(nccltool("probe", *words, **env).err).split("'")[1]

    files.user.write_text('dtype = "user-top"\n')
    assert dtype() == "user-top"
    files.user.write_text('dtype = "user-top"\n[probe]\ndtype = "user-probe"\n[train]\ndtype = "other"\n')
    assert dtype() == "user-probe"
    files.project.write_text('dtype = "project"\n')
    assert dtype() == "project"
    assert dtype("--dtype", "typed") == "typed"
    assert dtype(NCCLTOOL_DTYPE="env") == "env"
    assert dtype("--dtype", "typed", NCCLTOOL_DTYPE="env") == "typed"


def test_an_error_says_where_the_value_is_from(files: Files, nccltool: Nccltool) -> None:
    files.user.write_text('\n[probe]\ndtype = "bogus"\n')
    said = nccltool("probe")
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err).endswith(f"(set in {files.user}:3)")
    said = nccltool("probe", NCCLTOOL_DTYPE="bogus")
    assert last_sentence(said.err).endswith("(set by NCCLTOOL_DTYPE)")
    assert "set" not in last_sentence(nccltool("probe", "-d", "bogus").err)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[probe\n", ": Expected ']' at the end of a table declaration"),
        ("sizes = 8\nbogus = 1\n", ":2: unknown key 'bogus'"),
        ("[probe]\n\nmin_bytes = 8\n", ":3: unknown key 'min_bytes'"),
        ("[prob]\nop = 1\n", ":2: unknown table [prob]"),
        ("[baseline]\nstore = 'x'\n", ":2: unknown table [baseline]"),
        ("[probe]\nnodes = 'many'\n", ":2: nodes many: expected a whole number from 1 to 1000000"),
        ('output = "a\\u0000b"\n', ":1: output a\\x00b: a zero byte has no place in it"),
        ("[probe]\nnodes = 0\n", ":2: nodes 0: expected a whole number from 1 to 1000000"),
        ("[probe]\ntimeout = true\n", ":2: timeout must be text in quotes or a number"),
        ("[probe]\ncuda-graph = 'yes'\n", ":2: cuda-graph must be true or false"),
        ("[probe]\nop = ['a']\n", ":2: op takes one value, not a list"),
        ("[probe]\nop = 2026-01-01\n", ":2: op must be text in quotes or a number"),
        ("[probe.op]\n", ": "),
        ("[probe]\nbackend = 'bogus'\n", ":2: backend bogus: expected one of auto, nccl, gloo"),
        ("[baseline.save]\nreplace = true\n", ":2: replace cannot be set in a file"),
        ("[probe]\nloop = '1h'\n", ":2: loop cannot be set in a file"),
        ("[triage]\ntrust-pickle = true\n", ":2: trust-pickle cannot be set in a file"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, problem: str, files: Files, nccltool: Nccltool) -> None:
    files.user.write_text(text)
    said = nccltool("probe")
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err).startswith(f"{files.user}")
    assert problem in last_sentence(said.err)
    assert nccltool("probe", "--help").code == 0, "help is there whatever the file says"
    assert last_sentence(nccltool("--no-config", "probe", "--op", "x").err).startswith("--op")
    assert last_sentence(nccltool("probe", "--op", "x", NCCLTOOL_NO_CONFIG="1").err).startswith("--op")


def test_did_you_mean(files: Files, nccltool: Nccltool) -> None:
    files.user.write_text("[probe]\nmin_bytes = 8\n")
    assert "  -> did you mean min-bytes? nccltool probe --help lists them" in nccltool("probe").err


def test_a_file_that_cannot_be_read(files: Files, nccltool: Nccltool) -> None:
    files.user.mkdir()
    said = nccltool("runs")
    assert (said.code, last_sentence(said.err)) == (
        2,
        f"configuration file {files.user} cannot be read: Is a directory",
    )
    files.user.rmdir()
    os.mkfifo(files.user)
    silent = f"configuration file {files.user}: no data within"
    assert last_sentence(nccltool("runs").err).startswith(silent)
    files.user.unlink()
    files.user.symlink_to("/dev/zero")
    assert last_sentence(nccltool("runs").err) == f"configuration file {files.user} is larger than 1 MiB"
    files.user.unlink()
    files.user.write_bytes(b"\xef\xbb\xbflimit = 1\n")
    assert nccltool("runs").code == 0, "an editor's byte order mark"
    for wrong in (b'op = "\xff"', b"limit = " + b"1" * 9000):
        files.user.write_bytes(wrong)
        assert last_sentence(nccltool("runs").err).startswith(f"{files.user} is not TOML: ")


def test_lists_and_switches(files: Files, nccltool: Nccltool) -> None:
    files.user.write_text('format = "json"\n[doctor]\nselect = ["NOSUCH", "ALSO"]\n')
    assert json.loads(nccltool("runs").out)["kind"] == "runs"
    said = nccltool("doctor")
    assert "NOSUCH" in said.err + said.out
    files.user.write_text("[preflight]\ndry-run = true\n")
    assert nccltool("preflight").code == 0


def test_a_key_at_the_top_is_for_commands_that_have_it(files: Files, nccltool: Nccltool) -> None:
    files.user.write_text('op = "bogus"\n')
    assert nccltool("runs").code == 0
    assert nccltool("probe").code == 2


PROJECT_MAY = {
    *("op", "min-bytes", "max-bytes", "step-factor", "step-bytes", "sizes", "dtype", "reduce-op", "placement"),
    *("skew", "top-k", "capacity"),
    *("checks", "iterations", "warmup", "precision", "budget", "cadence", "cuda-graph", "min-busbw", "backend"),
    *("timeout", "join-timeout", "deadline", "format", "exit-style", "color", "verbose", "quiet"),
    *("size", "layers", "width", "heads", "context", "vocabulary", "batch", "seed", "steps", "time-steps"),
    *(
        "learning-rate",
        "momentum",
        "adamw",
        "halve-on-oom",
        "validate",
        "patience",
        "lr-warmup",
        "checkpoint-every",
        "grace",
        "max-restarts",
        "accumulate",
        "micro-batches",
        "clip-norm",
    ),
    *(
        "comm-hook",
        "sync-batch-norm",
        "bucket",
        "gradient-as-bucket-view",
        "static-graph",
        "recompute",
        "shard",
        "no-reshard",
    ),
    *("wrap", "offload", "lora", "param-dtype", "reduce-dtype", "schedule", "stages", "sequence-parallel", "zero"),
    *("suite", "platform", "only", "skip", "nccl-version", "select", "ignore", "show-settings", "settle"),
    *("summary", "margin", "alpha", "bytes", "rounds", "all-pairs", "groups", "isolated", "within", "pair-time"),
    "rails",
    *("expect", "topology"),
}
"""None of these names a host, a program, an address or a file to write. Decide before you add one."""


def _options() -> list[tuple[str, str, Option]]:
    return [
        (" ".join(path), name.removeprefix("--"), option)
        for path, command in leaves(cli)
        for option in command.params
        if isinstance(option, Option)
        for name in option.opts
        if name.startswith("--")
    ]


def test_what_a_project_may_set_is_decided_for_each_option() -> None:
    assert {key for _, key, option in _options() if option.settable == "project"} == PROJECT_MAY
    assert {key for _, key, option in _options() if option.settable != "project"} & PROJECT_MAY == set()


NEVER = sorted({key for _, key, _ in _options()} - PROJECT_MAY)


@pytest.mark.parametrize("key", NEVER)
def test_what_a_project_may_not_set_is_refused(key: str, files: Files, nccltool: Nccltool) -> None:
    files.project.write_text(f'{key} = "x"\n')
    said = nccltool("runs")
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err) in (
        f".nccltool.toml:1: a project's file cannot set {key}",
        f".nccltool.toml:1: {key} cannot be set in a file",
    )


def test_a_file_in_a_shared_folder_runs_no_command(tmp_path: Path) -> None:
    """As a real process: ssh of a project's file would be run by --hosts."""
    trace = tmp_path / "ran"
    (tmp_path / ".nccltool.toml").write_text(f"ssh = 'touch {trace}'\n")
    env = {**os.environ, "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "nccltool", "probe", "--hosts", "a,b"]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a project's file cannot set ssh" in done.stderr
    assert not trace.exists()


def test_without_a_home_there_is_no_file_of_the_user() -> None:
    assert config.user_file({}) is None
    assert config.user_file({"HOME": "/h"}) == Path("/h/.config/nccltool/config.toml")
    assert config.user_file({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == Path("/c/nccltool/config.toml")


def test_a_line_without_end_is_refused(files: Files, nccltool: Nccltool) -> None:
    files.user.write_text("a" + ".a" * 100_000 + " = 1\n")
    said = nccltool("runs")
    assert (said.code, said.out) == (2, "")
    assert "a line has more than 10000 characters" in said.err
