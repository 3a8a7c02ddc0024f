"""nccltool schema."""

import json
from pathlib import Path

from nccltool.core import schemas
from tests.conftest import Nccltool


def test_the_kinds_and_one_of_them(nccltool: Nccltool, tmp_path: Path) -> None:
    assert nccltool("schema").out.split() == list(schemas.names())
    assert nccltool("schema", "probe").out == schemas.text("probe")
    file = tmp_path / "run.schema.json"
    assert nccltool("schema", "triage", "--output", str(file)).out == ""
    assert json.loads(file.read_text())["title"] == "nccltool triage"


def test_a_kind_that_is_not_known(nccltool: Nccltool) -> None:
    done = nccltool("schema", "triag")
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == "Error: unknown kind of document 'triag'\n  -> did you mean triage? nccltool schema lists them\n"
    )
