"""The file of --rdzv-secret-file: who may read it, and what is a secret."""

import os
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import run_secret

pytestmark = pytest.mark.quick

DIGITS = "0123456789abcdef" * 4


@pytest.mark.parametrize("text", [DIGITS, f"{DIGITS}\n", f"  {DIGITS}\r\n"])
def test_what_is_around_it_does_not_count(tmp_path: Path, text: str) -> None:
    """Editors and shells differ there."""
    assert run_secret.read(_file(tmp_path, text)) == DIGITS.encode().hex()


def test_no_file_is_no_secret() -> None:
    assert run_secret.read(None) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has 0 characters"),
        (f"\n{DIGITS[:31]}\n", "has 31 characters"),
        (DIGITS * 100, "is larger than 4 KiB"),
    ],
)
def test_what_is_no_secret(tmp_path: Path, text: str, problem: str) -> None:
    file = _file(tmp_path, text)
    with pytest.raises(BadInput) as refused:
        run_secret.read(file)
    assert refused.value.message.startswith(f"--rdzv-secret-file {file} {problem}")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        run_secret.read(str(tmp_path / "none"))


def test_a_pipe_of_a_program_that_knows_it(tmp_path: Path) -> None:
    """As in --rdzv-secret-file <(vault read ...)."""
    read_fd, write_fd = os.pipe()
    os.write(write_fd, DIGITS.encode())
    os.close(write_fd)
    assert run_secret.read(f"/dev/fd/{read_fd}") == DIGITS.encode().hex()
    os.close(read_fd)


@pytest.mark.parametrize(
    ("mode", "of_root", "others_can"),
    [
        (0o600, False, ""),
        (0o400, False, ""),
        (0o640, False, "read"),
        (0o604, False, "read"),
        (0o620, False, "write"),
        (0o602, False, "write"),
        pytest.param(0o444, True, "", id="a Secret that Kubernetes has mounted"),
        pytest.param(0o666, True, "write", id="anyone may change it"),
    ],
)
def test_who_else_may_read_it(
    tmp_path: Path, mode: int, of_root: bool, others_can: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _file(tmp_path, DIGITS)
    Path(file).chmod(mode)
    user = 4711
    if os.getuid() == 0:
        os.chown(file, 0 if of_root else user, -1)
    elif of_root:
        pytest.skip("only root makes a file of root")
    else:
        user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user)
    if not others_can:
        assert run_secret.read(file)
        return
    with pytest.raises(BadInput) as refused:
        run_secret.read(file)
    assert refused.value.message.endswith(f"other users can {others_can} it (mode {mode:03o})")
    assert refused.value.remedy == f"chmod 600 {file}"


def _file(folder: Path, text: str) -> str:
    file = folder / "secret"
    file.touch(mode=0o600)
    file.write_text(text)
    return str(file)
