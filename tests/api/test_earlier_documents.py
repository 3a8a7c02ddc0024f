"""Documents of earlier releases are still valid and read: tests/data/documents-VERSION has some."""

import json
from pathlib import Path

import pytest

from nccltool import __version__
from nccltool.compare import baselines
from nccltool.core import schemas
from nccltool.hosts.facts import SnapshotReader
from nccltool.localize.localized import LocalizedRun
from nccltool.monitor import run_list
from tests.support.documents import problems

DATA = Path(__file__).parents[1] / "data"
SAMPLES = sorted(DATA.glob("documents-*/*.json"))
READ_AGAIN = {"probe", "train", "preflight", "pairs", "localize", "facts", "baseline"}
"""Kinds that nccltool reads itself."""
each = pytest.mark.parametrize("file", SAMPLES, ids=lambda file: f"{file.parent.name}/{file.stem}")


def test_this_release_has_samples_too() -> None:
    """What is released must be read by the next one: new samples are kept before the number goes up."""
    kinds = {file.stem for file in (DATA / f"documents-{__version__}").glob("*.json")}
    assert kinds == set(schemas.names())


@each
def test_it_is_valid(file: Path) -> None:
    document = json.loads(file.read_text())
    assert document["kind"] == file.stem
    assert problems(document) == []


@each
def test_it_is_read(file: Path) -> None:
    document = json.loads(file.read_text())
    text = file.read_bytes()
    if file.stem == "facts":
        assert SnapshotReader().read(text, str(file)).host == document["host"]
    elif file.stem == "baseline":
        read = baselines.from_json(text, str(file))
        assert (read.name, len(read.runs)) == (document["baseline"]["name"], len(document["baseline"]["runs"]))
    elif file.stem in READ_AGAIN:
        run = run_list.load(file)
        assert (run.info.id, run.verdict.exit_code) == (document["run"]["id"], document["exit_code"])
        if isinstance(run, LocalizedRun):
            assert len(run.encounters) == len(document["pairs"])
        else:
            assert len(run.measurements) == len(document["measurements"])
