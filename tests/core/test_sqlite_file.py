"""Files of SQLite: made once, refused in one sentence, all or nothing."""

import os
import sqlite3
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.sqlite_file import SqliteForm, opened, transaction

FORM = SqliteForm(what="list", application=7, schema=1, tables="CREATE TABLE word (name TEXT);", option="--list")


def _words(file: Path) -> list[str]:
    with opened(file, FORM) as db, transaction(db, "DEFERRED"):
        return [name for (name,) in db.execute("SELECT name FROM word")]


def test_all_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "new/list.sqlite"
    with opened(file, FORM, create=True) as db:
        with transaction(db):
            db.execute("INSERT INTO word VALUES ('kept')")
        with pytest.raises(ZeroDivisionError), transaction(db):
            db.execute("INSERT INTO word VALUES ('lost')")
            1 / 0  # noqa: B018
    assert _words(file) == ["kept"]


def test_a_file_that_may_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "list.sqlite"
    with opened(file, FORM, create=True):
        pass
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert _words(file) == []
    with pytest.raises(BadInput, match="readonly"), opened(file, FORM) as db:
        db.execute("INSERT INTO word VALUES ('new')")


@pytest.mark.parametrize(
    ("make", "message", "remedy"),
    [
        (b"x" * 5000, "cannot be used: file is not a database", "it is damaged or not a list"),
        (b"", "is not a list", "use another file: --list FILE"),
    ],
)
def test_what_is_no_such_file(make: bytes, message: str, remedy: str, tmp_path: Path) -> None:
    file = tmp_path / "list.sqlite"
    file.write_bytes(make)
    with pytest.raises(BadInput, match=message) as said:
        _words(file)
    assert said.value.remedy.startswith(remedy)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot be used"), opened(tmp_path / "file/list.sqlite", FORM, create=True):
        pass


def test_a_lock_that_is_held(tmp_path: Path) -> None:
    file = tmp_path / "list.sqlite"
    with opened(file, FORM, create=True), sqlite3.connect(file, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BadInput, match="locked"), opened(file, FORM, wait_s=0.01) as db, transaction(db):
            pass
    other.close()
