"""What is shown of the answer to a question."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

from nccltool.core.look import Look
from nccltool.history import views
from nccltool.history.ask import ask
from nccltool.history.keeping import ImportedRuns
from nccltool.history.result import HistoryAnswer, HostRecord
from tests.history.samples import FIRST
from tests.history.test_ask import _file
from tests.history.test_wording import DRIFT, OFFENCE

HOST = HostRecord(
    host="n17",
    runs=9,
    passed=5,
    failed=4,
    first="2026-11-03T02:00:00Z",
    last="2026-11-12T02:00:00Z",
    status="fail",
    recent=("pass", "warn", "fail", "missing", "undetermined"),
    switches=4,
    is_flapping=True,
)
ANSWER = HistoryAnswer(
    file="history.sqlite",
    question="all",
    word="",
    since="2026-09-25T00:00:00Z",
    runs=60,
    first="2026-09-25T02:00:00Z",
    last="2026-11-23T02:00:00Z",
    series=512,
    hosts=(HOST, replace(HOST, host="n1", failed=0, is_flapping=False)),
    offences=(OFFENCE,),
    drifts=(DRIFT,),
)


def test_the_table() -> None:
    assert views.render(ANSWER, "table") == (
        "2 hosts, 60 runs, 2026-09-25 to 2026-11-23: 1 repeated failure, 1 flapping, "
        "1 changed level in 512 series\n"
        "\n"
        "host  runs  failed  now   recent          last run\n"
        "----  ----  ------  ----  --------------  ----------\n"
        "n17      9       4  fail  .wFM? flapping  2026-11-12\n"
        "recent: the latest runs, oldest first; . pass, w warn, F fail, M missing, ? not known\n"
        "\n"
        "n17: across/late-rank did not pass in 4 of 9 runs since 2026-11-03, in 3 of them on this host alone; "
        "new then: driver 550.54 -> 560.35\n"
        "    rank 3 was late\n"
        "\n"
        "n17: within/all_reduce-busbw-64MiB is 5.0 % lower since 2026-10-04 (95 % interval 4.0 % to 6.0 %, "
        "between 2026-10-02 and 2026-10-06), 50.00 GB/s to 47.50 GB/s\n"
        "    changed in that time: driver 550.54 -> 560.35\n"
    )


def test_verbose_shows_every_host_and_no_run_is_said() -> None:
    assert "n1 " in views.render(ANSWER, "table", Look(verbose=True))
    empty = replace(ANSWER, runs=0, first="", last="", hosts=(), offences=(), drifts=())
    assert views.render(empty, "table") == "0 hosts: no run since 2026-09-25 in history.sqlite\n"


def test_more_than_fit() -> None:
    many = replace(ANSWER, hosts=(HOST,) * 30, offences=(OFFENCE,) * 30, drifts=())
    shown = views.render(many, "table")
    assert shown.count("flapping  2026") == 24
    assert shown.count("and 6 more; -v shows all") == 2


def test_text_of_others_does_nothing_to_a_terminal() -> None:
    evil = replace(OFFENCE, host="n\x1b[31m", reason="\x1b]0;x\x07")
    for form in ("table", "csv", "json"):
        shown = views.render(replace(ANSWER, offences=(evil,), hosts=(replace(HOST, host="\x9b"),)), form)
        assert not {"\x1b", "\x07", "\x9b"} & set(shown)


def test_one_host_with_its_values(tmp_path: Path) -> None:
    answer = ask(_file(tmp_path), "n17", FIRST)
    shown = views.render(answer, "table")
    assert shown.startswith(
        "host n17, 46 runs, 2026-09-01 to 2026-10-16: 1 repeated failure, 1 flapping, 1 changed"
    )
    assert "within/all_reduce-busbw-64MiB" in shown.splitlines()[-1]
    rows = list(csv.DictReader(io.StringIO(views.render(answer, "csv"))))
    assert {row["record"] for row in rows} == {"host", "offence", "drift", "value"}
    assert sum(row["record"] == "value" for row in rows) == 46
    document = json.loads(views.render(answer, "json"))
    assert (document["kind"], document["question"], document["hosts"][0]["host"]) == ("history", "host", "n17")


def test_imports_and_prunings() -> None:
    done = ImportedRuns(file="h", added=2, known=1, skipped=(("runs/x", "damaged"),))
    assert views.imported(done, "table") == "2 runs added to h; 1 known before\n"
    assert json.loads(views.imported(done, "json"))["skipped"] == [{"folder": "runs/x", "reason": "damaged"}]
    assert views.pruned("h", 1, True, "table") == "1 run would be removed from h\n"
    assert json.loads(views.pruned("h", 3, False, "json"))["removed"] == 3
