"""The findings that follow from traces."""

from typing import Any

import pytest

from nccltool.core.findings import Finding
from nccltool.trace.report import report
from nccltool.trace.result import RankTrace
from tests.trace.samples import built, event, ranks_of

STEP = event("ProfilerStep#1", 0, 100, "user_annotation")


def _findings(traces: list[RankTrace], damage: dict[str, str] | None = None) -> dict[str, Finding]:
    return {one.code: one for one in report(traces, damage or {}, ()).findings}


@pytest.mark.parametrize(
    ("events", "codes"),
    [
        ([event("aten::mm", 0, 100)], set()),
        ([event("aten::mm", 0, 60), event("enumerate(DataLoader)#x", 60, 40)], {"trace-input"}),
        ([event("aten::mm", 0, 60), event("gemm", 50, 50, "kernel")], {"trace-launch"}),
        ([event("aten::mm", 0, 60), event("gloo:all_reduce", 50, 50, "user_annotation")], {"trace-exposed"}),
    ],
)
def test_where_steps_lose_time(events: list[dict[str, Any]], codes: set[str]) -> None:
    assert set(_findings([built(STEP, *events)])) == codes


def test_the_late_rank() -> None:
    found = _findings(ranks_of([[30_000.0, 900]] * 8))
    assert found["trace-late-rank"].subject.name == "1"
    assert found["trace-late-rank"].suspect is not None
    assert list(found) == ["trace-late-rank"]


def test_a_rank_without_a_trace_may_be_the_one_that_all_wait_for() -> None:
    three = ranks_of([[60_000.0, 60_500, 1000]] * 8)
    found = _findings(three[:2])
    assert list(found) == ["trace-exposed"]
    assert found["trace-exposed"].evidence[0].endswith("waits for other ranks: no trace of rank 2 was read")
    assert found["trace-exposed"].remedy.startswith("read the traces of all ranks")
    whole = _findings(ranks_of([[60_000.0, 60_500]] * 8))["trace-exposed"]
    assert "unknown" not in whole.evidence[0]
    assert whole.remedy.startswith("overlap it")


def test_nothing_to_see() -> None:
    told = report([built()], {}, ())
    assert ([one.code for one in told.findings], told.verdict.exit_code) == (["trace-unclear"], 4)


def test_damage_and_what_was_not_matched() -> None:
    traces = ranks_of([[1.0, 2.0]])
    found = _findings([traces[0], built(ranks=2, rank=1)], {"a.json": "a.json was read in part"})
    assert found["trace-damaged"].message == "a.json was read in part"
    other = [built(event("gloo:broadcast", 0, 1, "user_annotation"), rank=1, ranks=2)]
    assert "trace-unmatched" in _findings([traces[0], *other])
