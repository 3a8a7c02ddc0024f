"""nccltool attach: words in, text and exit code out."""

import json
from pathlib import Path

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
