"""A batch script: its directives, and the time that a run in it has."""

import shlex

import pytest

from tests.cli.commands.test_sbatch import PYTHON, made
from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("words", "directives"),
    [
        ("probe", ["nodes=1", "time=1:10:00"]),
        ("probe --nodes 64 --deadline 90", ["nodes=64", "time=0:12:00"]),
        ("--partition gpu --account a_b --qos high probe", ["partition=gpu", "account=a_b", "qos=high"]),
        ("--gpus-per-node h100:8 probe", ["gpus-per-node=h100:8"]),
        ("--nodelist n[1-2,7] --exclude n3 probe", ["nodelist=n[1-2,7]", "exclude=n3"]),
        ("--constraint '[rack1|rack2]' --reservation r1 probe", ["constraint=[rack1|rack2]", "reservation=r1"]),
        (
            "--sbatch-option 'comment=each night' --sbatch-option no-requeue probe",
            ['comment="each night"', "no-requeue"],
        ),
        ("--log /logs/%x-%j.out --job-name check probe", ["output=/logs/%x-%j.out", "job-name=check"]),
        ("--mem 64G probe", ["exclusive", "mem=64G"]),
        ("--shared --cpus-per-task 4 --mem 8G probe", ["cpus-per-task=4", "mem=8G"]),
    ],
)
def test_directives(nccltool: Nccltool, words: str, directives: list[str]) -> None:
    written, _ = made(nccltool, words)
    assert [line for line in directives if line not in written] == []
    assert ("exclusive" in written) is ("--shared" not in words)


@pytest.mark.parametrize(
    ("time", "deadline"),
    [
        ("30", 1740),
        ("2", 60),
        ("1", 30),
        ("10:30", 570),
        ("1:00:00", 3540),
        ("1:30:00", None),
        ("2-12", None),
        ("0-1", 3540),
        ("0-0:30", 1740),
        ("0-0:30:30", 1770),
    ],
)
def test_a_run_ends_before_its_time_limit(nccltool: Nccltool, time: str, deadline: int | None) -> None:
    directives, command = made(nccltool, f"--time {time} probe --nodes 2")
    added = ["--deadline", str(deadline)] if deadline else []
    assert f"time={time}" in directives
    assert command == [*PYTHON, "probe", "--nodes", "2", *added]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--time soon probe", "--time 'soon' is not a Slurm time"),
        ("--time 0 probe", "--time 0: expected more than 0"),
        (
            "--time 10 probe --deadline 600",
            "--deadline 600 is too long for a run to end by itself within --time 0:10:00",
        ),
        ("--partition '' probe", "--partition is empty"),
        ("--log '' probe", "--log is empty"),
        ("--partition 'a\nb' probe", "--partition 'a\\nb' cannot be written into a script"),
        ("--account 'a\"b' probe", "--account 'a\"b' cannot be written into a script"),
        ("--setup 'a\nb' probe", "--setup 'a\\nb' is more than one line"),
        ("--sbatch-option nodes=3 probe", "--sbatch-option 'nodes=3': nccltool sbatch has an option for this"),
        ("--sbatch-option --wait probe", "--sbatch-option '--wait' is not NAME or NAME=VALUE"),
    ],
)
def test_what_cannot_be_used(nccltool: Nccltool, words: str, message: str) -> None:
    said = nccltool("sbatch", *shlex.split(words))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"Error: {message}\n  -> "), said.err
