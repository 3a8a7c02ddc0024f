"""A word that cannot be used: exit 2, one clear sentence, nothing on standard output, nothing started."""

import errno
import os
from pathlib import Path

import pytest

from nccltool.probe import views
from tests.conftest import Nccltool

FORMATS = ", ".join(views.FORMATS)


def last_sentence(err: str) -> str:
    """What follows the usage, without the remedy."""
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if line.startswith("Error: ")]
    return line.removeprefix("Error: ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("probe extra", "unexpected argument extra"),
        ("probe --op all_redcue", "--op: unknown operation 'all_redcue'"),
        ("probe --op all_reduce,bogus", "--op: unknown operation 'bogus'"),
        ("probe -d bogus", "--dtype: unknown type 'bogus'"),
        ("probe -o bogus", "--reduce-op: unknown reduction 'bogus'"),
        ("probe -b bogus", "--min-bytes: 'bogus' is not a size"),
        ("probe --sizes 8,bogus", "--sizes: 'bogus' is not a size"),
        (
            "probe --backend bogus",
            "--backend bogus: expected one of auto, nccl, gloo",
        ),
        ("probe --format xml", f"--format xml: expected one of {FORMATS}"),
        ("runs --format xml", f"--format xml: expected one of {FORMATS}"),
        (
            "probe --cadence fast",
            "--cadence fast: expected one of stream, isolated",
        ),
        ("probe -n 0", "--iterations 0: expected a whole number from 1 to 1000000"),
        ("probe -n two", "--iterations two: expected a whole number from 1 to 1000000"),
        ("probe -f 1", "--step-factor 1: expected a whole number of at least 2"),
        ("probe -c -1", "--checks -1: expected a whole number from 0 to 1000000"),
        ("probe --nodes 0", "--nodes 0: expected a whole number from 1 to 1000000"),
        ("probe --node-rank -1", "--node-rank -1: expected a whole number of at least 0"),
        ("probe --timeout 0", "--timeout 0: expected a number of at least 1"),
        ("probe --timeout nan", "--timeout nan: expected a finite number of at least 1"),
        ("probe --deadline inf", "--deadline inf: expected a finite number of at least 1"),
        ("probe --min-busbw nan", "--min-busbw nan: expected a finite number of at least 0"),
        ("probe --min-busbw fast", "--min-busbw fast: expected a number of at least 0"),
        ("probe --budget inf", "--budget inf: expected a finite number of at least 0.001"),
        ("probe --precision nan", "--precision nan: expected a finite number from 0.01 to 100"),
        ("probe --nproc-per-node many", "--nproc-per-node 'many' is not a number of ranks"),
        ("probe --nodes 2 --node-rank 1", "--node-rank also needs --rdzv-endpoint"),
        ("train moe --capacity 0", "--capacity 0: expected a number above 0"),
        ("probe --quiet=1", "--quiet: takes no value"),
        ("checks lst", "lst: expected one of list, show, copy, validate"),
        ("baseline import /", "FILE /: expected a file, not a directory"),
        ("baseline save x", "missing RUN..."),
        ("compare a b --alpha 1", "--alpha 1: expected a number from 0.0001 to 0.2"),
        ("compare a b --alpha nan", "--alpha nan: expected a finite number from 0.0001 to 0.2"),
        ("train ddp --grace nan --checkpoint x", "--grace nan: expected a finite number from 0 to 86400"),
        ("train ddp --grace inf --checkpoint x", "--grace inf: expected a finite number from 0 to 86400"),
        ("train ddp --grace -1 --checkpoint x", "--grace -1: expected a number from 0 to 86400"),
        ("doctor --nodes", "--nodes: expected a value: --nodes N"),
        ("probe -b", "-b: expected a value: -b, --min-bytes SIZE"),
    ],
)
def test_words(words: str, sentence: str, nccltool: Nccltool) -> None:
    said = nccltool(*words.split())
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err) == sentence


