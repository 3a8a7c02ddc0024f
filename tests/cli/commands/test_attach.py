"""nccltool attach: words in, text and exit code out."""

import json
import sys
from pathlib import Path

import pytest

from tests.attach.seen.looks import SHIPPED
from tests.conftest import Nccltool


def test_a_saved_look(nccltool: Nccltool) -> None:
    done = nccltool("attach", "--from", str(SHIPPED))
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("FAIL attach: hung for at least")


def test_json(nccltool: Nccltool, tmp_path: Path) -> None:
    done = nccltool("attach", "--from", str(SHIPPED), "--format", "json")
    assert (done.code, json.loads(done.out)["state"]) == (1, "hung")


def test_nagios(nccltool: Nccltool) -> None:
    done = nccltool("attach", "--from", str(SHIPPED), "--format", "nagios")
    assert done.code == 2
    assert done.out.startswith("NCCLTOOL CRITICAL - ")


def test_nobody_runs(nccltool: Nccltool) -> None:
    done = nccltool("attach", "--program", "no-such-script.py")
    assert (done.code, done.out) == (4, "")
    assert "no rank of a job that runs no-such-script.py was found here" in done.err


def test_ctrl_c_says_one_sentence(nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nccltool.api.commands.attached", lambda options, command: sys.exit(130))
    done = nccltool("attach")
    assert (done.code, done.out) == (130, "")
    assert done.err == "interrupted before there was a verdict; the job was not changed\n"


def test_a_snapshot_is_not_replaced(nccltool: Nccltool, tmp_path: Path) -> None:
    (tmp_path / "look.json").write_text("{}")
    done = nccltool("attach", "--save", str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert "holds a saved snapshot: look.json" in done.err
    assert (tmp_path / "look.json").read_text() == "{}"
