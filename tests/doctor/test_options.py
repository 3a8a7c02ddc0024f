"""Words of the command line that the doctor does not take, each with what is wrong."""

import pytest

from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nccl-version", "new"], "--nccl-version 'new' is not a version"),
        (["--select", "XYZ"], "--select: no rule begins with 'XYZ'"),
        (
            ["--fix", "--format", "json"],
            "--fix prints lines for a shell and cannot be combined with --format json",
        ),
        (
            ["--fix", "--show-settings"],
            "--fix prints lines for a shell and cannot be combined with --show-settings",
        ),
        (["--env-file", "/nonexistent"], "--env-file /nonexistent cannot be read: No such file or directory"),
        (["--facts", "/nonexistent"], "--facts /nonexistent cannot be read: No such file or directory"),
        (["--facts", "/etc/hosts"], "/etc/hosts is not a facts snapshot"),
        (["--facts", "x", "--pid", "1"], "--facts cannot be combined with"),
        (["--pid", "1", "--env-file", "x"], "--pid cannot be combined with"),
        (
            ["--ask-nccl", "--env-file", "x"],
            "--ask-nccl cannot be combined with --facts, --root, --pid, or --env-file",
        ),
        (["--ask-nccl", "--pid", "1"], "--ask-nccl cannot be combined with --facts, --root, --pid, or --env-file"),
        (["--pid", "4194305"], "--pid 4194305: no such process"),
        (["--root", "/etc"], "--root /etc contains neither proc nor sys"),
        (["--nproc-per-node", "many"], "--nproc-per-node 'many' is not a number of ranks"),
    ],
)
def test_bad_words(words: list[str], message: str, nccltool: Nccltool) -> None:
    said = nccltool("doctor", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"Error: {message}")
    assert "\n  -> " in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--select", ","), "--select names no rule"),
        (("--ignore", ""), "--ignore names no rule"),
        (("--nccl-version", ""), "--nccl-version '' is not a version"),
        (("--ask-nccl=/nope",), "--ask-nccl /nope is not a file"),
        (("--nodes", "99999999999999999999"), "--nodes 99999999999999999999: expected a whole number"),
        (("--env-file", "/no/such"), "--env-file /no/such cannot be read: No such file or directory"),
    ],
)
def test_words_that_mean_nothing(words: tuple[str, ...], message: str, nccltool: Nccltool) -> None:
    said = nccltool("doctor", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
