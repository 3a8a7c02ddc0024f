"""A word that cannot be used: exit 2, one clear sentence, nothing on standard output, nothing started."""

from pathlib import Path

import pytest

from nccltool.probe import views
from tests.conftest import Nccltool

FORMATS = ", ".join(repr(form) for form in views.FORMATS)


def last_sentence(err: str) -> str:
    """What follows the usage, without the remedy."""
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if line.startswith("Error: ")]
    return line.removeprefix("Error: ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("probe extra", "Got unexpected extra argument (extra)"),
        ("probe --op all_redcue", "--op: unknown operation 'all_redcue'"),
        ("probe --op all_reduce,bogus", "--op: unknown operation 'bogus'"),
        ("probe -d bogus", "--dtype: unknown type 'bogus'"),
        ("probe -o bogus", "--reduce-op: unknown reduction 'bogus'"),
        ("probe -b bogus", "--min-bytes: 'bogus' is not a size"),
        ("probe --sizes 8,bogus", "--sizes: 'bogus' is not a size"),
        (
            "probe --backend bogus",
            "Invalid value for '--backend': 'bogus' is not one of 'auto', 'nccl', 'gloo'.",
        ),
        ("probe --format xml", f"Invalid value for '--format': 'xml' is not one of {FORMATS}."),
        ("runs --format xml", f"Invalid value for '--format': 'xml' is not one of {FORMATS}."),
        (
            "probe --cadence fast",
            "Invalid value for '--cadence': 'fast' is not one of 'stream', 'isolated'.",
        ),
        ("probe -n 0", "Invalid value for '-n' / '--iterations': 0 is not in the range 1<=x<=1000000."),
        ("probe -n two", "Invalid value for '-n' / '--iterations': 'two' is not a valid integer range."),
        ("probe -f 1", "Invalid value for '-f' / '--step-factor': 1 is not in the range x>=2."),
        ("probe -c -1", "Invalid value for '-c' / '--checks': -1 is not in the range 0<=x<=1000000."),
        ("probe --nodes 0", "Invalid value for '--nodes': 0 is not in the range 1<=x<=1000000."),
        ("probe --node-rank -1", "Invalid value for '--node-rank': -1 is not in the range x>=0."),
        ("probe --timeout 0", "Invalid value for '--timeout': 0.0 is not in the range x>=1."),
        ("probe --timeout nan", "Invalid value for '--timeout': nan is not a finite number."),
        ("probe --deadline inf", "Invalid value for '--deadline': inf is not a finite number."),
        ("probe --min-busbw nan", "Invalid value for '--min-busbw': nan is not a finite number."),
        ("probe --min-busbw fast", "Invalid value for '--min-busbw': 'fast' is not a valid float range."),
        ("probe --budget inf", "Invalid value for '--budget': inf is not a finite number."),
        ("probe --precision nan", "Invalid value for '--precision': nan is not a finite number."),
        ("probe --nproc-per-node many", "--nproc-per-node 'many' is not a number of ranks"),
        ("probe --nodes 2 --node-rank 1", "--node-rank also needs --rdzv-endpoint"),
        ("probe -b", "Option '-b' requires an argument."),
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


@pytest.mark.parametrize("command", ["probe", "runs"])
def test_an_output_that_cannot_be_written(command: str, file: Path, nccltool: Nccltool) -> None:
    said = nccltool(command, "--output", str(file / "x"))
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err) == f"--output {file / 'x'} cannot be written: Not a directory"


def test_an_output_that_is_a_folder(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("probe", "--output", str(tmp_path))
    assert (said.code, said.out) == (2, "")
    assert last_sentence(said.err) == f"Invalid value for '--output': File '{tmp_path}' is a directory."


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
