"""From a file and a word to what the history says."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.history.ask import ask, seen_before
from nccltool.history.records import ALL_HOSTS, MeasuredValue, Series, VisitStatus
from tests.history.samples import BUSBW, DAY, FIRST, SLOW, kept, night

OP = Series(name="all_reduce 1 MiB", detail="8 ranks", unit="B/s", of="all_reduce")
MARKS = "....................................F.F..F...F"
"""Of n17; n2 fails with it once."""


def _file(folder: Path) -> Path:
    draws = random.Random(9)
    nights = []
    for number, mark in enumerate(MARKS):
        statuses: dict[str, VisitStatus] = {"n1": "pass", "n2": "pass", "n17": "fail" if mark == "F" else "pass"}
        if number == 38:
            statuses["n2"] = "fail"
        speeds = {host: 50e9 * (1 + draws.gauss(0, 0.01)) for host in statuses}
        speeds["n17"] *= 0.9 if number >= 36 else 1
        one = night(number, statuses, busbw=speeds, driver="560.35" if number >= 36 else "550.54")
        together = MeasuredValue(host=ALL_HOSTS, series=OP, value=10e9)
        nights.append(replace(one, values=(*one.values, together)))
    return kept(folder, *nights)


def test_everything(tmp_path: Path) -> None:
    found = ask(_file(tmp_path), "", FIRST)
    assert (found.question, found.runs, found.series) == ("all", 46, 4)
    assert [(one.host, one.failed) for one in found.hosts] == [("n17", 4), ("n2", 1), ("n1", 0)]
    (one,) = found.offences
    assert (one.host, one.check, one.times, one.runs, one.alone) == ("n17", SLOW, 4, 10, 3)
    assert [(change.what, change.before, change.after) for change in one.since] == [("driver", "550.54", "560.35")]
    (drift,) = found.drifts
    assert (drift.host, drift.series, drift.since) == ("n17", BUSBW, one.since)
    assert drift.earliest <= "2026-10-07T02:00:00Z" <= drift.latest
    assert found.trends == ()


def test_one_host(tmp_path: Path) -> None:
    found = ask(_file(tmp_path), "n2", FIRST)
    assert (found.question, [one.host for one in found.hosts]) == ("host", ["n2"])
    assert [(one.times, one.alone, one.is_current) for one in found.offences] == [(1, 0, False)]
    assert [(one.host, len(one.points)) for one in found.trends] == [("n2", 46)]
    assert (found.trends[0].points[0].run, found.drifts) == ("run-0000", ())


def test_one_check(tmp_path: Path) -> None:
    found = ask(_file(tmp_path), SLOW, FIRST)
    assert (found.question, [(one.host, one.times) for one in found.offences]) == (
        "check",
        [("n17", 4), ("n2", 1)],
    )
    assert found.hosts == ()
    measured = ask(_file(tmp_path), BUSBW.name, FIRST)
    assert sorted(one.host for one in measured.trends) == ["n1", "n17", "n2"]
    assert [one.host for one in measured.drifts] == ["n17"]


def test_one_operation(tmp_path: Path) -> None:
    found = ask(_file(tmp_path), "all_reduce", FIRST)
    assert (found.question, found.offences, found.drifts) == ("operation", (), ())
    assert [(one.host, one.series) for one in found.trends] == [(ALL_HOSTS, OP)]


def test_only_what_is_recent_counts_but_it_was_seen_before(tmp_path: Path) -> None:
    found = ask(_file(tmp_path), "n17", FIRST + 40 * DAY)
    assert (found.runs, found.hosts[0].runs, found.hosts[0].failed) == (6, 6, 2)
    assert [(one.times, one.runs, one.first) for one in found.offences] == [(2, 5, "2026-10-07T02:00:00Z")]


def test_of_many_hosts_a_year_counts_and_of_one_all(tmp_path: Path) -> None:
    file = kept(tmp_path, night(0, {"n1": "fail"}), night(400, {"n1": "fail"}))
    assert [ask(file, word, 0).runs for word in ("", SLOW, "n1")] == [1, 1, 2]


def test_nothing_is_recent(tmp_path: Path) -> None:
    found = ask(_file(tmp_path), "", FIRST + 400 * DAY)
    assert (found.runs, found.first, found.hosts, found.offences, found.drifts) == (0, "", (), (), ())


def test_what_was_seen_before(tmp_path: Path) -> None:
    wanted = {("n17", SLOW), ("n1", SLOW), ("n99", SLOW), ("", SLOW)}
    assert seen_before(_file(tmp_path), wanted, FIRST) == {
        ("n17", SLOW): "did not pass in 4 of 10 runs since 2026-10-07, in 3 of them on this host alone; "
        "new then: driver 550.54 -> 560.35",
        ("n1", SLOW): "new: not seen in 46 runs since 2026-09-01",
        ("", SLOW): "new: not seen in 46 runs since 2026-09-01",
    }


@pytest.mark.parametrize("word", ["n18", "all_redcue"])
def test_a_word_that_is_not_known(word: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unknown host, operation, or check") as said:
        ask(_file(tmp_path), word, FIRST)
    assert "did you mean" in said.value.remedy
