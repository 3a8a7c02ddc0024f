"""Counts, flapping, and what changed, of plain rows."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from nccltool.history import judge
from nccltool.history.queries import SeenVersions, StoredRun, StoredTrouble, StoredValue, StoredVisit
from nccltool.history.records import RunVersions, VisitStatus
from nccltool.history.result import VersionChange
from tests.history.samples import BUSBW, DAY, FIRST, SLOW

WORDS: dict[str, VisitStatus] = {".": "pass", "w": "warn", "F": "fail", "M": "missing", "?": "unknown"}


def _key(night: int) -> int:
    return int((FIRST + night * DAY) * 1000)


def _visits(marks: str, drivers: Sequence[str] = ()) -> list[StoredVisit]:
    return [
        StoredVisit(_key(night), WORDS[mark], drivers[night] if drivers else "")
        for night, mark in enumerate(marks)
    ]


def _runs(count: int, kinds: Sequence[str] = ()) -> dict[int, StoredRun]:
    return {
        _key(night): StoredRun(
            at=_key(night),
            id=f"run-{night}",
            kind=kinds[night] if kinds else "preflight",
            versions=RunVersions(),
            hosts=2,
        )
        for night in range(count)
    }


@pytest.mark.parametrize(
    ("marks", "switches", "is_flapping"),
    [
        ("....", 0, False),
        ("FFFF", 0, False),
        ("..FF", 1, False),
        (".F.F.", 4, True),
        (".w?F?.MM.", 4, True),
        (".F.F." + "." * 17, 3, False),
    ],
)
def test_flapping(marks: str, switches: int, is_flapping: bool) -> None:
    found = judge.host_record("n1", _visits(marks))
    assert (found.switches, found.is_flapping) == (switches, is_flapping)
    assert (found.runs, found.status) == (len(marks), WORDS[marks[-1]])
    assert found.failed == sum(mark in "FM" for mark in marks)


def test_n17_is_slow_in_4_of_the_last_9_nights_alone_in_3() -> None:
    bad = {3: 1, 5: 2, 8: 1, 11: 1}
    troubles = [StoredTrouble(_key(night), "n17", SLOW, True, "late", hosts) for night, hosts in bad.items()]
    seen = [SeenVersions("560", RunVersions(torch="2.9")), SeenVersions("550", RunVersions(torch="2.9"))]
    found = judge.offence(troubles, _visits("...F.F..F..F"), _runs(12), _key(3), seen)
    assert (found.times, found.runs, found.alone, found.proven) == (4, 9, 3, 4)
    assert (found.first, found.last, found.is_current) == ("2026-09-04T02:00:00Z", "2026-09-12T02:00:00Z", True)
    assert found.since == (VersionChange(what="driver", before="550", after="560"),)


def test_runs_of_another_command_say_nothing_of_a_check() -> None:
    troubles = [StoredTrouble(_key(0), "n1", SLOW, False, "", 1)]
    found = judge.offence(troubles, _visits("F..."), _runs(4, ["preflight", "probe", "probe", "preflight"]), 0, ())
    assert (found.times, found.runs, found.is_current, found.since) == (1, 2, False, ())


def test_on_the_only_host_of_a_run_it_is_not_alone() -> None:
    runs = {at: replace(run, hosts=1) for at, run in _runs(1).items()}
    troubles = [StoredTrouble(_key(0), "n1", SLOW, False, "", 1)]
    assert judge.offence(troubles, _visits("F"), runs, 0, ()).alone == 0


def test_of_all_hosts_together_none_is_alone() -> None:
    troubles = [StoredTrouble(_key(0), "", SLOW, False, "", 1)]
    assert judge.offence(troubles, _visits("F"), _runs(1), 0, ()).alone == 0


def test_what_is_not_known_did_not_change() -> None:
    known = SeenVersions("550", RunVersions(backend="nccl 2.27.3"))
    unknown = SeenVersions("", RunVersions())
    assert judge.version_changes([known], [unknown]) == ()
    assert judge.version_changes([], [known]) == ()
    other = SeenVersions("560", RunVersions(backend="nccl 2.28.1"))
    assert [one.what for one in judge.version_changes([unknown, known], [other])] == ["driver", "backend"]


def test_a_drift_with_the_driver_that_came_with_it() -> None:
    draws = random.Random(1)
    values = [
        StoredValue(_key(night), 50e9 * (0.8 if night >= 30 else 1) * (1 + draws.gauss(0, 0.01)))
        for night in range(60)
    ]
    visits = _visits("." * 60, ["550"] * 30 + ["560"] * 30)
    (found,) = judge.drifts({("n1", BUSBW): values}, {"n1": visits}, _runs(60))
    assert (found.at, found.host, found.values, found.is_worse) == ("2026-10-01T02:00:00Z", "n1", 60, True)
    assert found.ratio == pytest.approx(0.8, rel=0.02)
    assert found.since == (VersionChange(what="driver", before="550", after="560"),)
    assert found.earliest <= found.at <= found.latest


def test_seconds_that_grow_are_worse() -> None:
    values = [StoredValue(_key(night), 2.0 if night >= 10 else 1.0) for night in range(20)]
    (found,) = judge.drifts({("", _SECONDS): values}, {}, _runs(20))
    assert found.is_worse
    assert found.since == ()


_SECONDS = type(BUSBW)(name="ddp step", unit="s", of="ddp")


def test_of_many_series_each_has_to_be_clearer() -> None:
    draws = random.Random(2)
    lines = {
        (f"n{host}", BUSBW): [StoredValue(_key(night), 1e9 * (1 + draws.gauss(0, 0.03))) for night in range(60)]
        for host in range(300)
    }
    assert judge.drifts(lines, {}, _runs(60)) == ()
