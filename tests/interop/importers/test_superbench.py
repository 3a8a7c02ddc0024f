"""SuperBench: metrics by name, ranks by the bandwidths, and benchmarks that failed."""

import json
from collections.abc import Mapping

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told, checks
from tests.interop.importers import foreign

FIGURES = {"time": 1157.2, "algbw": 115.98, "busbw": 202.97}
SMALL = {"algbw": 0.01, "busbw": 0.02}


def summary(
    prefix: str = "nccl-bw/allreduce_134217728", suffix: str = "", changes: Mapping[str, object] = FIGURES
) -> bytes:
    figures = {f"{prefix}_{what}{suffix}": value for what, value in {**FIGURES, **changes}.items()}
    return json.dumps(figures).encode()


@pytest.mark.parametrize(
    ("prefix", "suffix", "label"),
    [
        ("nccl-bw/allreduce_134217728", "", "nccl-bw"),
        ("nccl-bw:default/allreduce_134217728", ":0", "nccl-bw:default, rank 0"),
        ("rccl-bw/2/allreduce_134217728", ":7", "rccl-bw, run 2, rank 7"),
        ("nccl-bw/allreduce_1_0:134217728", ":0", "nccl-bw, group 1_0, rank 0"),
    ],
)
def test_names(prefix: str, suffix: str, label: str) -> None:
    (test,) = importers.read(summary(prefix, suffix), "out.json", Told())
    assert (test.series, test.op, test.world_size, test.rows[0].bytes) == (label, "all_reduce", 8, 2**27)


def test_the_ranks_are_unknown_where_several_numbers_fit() -> None:
    with pytest.raises(BadInput, match="does not list its ranks"):
        importers.read(summary(changes=SMALL), "out.json", Told())
    (test,) = importers.read(summary(changes=SMALL), "out.json", Told(ranks=8))
    assert test.world_size == 8


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"time": "fast"}, "out.json: nccl-bw/allreduce_134217728_time is 'fast', not a figure"),
        ({"time": -1}, "out.json: nccl-bw/allreduce_134217728_time is '-1', not a figure"),
    ],
)
def test_figures_that_are_none(changes: dict[str, object], problem: str) -> None:
    (test,) = importers.read(summary(changes=changes), "out.json", Told())
    assert [finding.message for finding in test.found] == [problem]
    assert test.rows[0].halves[0].time.value == pytest.approx(1157.2, rel=1e-3)  # by the bandwidth


def test_a_benchmark_that_failed_is_no_pass() -> None:
    (*_, last) = foreign.read("superbench.jsonl")
    assert last.stopped == ("nccl-bw:gdr-only/return_code is 3",)
    assert "import-test-failed" in [finding.code for finding in checks.findings(last, Told())]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"nccl-bw/return_code": 0}', "it has no figures of nccl-bw or rccl-bw"),
        ('{"nccl-bw/return_code": 3}', "nccl-bw/return_code is 3"),
        ('{"nccl-bw/return_code": 0, "nccl-bw/allred', "it ends inside line 1"),
        ('[{"name": "nccl-bw",\n "result": {', "it ends inside line 2"),
        ('[{"name": "nccl-bw",\n "result": {\n', "line 1 is no complete JSON object"),
    ],
)
def test_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput) as error:
        importers.read(text.encode(), "out.json", Told())
    assert error.value.message == f"out.json: {problem}"
