"""All traces of a run."""

import json
import os
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.trace.document import to_json
from nccltool.trace.run import trace
from tests.trace.samples import SHIPPED, event, write


def test_the_late_rank_of_a_real_run() -> None:
    report = trace([str(SHIPPED)], ("nccltool", "trace"))
    assert (report.late_rank, report.verdict.status, report.verdict.exit_code) == (2, "warn", 0)


def test_two_traces_of_a_rank(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write(tmp_path / name, event("x", 1, 1))
    with pytest.raises(BadInput, match="are both traces of rank 0"):
        trace([str(tmp_path)], ())


def test_traces_that_an_earlier_run_with_more_ranks_left(tmp_path: Path) -> None:
    for rank, ranks in ((0, 2), (1, 2), (2, 3)):
        write(tmp_path / f"{rank}.json", event("x", 1, 1), rank=rank, ranks=ranks)
    with pytest.raises(BadInput, match=r"0\.json is of a run with 2 ranks, .*2\.json of one with 3"):
        trace([str(tmp_path)], ())


def test_files_of_a_folder_that_are_no_traces(tmp_path: Path) -> None:
    other = tmp_path / "b.json"
    other.touch()
    with pytest.raises(BadInput, match="is not a trace: it is empty"):
        trace([str(tmp_path)], ())
    write(tmp_path / "a.json", event("x", 1, 1))
    found = trace([str(tmp_path)], ())
    assert ([one.code for one in found.findings], len(found.traces)) == (["trace-damaged"], 1)
    assert found.findings[0].message.endswith("b.json is not a trace: it is empty; it was left out")
    with pytest.raises(BadInput):
        trace([str(tmp_path), str(other)], ())


def test_half_surrogates_and_names_that_are_not_utf8(tmp_path: Path) -> None:
    write(
        Path(os.fsdecode(bytes(tmp_path) + b"/\xff.json")),
        event("a\ud800", 1, 9),
        event("gloo:reduce\udc80", 1, 9),
    )
    Path(os.fsdecode(bytes(tmp_path) + b"/\xfe.json")).touch()
    document = json.loads(to_json(trace([str(tmp_path)], ())))
    assert document["ranks"][0]["operators"][0]["name"] == "a\\ud800"
    assert document["ranks"][0]["file"].endswith("\\udcff.json")


def test_a_world_of_too_many_ranks(tmp_path: Path) -> None:
    for rank in (0, 1):
        collective = event("gloo:all_reduce", 1, 1, "user_annotation")
        content = {"distributedInfo": {"rank": rank, "world_size": 10**17}, "traceEvents": [collective]}
        (tmp_path / f"{rank}.json").write_text(json.dumps(content))
    assert trace([str(tmp_path)], ()).info.world_size is None
