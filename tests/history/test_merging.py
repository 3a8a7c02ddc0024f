"""Two histories become one."""

import sqlite3
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.history import keeping, merging
from nccltool.history.ask import ask
from nccltool.history.database import History
from tests.history.samples import FIRST, kept, night


def _two(tmp_path: Path) -> tuple[Path, Path]:
    """Nights 0 to 3 and 2 to 5."""
    (tmp_path / "other").mkdir()
    nights = [
        night(number, {"n1": "pass", "n2": "fail" if number % 2 else "pass"}, busbw={"n1": 5e10 + number})
        for number in range(6)
    ]
    return kept(tmp_path, *nights[:4]), kept(tmp_path / "other", *nights[2:])


def test_the_result_is_as_if_all_had_been_in_one_file(tmp_path: Path) -> None:
    ours, other = _two(tmp_path)
    done = keeping.take_in(ours, [other], FIRST)
    assert (done.added, done.known) == (2, 2)
    assert (keeping.take_in(ours, [other], FIRST).added, len(History(ours).ids())) == (0, 6)
    (tmp_path / "whole").mkdir()
    whole = kept(tmp_path / "whole", *merging.records(ours, other, ()))
    for word in ("", "n1", "n2", "across/late-rank"):
        one, same = ask(ours, word, 0), ask(whole, word, 0)
        assert (one.hosts, one.offences, one.trends) == (same.hosts, same.offences, same.trends)
    assert next(iter(ask(ours, "n2", 0).offences)).times == 3
    assert len(ask(ours, "n1", 0).trends[0].points) == 6


def test_rows_of_no_run_are_left_out(tmp_path: Path) -> None:
    ours, other = _two(tmp_path)
    with sqlite3.connect(other) as db:
        db.execute("DELETE FROM run WHERE id = 'run-0004'")
    assert keeping.take_in(ours, [other], FIRST).added == 1
    assert "run-0004" not in History(ours).ids()


def test_what_is_no_other_history(tmp_path: Path) -> None:
    ours, _ = _two(tmp_path)
    with pytest.raises(BadInput, match="is the history itself"):
        keeping.take_in(ours, [ours], FIRST)
    foreign = tmp_path / "foreign"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t (a)")
    with pytest.raises(BadInput, match="is not a history"):
        keeping.take_in(ours, [foreign], FIRST)
    cut = tmp_path / "cut"
    cut.write_bytes(ours.read_bytes()[:5000])
    with pytest.raises(BadInput, match="cannot be used"):
        keeping.take_in(ours, [cut], FIRST)
    (tmp_path / "text").write_text("x" * 100)
    with pytest.raises(BadInput, match="not a run of nccltool"):
        keeping.take_in(ours, [tmp_path / "text"], FIRST)
