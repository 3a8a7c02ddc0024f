"""The formats of nccl-tests: the layout to the letter, what public readers make of it, and the way back."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.verdicts import Verdict
from nccltool.interop import importers
from nccltool.interop.importers import Told, checks
from nccltool.probe import collectives, nccl_tests, views
from nccltool.probe.dtypes import ELEMENT_SIZE
from nccltool.probe.result import Cadence, Measurement, Run
from nccltool.probe.views import renderer
from tests.samples import empty_run, failing_run, finding, good_run, info, measurement, stats

text_of = renderer("nccl-tests")
json_of = renderer("nccl-tests-json")
Reader = Callable[[str], list[float]]


def row(op: str, size: int, us: float, world_size: int = 4, **changes: Any) -> Measurement:
    """A measurement whose numbers fit each other."""
    dtype = changes.get("dtype", "float32")
    layout = collectives.get(op).layout(size // ELEMENT_SIZE[dtype], world_size, ELEMENT_SIZE[dtype])
    algbw = layout.bytes / us * 1e6
    fitting = measurement(
        op=op,
        bytes=layout.bytes,
        bytes_per_rank=layout.bytes_per_rank,
        count=layout.count,
        reduce_op="sum" if collectives.get(op).reduces else None,
        placement=collectives.get(op).placements[0],
        time_s=stats(us / 1e6),
        algbw_bytes_per_s=algbw,
        busbw_bytes_per_s=algbw * collectives.get(op).bus_factor(world_size),
    )
    return replace(fitting, **changes)


def run_of(*rows: Measurement, world_size: int = 4, **changes: Any) -> Run:
    run = Run(
        info=info(world_size=world_size, emulated=False),
        verdict=Verdict(status="pass", exit_code=0),
        measurements=rows,
        findings=(),
    )
    return replace(run, **changes)


SIZES = (2**10, 2**20, 2**30)
ALL_REDUCE = run_of(*(row("all_reduce", size, 25 + size / 2e5) for size in SIZES))
ALL_GATHER = run_of(*(row("all_gather", size, 25 + size / 2e5) for size in SIZES))
BOTH = run_of(
    *(
        row("all_gather", size, us + size / 2e5, placement=placement)
        for size in SIZES
        for us, placement in ((25, "out-of-place"), (35, "in-place"))
    )
)


RANK = re.compile(
    r"^#  Rank +(\d+) Group +0 Pid +\d+ on +(\S+) device +(\d+) \[[\da-f:]+\] (NVIDIA \S.*)$", re.MULTILINE
)
"""As readers take the number of ranks and the model of the GPUs from the output."""


def test_ranks_are_listed_with_their_gpu() -> None:
    on_gpus = replace(ALL_REDUCE, info=replace(ALL_REDUCE.info, gpu="NVIDIA H100 80GB HBM3"))
    found = RANK.findall(text_of(on_gpus))
    assert [rank for rank, *_ in found] == ["0", "1", "2", "3"]
    assert {model for *_, model in found} == {"NVIDIA H100 80GB HBM3"}
    assert RANK.findall(text_of(ALL_REDUCE)) == []


def test_the_footer_is_the_first_line_about_bandwidth() -> None:
    noted = replace(ALL_REDUCE, findings=(finding(message="bandwidth FAILED to settle"),))
    first = next(line for line in text_of(noted).splitlines() if "bandwidth" in line)
    assert first.split()[:5] == ["#", "Avg", "bus", "bandwidth", ":"]
    assert float(first.split()[5]) > 0
    assert "FAILED" not in text_of(noted)


def test_the_layout_to_the_letter() -> None:
    """Widths and blanks of 2.19.6; the heading ends with one blank, the average too."""
    rows = (
        row("reduce_scatter", 2**20, 123.456, dtype="bfloat16", reduce_op="avg"),
        row(
            "reduce_scatter", 2**20, 12345678.9, dtype="bfloat16", reduce_op="avg", placement="in-place", wrong=17
        ),
        row("reduce_scatter", 2**34, 2.0, dtype="bfloat16", reduce_op="avg", wrong=1234567),
        row(
            "reduce_scatter", 2**34, 99999.96, dtype="bfloat16", reduce_op="avg", placement="in-place", wrong=None
        ),
    )
    lines = text_of(run_of(*rows)).splitlines()
    start = lines.index("# Using devices")
    assert [line for line in lines[:start] if not line.startswith("# nccltool")] == [
        "# nccl-tests version 2.19.6 nccl-headers=0 nccl-library=0",
        "# Collective test starting: reduce_scatter_perf",
        "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 17179869184 step: 16384(factor) warmup iters: 0 iters: 20 "
        "agg iters: 1 validation: 1 graph: 0 unalign: 0",
        "#",
    ]
    assert lines[start:] == [
        "# Using devices",
        "#  Rank  0 Group  0 Pid      0 on      alpha device  0 [0000:00:00] gloo",
        "#  Rank  1 Group  0 Pid      0 on      alpha device  1 [0000:00:00] gloo",
        "#  Rank  2 Group  0 Pid      0 on      alpha device  2 [0000:00:00] gloo",
        "#  Rank  3 Group  0 Pid      0 on      alpha device  3 [0000:00:00] gloo",
        "#",
        "#                                                              out-of-place                      "
        " in-place          ",
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw"
        "   busbw  #wrong ",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)"
        "  (GB/s)         ",
        "     1048576        131072  bfloat16     avg      -1   123.46    8.49    6.37       0  1.2e+07    0.00"
        "    0.00      17",
        " 17179869184    2147483648  bfloat16     avg      -1     2.00   9e+06   6e+06  1.23457e+06"
        "   100000  171.80  128.85    N/A",
        "# Out of bounds values : 2 FAILED",
        "# Avg bus bandwidth    : 1.61065e+06 ",
        "#",
        "# Collective test concluded: reduce_scatter_perf",
        "#",
    ]


# Readers as public tools have them: each takes the bus bandwidths out of the text in its own way.


def by_heading(text: str, which: int) -> list[float]:
    """The column under the which-th "busbw" of the heading."""
    lines = text.splitlines()
    names = next(line for line in lines if line.startswith("#") and "busbw" in line.split()).lstrip("#").split()
    column = [index for index, name in enumerate(names) if name == "busbw"][which]
    cells = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    assert {len(fields) for fields in cells} == {len(names)}
    return [float(fields[column]) for fields in cells]


def from_the_right(text: str) -> list[float]:
    """The next-to-last field of every line that begins with a number."""
    return [float(line.split()[-2]) for line in text.splitlines() if re.match(r"^\s*\d", line)]


def from_the_line_of_the_heading(text: str) -> list[float]:
    """The sixth field from the right of the lines that follow the last line with "out-of-place" by four."""
    lines = text.splitlines()
    start = max(index for index, line in enumerate(lines) if "out-of-place" in line) + 3
    end = max(index for index, line in enumerate(lines) if "Out of bounds values" in line)
    return [float(re.sub(r" +", " ", line.strip(" ")).split(" ")[-6]) for line in lines[start:end]]


def by_pattern(text: str) -> list[float]:
    """A pattern of digits and dots for both halves; rows that do not match are passed over."""
    half = r"\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\d+)"
    rows = re.findall(rf"^\s*(\d+)\s+(\d+)\s+(\w+)\s+(\w+)\s+(-?\d+){half}{half}\s*$", text, re.MULTILINE)
    return [float(fields[7]) for fields in rows]


READERS: dict[str, Reader] = {
    "first busbw of the heading": lambda text: by_heading(text, 0),
    "second busbw of the heading": lambda text: by_heading(text, 1),
    "next-to-last field": from_the_right,
    "sixth field from the right": from_the_line_of_the_heading,
    "pattern": by_pattern,
}


@pytest.mark.parametrize("run", [ALL_REDUCE, ALL_GATHER], ids=["in place", "out of place"])
@pytest.mark.parametrize("name", READERS)
def test_every_reader_reads_what_was_measured(name: str, run: Run) -> None:
    measured = [each.busbw_bytes_per_s / 1e9 for each in run.measurements]
    assert READERS[name](text_of(run)) == pytest.approx(measured, abs=0.0051)


@pytest.mark.parametrize("name", READERS)
def test_every_reader_reads_its_placement_of_both(name: str) -> None:
    in_place = name in ("second busbw of the heading", "next-to-last field")
    measured = [
        each.busbw_bytes_per_s / 1e9
        for each in BOTH.measurements
        if each.placement == ("in-place" if in_place else "out-of-place")
    ]
    assert READERS[name](text_of(BOTH)) == pytest.approx(measured, abs=0.0051)


@pytest.mark.parametrize("run", [ALL_REDUCE, ALL_GATHER, BOTH], ids=["in place", "out of place", "both"])
def test_the_reader_of_the_last_line(run: Run) -> None:
    lines = [line for line in text_of(run).splitlines() if "Avg bus bandwidth" in line]
    measured = [each.busbw_bytes_per_s / 1e9 for each in run.measurements]
    assert [float(line.split()[-1]) for line in lines] == pytest.approx([sum(measured) / len(measured)], rel=1e-5)


def cells_of(run: Run) -> list[list[str]]:
    return [line.split() for line in text_of(run).splitlines() if line[0] == " "]


def test_a_placement_that_was_not_measured_is_marked() -> None:
    assert "# nccltool measured: in place only; the other half of each row repeats it\n" in text_of(ALL_REDUCE)
    assert [fields[5:9] == fields[9:] for fields in cells_of(ALL_REDUCE)] == [True] * 3
    assert "nccltool measured" not in text_of(BOTH)


@dataclass(frozen=True, slots=True)
class Demands:
    """What a public reader needs in every row to use it, by the place of the field."""

    fields: int | None = None
    """Exactly so many; None = it counts from one end."""
    numbers: tuple[int, ...] = ()
    """Fields that must be numbers of any form."""
    digits: tuple[int, ...] = ()
    """Fields that must be digits and dots."""
    whole: tuple[int, ...] = ()
    """Fields that must be whole numbers."""


HALVES = (5, 6, 7, 9, 10, 11)
ROW_READERS = {
    "microsoft/superbenchmark": Demands(whole=(0,), numbers=(-8, -7, -6, -4, -3, -2)),
    "NVIDIA/cloudai": Demands(fields=13, numbers=(0, *HALVES)),
    "check of aws-ofi-nccl": Demands(numbers=(-2,)),
    "validator of rccl-tests for DCUs": Demands(fields=13, whole=(0, 1, 4, 8, 12), numbers=HALVES),
    "tuner of RCCL": Demands(whole=(0, 1, 4, 8, 12), numbers=HALVES),
    "summary of logs with the totals of both #wrong": Demands(whole=(0, 8, 12), numbers=HALVES),
    "fit of latency and rate": Demands(fields=13, whole=(0, 1, 4), digits=HALVES),
    "production test framework": Demands(whole=(0, 1), numbers=(-8, -7, -6, -5, -4, -3, -2, -1)),
}
"""As they were in November 2026. nccl-tests itself has no number in place for alltoall and sendrecv."""


def runs_of_all() -> list[Run]:
    return [
        run_of(*(row(op, size, 25 + size / 2e5) for size in SIZES))
        for op in collectives.NAMES
        if op != "ping_pong"
    ]


@pytest.mark.parametrize("name", ROW_READERS)
@pytest.mark.parametrize("run", [*runs_of_all(), BOTH], ids=lambda run: run.measurements[0].op)
def test_every_row_is_what_a_reader_demands(name: str, run: Run) -> None:
    demands, found = ROW_READERS[name], cells_of(run)
    unchecked = (12, -1) if run.measurements[0].op in nccl_tests.ONLY_OUT_OF_PLACE else ()
    assert len(found) == len(SIZES)
    for fields in found:
        assert len(fields) == (demands.fields or 13)
        assert [fields[at] for at in unchecked] == ["N/A" for _ in unchecked]
        for places, form in (
            (demands.whole, r"-?\d+"),
            (demands.digits, r"[\d.]+"),
            (demands.numbers, r"[\d.]+(e[+-]?\d+)?"),
        ):
            assert [
                fields[at] for at in places if at not in unchecked and not re.fullmatch(form, fields[at])
            ] == []


MEAN_READERS: dict[str, Callable[[str], str]] = {
    "Azure/azurehpc-health-checks": lambda text: next(
        line for line in text.splitlines() if "bandwidth" in line
    ).split()[5],
    "FlagOpen/FlagPerf": lambda text: next(
        line for line in text.splitlines() if "# Avg bus bandwidth" in line
    ).split()[-1],
    "facebookresearch/gcm": lambda text: re.findall(r"[\d.]+", text[text.index("Avg bus bandwidth") :])[0],
    "checks of CSCS": lambda text: re.findall(r"Avg bus bandwidth\s*:\s*(\S+)", text)[0],
}


@pytest.mark.parametrize("name", MEAN_READERS)
@pytest.mark.parametrize("run", [ALL_REDUCE, BOTH], ids=["in place", "both"])
def test_every_reader_finds_the_mean(name: str, run: Run) -> None:
    """Whatever a finding above the table says."""
    notes = (finding(message="the bandwidth is low, and a check FAILED: Avg bus bandwidth : 1"),)
    text = text_of(replace(run, findings=notes))
    measured = [each.busbw_bytes_per_s / 1e9 for each in run.measurements]
    assert float(MEAN_READERS[name](text)) == pytest.approx(sum(measured) / len(measured), rel=1e-5)
    assert "FAILED" not in text


def test_the_words_of_the_heading_stand_nowhere_else() -> None:
    notes = (finding(message="left out: no out-of-place form of it, nor an in-place one"),)
    lines = text_of(replace(ALL_REDUCE, findings=notes)).splitlines()
    assert sum("in-place" in line or "out-of-place" in line for line in lines) == 1


def test_without_checks() -> None:
    run = run_of(*(replace(each, wrong=None) for each in BOTH.measurements))
    assert {(fields[8], fields[12]) for fields in cells_of(run)} == {("N/A", "N/A")}
    assert "validation: 0" in text_of(run)


def test_a_run_that_did_not_complete_has_no_result() -> None:
    assert "Avg bus bandwidth" not in text_of(failing_run())
    assert text_of(good_run()).count("Avg bus bandwidth") == 4
    stopped = replace(good_run(), verdict=Verdict(status="incomplete", exit_code=3))
    assert text_of(stopped).count("Avg bus bandwidth") == 3
    document = json.loads(json_of(failing_run()))
    assert "average_bus_bandwidth" not in document
    assert "out_of_bounds" not in document
    assert any(error.startswith("rank-died: ") for error in document["errors"])


def test_a_run_without_measurements() -> None:
    assert "#" in text_of(empty_run())
    assert json.loads(json_of(empty_run()))["results"] == []


def test_the_json_of_version_3() -> None:
    document = json.loads(json_of(replace(ALL_REDUCE, info=info(backend="nccl", backend_version="2.29.7"))))
    assert list(document) == [
        "version", "start_time", "args", "env", "nccl_version", "config", "results", "out_of_bounds",
        "average_bus_bandwidth", "errors", "end_time", "nccltool",
    ]  # fmt: skip
    assert (document["version"], document["env"], document["nccl_version"]) == (3, [], 22907)
    assert document["args"][0] == "all_reduce_perf"
    assert document["start_time"] == "2025-01-02 03:04:05"
    assert document["out_of_bounds"] == {"count": 0, "okay": "true"}
    result = document["results"][0]
    assert (result["size"], result["count"], result["type"], result["redop"], result["root"]) == (
        1024, 256, "float", "sum", "    -1"
    )  # fmt: skip
    assert result["in_place"].keys() == {"time", "alg_bw", "bus_bw", "nwrong"}
    assert result["out_of_place"] == result["in_place"] | {"measured": False}
    assert document["config"]["blocking_collectives"] == "false"
    assert len(document["config"]["devices"]) == 4


@pytest.mark.parametrize(("replayed", "graph"), [(True, 1), (False, 0), (None, 0)])
def test_whether_graphs_were_replayed(replayed: bool | None, graph: int) -> None:
    run = replace(ALL_REDUCE, info=info(cuda_graph=replayed))
    assert f" graph: {graph} " in text_of(run)
    assert json.loads(json_of(run))["config"]["graph"] == graph


def test_several_operations_are_a_list() -> None:
    documents = json.loads(json_of(good_run()))
    assert [document["args"][0] for document in documents] == [
        "all_reduce_perf", "all_gather_perf", "all_gather_perf", "ping_pong_perf"
    ]  # fmt: skip


# The way back.

HOSTS = ("alpha", "beta", "gamma-17.example", "d")


@st.composite
def runs(draw: st.DrawFn) -> Run:
    hosts = HOSTS[: draw(st.integers(1, 4))]
    world_size = max(draw(st.integers(2, 40)), len(hosts))
    dtype = draw(st.sampled_from(sorted(ELEMENT_SIZE)))
    cadence: Cadence = draw(st.sampled_from(["stream", "isolated"]))
    rows: list[Measurement] = []
    for op in draw(st.lists(st.sampled_from(collectives.NAMES), min_size=1, max_size=3, unique=True)):
        placements = draw(st.sampled_from([["in-place"], ["out-of-place"], ["out-of-place", "in-place"]]))
        for size in sorted(draw(st.sets(st.integers(1, 10**7), min_size=1, max_size=3))):
            for placement in placements:
                us = draw(st.floats(0.01, 1e9))
                wrong = draw(st.sampled_from([None, 0, 0, 3, 999_999]))
                count = draw(st.sampled_from([1, 20, 5000]))
                each = row(op, size * 16 * world_size, us, world_size, dtype=dtype, placement=placement)
                rows.append(replace(each, cadence=cadence, wrong=wrong, iterations=count))
    return run_of(
        *rows,
        info=info(
            hosts=hosts,
            world_size=world_size,
            nodes=len(hosts),
            backend=draw(st.sampled_from(["nccl", "gloo"])),
            backend_version=draw(st.sampled_from(["2.29.7", None])),
            emulated=draw(st.booleans()),
        ),
    )


def halves(run: Run, text: str) -> list[tuple[importers.Report, importers.Row, importers.Half]]:
    """What was measured, as it is read again, with what was said about the world."""
    reports = importers.read(text.encode(), "again", Told())
    for report in reports:
        assert [each.code for each in checks.findings(report, Told()) if each.code != "wrong-data"] == []
        assert (report.world_size, report.hosts) == (run.info.world_size, run.info.hosts)
        assert (report.backend, report.backend_version) == (run.info.backend, run.info.backend_version)
        assert (report.emulated, report.cadence) == (run.info.emulated, run.measurements[0].cadence)
    return [
        (report, row, half) for report in reports for row in report.rows for half in row.halves if half.is_measured
    ]


@given(runs(), st.sampled_from(["nccl-tests", "nccl-tests-json"]))
def test_the_same_numbers_come_back(run: Run, form: str) -> None:
    found = halves(run, renderer(form)(run))
    for wanted, (report, row, half) in zip(run.measurements, found, strict=True):
        assert (report.op, row.bytes, row.count, row.dtype) == (
            wanted.op,
            wanted.bytes,
            wanted.count,
            wanted.dtype,
        )
        assert (row.reduce_op, half.placement) == (wanted.reduce_op, wanted.placement)
        assert (half.wrong, half.iterations) == (wanted.wrong, wanted.iterations)
        for printed, value in (
            (half.time, wanted.time_s.mean * 1e6),
            (half.algbw, wanted.algbw_bytes_per_s / 1e9),
            (half.busbw, wanted.busbw_bytes_per_s / 1e9),
        ):
            assert math.isclose(printed.value, value, rel_tol=1e-9, abs_tol=printed.half * (1 + 1e-9))


@given(st.lists(runs(), min_size=1, max_size=3))
def test_several_runs_in_one_text(several: list[Run]) -> None:
    text = views.joined(several, "nccl-tests")
    tests = importers.read(text.encode(), "again", Told())
    assert [test.op for test in tests] == [table.op for run in several for table in nccl_tests.tables(run)]
