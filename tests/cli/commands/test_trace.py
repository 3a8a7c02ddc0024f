"""nccltool trace: words in, text and exit code out."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.trace.samples import SHIPPED


def test_a_late_rank(nccltool: Nccltool) -> None:
    done = nccltool("trace", str(SHIPPED))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("WARN trace: suspect: rank 2; ")


def test_json(nccltool: Nccltool) -> None:
    done = nccltool("trace", str(SHIPPED), "--format", "json")
    assert (done.code, json.loads(done.out)["late_rank"]) == (0, 2)


def test_nothing_is_in_it(nccltool: Nccltool, tmp_path: Path) -> None:
    (tmp_path / "rank0.json").write_text('{"traceEvents": []}')
    assert nccltool("trace", str(tmp_path)).code == 4


def test_a_file_that_may_not_be_read(nccltool: Nccltool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """click asks os.access, and would not say what names a trace."""
    monkeypatch.setattr(os, "access", lambda *_words: False)
    (tmp_path / "a.json").write_text("PASS")
    assert "is not a trace" in nccltool("trace", str(tmp_path / "a.json")).err


def test_no_trace(nccltool: Nccltool, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("PASS")
    done = nccltool("trace", str(tmp_path / "a.json"))
    assert (done.code, done.out) == (2, "")
    assert "is not a trace: it is not JSON" in done.err
