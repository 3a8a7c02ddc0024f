"""nccltool collect: what the user sees, and gets as exit code."""

import io
import json
from pathlib import Path

import pytest

from nccltool.probe import views
from nccltool.train import document as train_document
from tests.conftest import Nccltool
from tests.samples import finding
from tests.support.streams import LEADER, beginning, begun, ended, good, mixed, part

BOTH = b"".join(mixed([good(0), good(1)]))


@pytest.fixture
def logs(tmp_path: Path) -> str:
    (tmp_path / "pods.log").write_bytes(BOTH)
    return str(tmp_path / "pods.log")


@pytest.mark.parametrize("form", views.FORMATS)
def test_it_is_kept_and_shown_like_a_run_of_here(form: str, logs: str, tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("collect", logs, "--format", form)
    folder = tmp_path / "state/nccltool/runs" / LEADER
    assert (said.code, said.err) == (0, f"saved to {folder}\n")
    run = train_document.from_json((folder / "run.json").read_bytes(), "run.json")
    assert said.out == views.renderer(form)(run)
    assert nccltool("runs", LEADER, "--format", form).out == said.out


def test_twice(logs: str, tmp_path: Path, nccltool: Nccltool) -> None:
    first, second = nccltool("collect", logs), nccltool("collect", logs)
    assert second == first
    folder = tmp_path / "state/nccltool/runs" / LEADER
    (folder / "collected.txt").unlink()  # as if it had been measured here
    again = nccltool("collect", logs)
    assert (again.code, again.out) == (0, first.out)
    assert again.err == f"not saved: the run already exists in {folder}\n"


def test_into_a_file(logs: str, tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("collect", logs, "--format", "json", "--output", str(tmp_path / "out.json"))
    assert (said.code, said.out) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["run"]["id"] == LEADER


def test_standard_input(tmp_path: Path, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BOTH)))
    said = nccltool("collect", "-", "--run-dir", str(tmp_path / "here"))
    assert (said.code, said.err) == (0, f"saved to {tmp_path / 'here' / LEADER}\n")


@pytest.mark.parametrize("code", [1, 3])
def test_the_exit_code_is_that_of_the_run(code: int, tmp_path: Path, nccltool: Nccltool) -> None:
    found = finding(code={1: "wrong-data", 3: "rank-died"}[code])
    lines = [*part(begun(0), beginning(0), ended([found])), *good(1)]
    (tmp_path / "pods.log").write_bytes(b"".join(lines))
    assert nccltool("collect", str(tmp_path / "pods.log")).code == code


@pytest.mark.parametrize("text", [b"", b"nothing of ours\n"])
def test_what_is_no_stream(text: bytes, tmp_path: Path, nccltool: Nccltool) -> None:
    (tmp_path / "pods.log").write_bytes(text)
    said = nccltool("collect", str(tmp_path / "pods.log"))
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        f"Error: {tmp_path / 'pods.log'}: no nccltool events found\n"
        "  -> run the command with --events and collect the full logs of all pods: "
        "kubectl logs --prefix --tail=-1 --max-log-requests=100 -l LABEL\n"
    )


def test_a_folder_that_cannot_be_written(logs: str, tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("collect", logs, "--run-dir", str(tmp_path / "pods.log" / "runs"))
    assert (said.code, said.out) == (2, "")
    assert "cannot be written: Not a directory" in said.err


def test_without_a_file(nccltool: Nccltool) -> None:
    assert nccltool("collect").code == 2
