"""--format json of commands that measure and check nothing: one document, and nothing else on standard output."""

import json
from pathlib import Path
from typing import Any

import pytest

from nccltool.cli import help_pages
from nccltool.core.run_directory import base_folder
from nccltool.preflight import suite_reader
from tests.cli.commands.test_compare import kept
from tests.conftest import Nccltool

Document = dict[str, Any]


def _said(nccltool: Nccltool, *words: str, code: int = 0) -> Document:
    done = nccltool(*words, "--format", "json")
    assert done.code == code, done.err
    document: Document = json.loads(done.out)
    return document


def test_checks_list(nccltool: Nccltool) -> None:
    said = _said(nccltool, "checks", "list")
    smoke = next(one for one in said["suites"] if one["name"] == "smoke")
    title = "Smoke test: everything works, and data is correct"
    path = str(suite_reader.folder() / "smoke.toml")
    assert smoke == {"name": "smoke", "title": title, "about_s": 10.0, "path": path}
    assert {key: said[key] for key in ("schema", "kind", "folder")} == {
        "schema": 1,
        "kind": "checks",
        "folder": str(suite_reader.folder()),
    }
    listed = [Path(one["path"]) for one in (*said["suites"], *said["platforms"])]
    assert listed == list(suite_reader.files())


@pytest.mark.parametrize("file", [*suite_reader.files()], ids=lambda file: file.stem)
def test_checks_show(file: Path, nccltool: Nccltool) -> None:
    """Every number that the text has is in the document."""
    said = _said(nccltool, "checks", "show", file.stem)
    kind = "platform" if file.parent.name == "platforms" else "suite"
    assert (said["kind"], said[kind]["name"], said[kind]["path"]) == (kind, file.stem, str(file))
    parts = said[kind]["expect" if kind == "platform" else "parts"].values()
    expected = [one for part in parts for one in (part if kind == "platform" else part.get("expect", ()))]
    assert len(expected) == nccltool("checks", "show", file.stem).out.count("expects ")


def test_checks_copy_and_validate(nccltool: Nccltool, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    assert _said(nccltool, "checks", "copy", "smoke", str(mine)) == {
        "schema": 1,
        "kind": "copied-checks",
        "file": str(mine),
    }
    head = {"schema": 1, "kind": "validated-checks"}
    good = {"status": "pass", "exit_code": 0, "files": [str(mine)], "problems": []}
    assert _said(nccltool, "checks", "validate", str(mine)) == {**head, **good}
    mine.write_text("schema = 1\n")
    bad = _said(nccltool, "checks", "validate", str(mine), code=1)
    assert (bad["status"], bad["exit_code"]) == ("fail", 1)
    assert bad["problems"] == nccltool("checks", "validate", str(mine)).out.splitlines()


def test_explain_a_word_of_several_kinds(nccltool: Nccltool) -> None:
    said = _said(nccltool, "explain", "busbw")
    assert [(page["kind"], page["name"]) for page in said["pages"]] == [
        ("checks", "busbw"),
        ("columns", "busbw"),
        ("glossary", "busbw"),
    ]
    assert "\n".join(page["text"] for page in said["pages"]) == nccltool("explain", "busbw").out
    assert {**said, "pages": ()} == {"schema": 1, "kind": "explain", "word": "busbw", "pages": (), "kinds": []}


def test_explain_a_kind_and_all_kinds(nccltool: Nccltool) -> None:
    one, every = _said(nccltool, "explain", "stages"), _said(nccltool, "explain")
    assert (one["word"], one["pages"], every["word"], every["pages"]) == ("stages", [], None, [])
    (stages,) = one["kinds"]
    assert stages["names"][0] == "inventory"
    assert stages in every["kinds"]
    assert [kind["kind"] for kind in every["kinds"]] == [*help_pages.KINDS]


def test_explain_a_word_that_is_not_known(nccltool: Nccltool) -> None:
    said = nccltool("explain", "rank-dide", "--format", "json")
    assert (said.code, said.out) == (2, "")


def test_runs_rm(nccltool: Nccltool, tmp_path: Path) -> None:
    kept(1, 1.0)
    kept(2, 1.0)
    first, second = sorted(folder.name for folder in base_folder(None).iterdir())
    gone = {"schema": 1, "kind": "removed-runs", "status": "pass", "exit_code": 0, "left": []}
    assert _said(nccltool, "runs", "rm", "--keep", "1", "--dry-run") == {
        **gone,
        "dry_run": True,
        "removed": [first],
    }
    (base_folder(None) / second).rename(tmp_path / "elsewhere")
    (base_folder(None) / second).symlink_to(tmp_path / "elsewhere")
    left = [{"id": second, "reason": "a symbolic link: not followed"}]
    assert _said(nccltool, "runs", "rm", "-q", "--keep", "0", code=1) == {
        **gone,
        "status": "fail",
        "exit_code": 1,
        "dry_run": False,
        "removed": [first],
        "left": left,
    }


def test_baselines(nccltool: Nccltool, tmp_path: Path) -> None:
    run, file = kept(1, 1.0), str(tmp_path / "night.json")
    head = {"schema": 1, "kind": "saved-baseline"}
    assert _said(nccltool, "baseline", "save", "night", run) == {**head, "name": "night", "runs": 1}
    assert nccltool("baseline", "export", "night", "--output", file).code == 0
    assert _said(nccltool, "baseline", "import", file, "--as", "day") == {**head, "name": "day", "runs": 1}
    gone = {"schema": 1, "kind": "removed-baseline", "name": "day"}
    assert _said(nccltool, "baseline", "remove", "day") == gone


def test_bundle(nccltool: Nccltool, tmp_path: Path) -> None:
    file, log = tmp_path / "b.tar.gz", tmp_path / "job.log"
    log.write_text("password=hunter2hunter2\n")
    said = _said(nccltool, "bundle", "--add-log", str(log), "--output", str(file))
    assert file.is_file()
    assert said["secrets_removed"] >= 1
    assert all(part.keys() == {"name", "reason"} for part in said["missing"])
    assert {**said, "secrets_removed": 0, "missing": []} == {
        "schema": 1,
        "kind": "bundle",
        "file": str(file),
        "secrets_removed": 0,
        "missing": [],
    }