def test_the_remedy_follows(nccltool: Nccltool) -> None:
    said = nccltool("probe", "--op", "all_redcue")
    assert said.err.splitlines()[1].startswith(
        "  -> did you mean all_reduce? choose from all_reduce, all_gather, "
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.touch()
    return path


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("probe --nodes 0", "nccltool probe --help"),
        ("probe --backend goo", "did you mean gloo? nccltool probe --help"),
        ("probe --timeout", "nccltool probe --help"),
        ("baseline save x", "nccltool baseline save [OPTIONS] NAME RUN..."),
        ("checks lst", "did you mean list? nccltool checks --help"),
        ("probe extra", "nccltool probe [OPTIONS]"),
        ("probe --quiet=1", "nccltool probe --help"),
        ("triage x --for 3", "add --follow"),
        ("attach --hosts a --job 3", "omit one"),
        ("attach --hosts a --pid 3", "use --program to choose a job there"),
        ("attach --from x --native", "omit it: nothing is looked at again"),
        ("attach --from no-such-folder", "name a folder that --save wrote"),
        ("sbatch probe --nodes 0", "nccltool probe --help"),
    ],
)
def test_every_error_of_usage_is_a_sentence_and_a_remedy(words: str, remedy: str, nccltool: Nccltool) -> None:
    said = nccltool(*words.split())
    first, second = said.err.splitlines()
    assert (said.code, said.out, second) == (2, "", f"  -> {remedy}")
    assert first.startswith("Error: ")
    assert not first.endswith(".") or "..." in first


def test_a_value_from_a_variable_is_said_with_it(nccltool: Nccltool) -> None:
    sentence = "--nodes 0: expected a whole number from 1 to 1000000 (set by NCCLTOOL_NODES)"
    assert last_sentence(nccltool("probe", NCCLTOOL_NODES="0").err) == sentence


@pytest.mark.parametrize("command", ["probe", "runs"])
def test_an_output_that_cannot_be_written(command: str, file: Path, nccltool: Nccltool) -> None:
    said = nccltool(command, "--output", str(file / "x"))
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err) == f"--output {file / 'x'} cannot be written: Not a directory"


def test_a_result_that_the_disk_does_not_take(nccltool: Nccltool) -> None:
    said = nccltool("runs", "--output", "/dev/full")
    assert (said.code, said.out) == (5, "")
    assert last_sentence(said.err) == "--output /dev/full cannot be written: No space left on device"


def test_a_full_disk_before_the_run_is_bad_input(monkeypatch: pytest.MonkeyPatch, nccltool: Nccltool) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("nccltool.core.written_files.check", full)
    said = nccltool("probe", "--output", "x.json")
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err) == "--output x.json cannot be written: No space left on device"


def test_an_output_that_is_a_folder(nccltool: Nccltool) -> None:
    said = nccltool("probe", "--output", "/usr")
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err) == "--output /usr: expected a file, not a directory"


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_run_directory_that_cannot_be_written(by_variable: bool, file: Path, nccltool: Nccltool) -> None:
    runs = str(file / "runs")
    said = nccltool("probe", NCCLTOOL_RUN_DIR=runs) if by_variable else nccltool("probe", "--run-dir", runs)
    assert (said.code, said.out) == (2, "")
    sentence = last_sentence(said.err)
    assert sentence.startswith(f"the run directory {runs}/")
    assert sentence.endswith(" cannot be written: Not a directory")


def test_a_state_folder_that_cannot_be_written(file: Path, nccltool: Nccltool) -> None:
    said = nccltool("probe", XDG_STATE_HOME=str(file))
    assert said.code == 2
    assert last_sentence(said.err).startswith(f"the run directory {file}/nccltool/runs/")


def test_a_damaged_variable_of_a_launcher(nccltool: Nccltool) -> None:
    said = nccltool("probe", RANK="x", WORLD_SIZE="2", LOCAL_RANK="0")
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err) == "the launcher's variable RANK='x' is not a number"


@pytest.mark.parametrize("words", [("facts", "--root"), ("triage",), ("runs",), ("import",)], ids=" ".join)
def test_a_name_that_no_file_can_have(words: tuple[str, ...], nccltool: Nccltool) -> None:
    said = nccltool(*words, "1" * 5000)
    assert said.code == 2
    assert len(said.err) < 6000
    assert "Traceback" not in said.err
