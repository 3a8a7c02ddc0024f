"""All traces of a run."""

import gzip
import json
import os
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.look import Look
from nccltool.trace.document import to_json
from nccltool.trace.run import trace
from nccltool.trace.views import render
from tests.trace import inspected
from tests.trace.samples import SHIPPED, event, write
from tests.trace.test_communicators import LATE


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


def test_files_of_nccl_inspector(tmp_path: Path) -> None:
    inspected.write(tmp_path, inspected.logs(LATE))
    packed = tmp_path / "node-1-pid703.log"
    (tmp_path / "node-1-pid703.log.gz").write_bytes(gzip.compress(b"{\n" + packed.read_bytes()))
    packed.unlink()
    report = trace([str(tmp_path)], ())
    assert (report.late_rank, report.verdict.status) == (2, "warn")
    assert [one.code for one in report.findings] == ["trace-late-rank", "trace-damaged"]
    assert report.findings[0].suspect is not None
    assert report.findings[1].message.endswith("703.log.gz was read in part: 1 line cannot be read")
    document = json.loads(to_json(report))
    assert document["communicators"][0]["late_rank"] == 2
    assert render(report, Look(width=100)).startswith("WARN trace: suspect: rank 2; steps unknown: ")


def test_a_communicator_of_some_ranks_accuses_no_rank_of_the_job(tmp_path: Path) -> None:
    inspected.write(tmp_path, inspected.logs(LATE))
    (tmp_path / "more-pid1.log").write_bytes(inspected.logs(LATE, id="0x2")[0])
    report = trace([str(tmp_path)], ())
    (found,) = report.findings
    assert (report.late_rank, found.subject.name, found.suspect) == (None, "process 702 on node-1", None)


def test_records_without_a_call(tmp_path: Path) -> None:
    file = tmp_path / "a-pid1.log"
    file.write_bytes(inspected.text([inspected.record(0, 0)]))
    report = trace([str(file)], ())
    assert (report.verdict.exit_code, [one.code for one in report.findings]) == (4, ["trace-unclear"])
