"""nccltool sbatch: the script, and that its words mean what was asked for."""

import shlex
import sys

import click
import pytest

from nccltool.cli.commands import probe
from nccltool.cli.root import cli
from nccltool.probe import options
from tests.conftest import Nccltool

PYTHON = (sys.executable, "-P", "-m", "nccltool")


def made(nccltool: Nccltool, words: str, **env: str) -> tuple[list[str], list[str]]:
    """Directives, and the words of the command."""
    said = nccltool("sbatch", *shlex.split(words), **env)
    assert (said.code, said.err) == (0, "")
    first, *lines = said.out.splitlines()
    assert first == "#!/bin/bash"
    *_, last = lines
    assert last.startswith("exec ")
    return [line.removeprefix("#SBATCH --") for line in lines if line.startswith("#")], shlex.split(last)[1:]


def test_the_script(nccltool: Nccltool) -> None:
    said = nccltool("sbatch", "--command", "nccltool", "--setup", "module load cuda", "probe", "--nodes", "2")
    assert said.out == (
        "#!/bin/bash\n"
        "#SBATCH --job-name=nccltool\n"
        "#SBATCH --nodes=2\n"
        "#SBATCH --ntasks-per-node=1\n"
        "#SBATCH --time=1:10:00\n"
        "#SBATCH --output=nccltool-%j.out\n"
        "#SBATCH --exclusive\n"
        "#SBATCH --mem=0\n"
        "\n"
        "set -e\n"
        "module load cuda\n"
        "exec nccltool probe --nodes 2\n"
    )


@pytest.mark.parametrize(
    "words",
    ["probe --nodes 2 --op all_reduce,broadcast -b 8 -e 1M", "probe --nproc-per-node 8 -d half", "probe -q"],
)
def test_the_words_mean_the_same_in_the_script(nccltool: Nccltool, words: str) -> None:
    _, command = made(nccltool, words)
    assert command[: len(PYTHON)] == list(PYTHON)
    # a command keeps the names of its help option that its first context gave it
    above = click.Context(cli, **cli.context_settings)
    values = probe.command.make_context("probe", command[len(PYTHON) + 1 :], parent=above).params
    asked = probe.command.make_context("probe", shlex.split(words)[1:], parent=above).params
    assert values == asked
    options.from_options(probe.asked(values), {})


def test_variables_of_here_are_not_words_of_the_script(nccltool: Nccltool) -> None:
    directives, command = made(nccltool, "probe", NCCLTOOL_NODES="9", NCCLTOOL_PARTITION="gpu")
    assert "nodes=1" in directives
    assert "partition=gpu" in directives  # an option of this command
    assert command == [*PYTHON, "probe"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("runs", "sbatch cannot run 'runs'"),
        ("probe --dtype foo", "--dtype: unknown type 'foo'"),
        ("probe --hosts a,b", "--hosts has no meaning in a batch script"),
        ("probe --node-rank 0", "--node-rank has no meaning in a batch script"),
        ("probe --launcher ssh", "--launcher ssh has no meaning in a batch script"),
        ("--command '\"' probe", "--command '\"': No closing quotation"),
    ],
)
def test_what_cannot_be_used(nccltool: Nccltool, words: str, message: str) -> None:
    said = nccltool("sbatch", *shlex.split(words))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"Error: {message}\n  -> "), said.err


def test_an_option_of_sbatch_behind_the_command(nccltool: Nccltool) -> None:
    said = nccltool("sbatch", "probe", "--nodes", "2", "--partition", "gpu")
    assert (said.code, said.out) == (2, "")
    assert "unknown option '--partition'" in said.err, said.err


@pytest.mark.parametrize(
    ("words", "time", "extra"),
    [
        ("preflight --suite nightly --nodes 4", "time=0:25:00", ["--budget", "1440s"]),  # 3 x 5 min, and 10
        ("preflight --suite smoke --nodes 4 --budget 60s", "time=0:11:00", []),
        ("--time 20 preflight --suite nightly --nodes 4", "time=20", ["--budget", "1140s"]),
        ("--time 20 preflight --suite nightly --nodes 4 --budget 5min", "time=20", []),
    ],
)
def test_a_preflight_ends_before_its_job(nccltool: Nccltool, words: str, time: str, extra: list[str]) -> None:
    directives, command = made(nccltool, words)
    assert {time, "nodes=4"} <= set(directives)
    said = shlex.split(words)
    assert command[len(PYTHON) :] == [*said[said.index("preflight") :], *extra]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--time 2 preflight --budget 10min",
            "--budget 600s is too long for a run to end by itself within --time 0:02:00",
        ),
        ("preflight --hosts a", "--hosts has no meaning in a batch script"),
        ("preflight --launcher ssh", "--launcher ssh has no meaning in a batch script"),
        ("preflight --suite nope", "unknown suite 'nope'"),
        ("preflight --only nope", "--only: unknown stage 'nope'"),
        ("train ddp", "sbatch cannot run 'train'"),
    ],
)
def test_words_that_a_preflight_cannot_have_there(nccltool: Nccltool, words: str, message: str) -> None:
    said = nccltool("sbatch", *shlex.split(words))
    assert (said.code, said.out) == (2, "")
    assert message in said.err
