"""One time of a row, and the bandwidths made of it, whoever prints it: docs/concepts.md#one-number."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from nccltool.core import run_directory
from nccltool.core.statistics import STATISTIC
from nccltool.core.verdicts import Verdict
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.probe.document import to_json
from nccltool.probe.events import Result
from nccltool.probe.judge import below
from nccltool.probe.result import Measurement, Run
from nccltool.probe.state import measurement
from tests.conftest import Nccltool
from tests.samples import info, job
from tests.support.package import MODULES

RUN = "20250101T000000Z-0001"
TIMES_NS = (1_000_000,) * 9 + (11_480_000,)
"""A tail: the mean is 2.048 ms, the median half of it. 1 MiB over 4 ranks: 0.512 GB/s, and 0.768 on the bus."""


def _row() -> Measurement:
    said = Result(
        step=0,
        op="all_reduce",
        bytes=2**20,
        bytes_per_rank=2**20,
        count=2**18,
        dtype="float32",
        reduce_op="sum",
        placement="in-place",
        cadence="stream",
        wrong=0,
        noisy=False,
    )
    return measurement(said, TIMES_NS, world_size=4)


def _keep() -> None:
    run = Run(info=info(id=RUN), verdict=Verdict(status="pass", exit_code=0), measurements=(_row(),), findings=())
    folder = run_dir_of(run_directory.base_folder(), job(run_id=RUN))
    folder.finish(to_json(run))
    folder.close()


def _first(document: str, *keys: str) -> Any:
    found = json.loads(document)
    for key in keys:
        found = found[key]
    return found[0]


def _by_header(text: str, header: str) -> str:
    (row,) = csv.DictReader(io.StringIO(text))
    return row[header]


WORDS = ("runs", RUN, "--format")
AGAIN = ("compare", RUN, RUN, "--format")
PRINTED: tuple[tuple[tuple[str, ...], Callable[[str], object]], ...] = (
    ((*WORDS, "table"), lambda text: float(text.split("all_reduce")[1].split()[5])),
    ((*WORDS, "json"), lambda text: _first(text, "measurements")["busbw_bytes_per_s"] / 1e9),
    ((*WORDS, "csv"), lambda text: float(_by_header(text, "busbw_bytes_per_s")) / 1e9),
    ((*WORDS, "nccl-tests"), lambda text: float(text.split("Avg bus bandwidth")[1].split()[1])),
    ((*WORDS, "nccl-tests-json"), lambda text: json.loads(text)["average_bus_bandwidth"]["bandwidth"]),
    ((*AGAIN, "json"), lambda text: _first(text, "rows")["busbw_a_bytes_per_s"] / 1e9),
    ((*AGAIN, "csv"), lambda text: float(_by_header(text, "busbw_b_bytes_per_s")) / 1e9),
    (
        ("baseline", "show", "usual", "--format", "json"),
        lambda text: _first(text, "expected")["busbw_bytes_per_s"] / 1e9,
    ),
    (
        ("export", RUN),
        lambda text: float(text.split("\nnccltool_bus_bandwidth_bytes_per_second{")[1].split()[1]) / 1e9,
    ),
)


@pytest.mark.parametrize(("words", "busbw"), PRINTED)
def test_every_output_has_the_same_bandwidth(
    words: tuple[str, ...], busbw: Callable[[str], object], nccltool: Nccltool
) -> None:
    _keep()
    assert nccltool("baseline", "save", "usual", RUN).code == 0
    assert busbw(nccltool(*words).out) == pytest.approx(0.768, rel=1e-3)


@pytest.mark.parametrize(("least", "codes"), [(0.767, []), (0.769, ["busbw-low"])])
def test_the_threshold_is_compared_with_it(least: float, codes: list[str]) -> None:
    assert [found.code for found in below([_row()], ["all_reduce"], least)] == codes


def test_where_another_statistic_is_shown_it_is_named(nccltool: Nccltool) -> None:
    _keep()
    assert "tail: median 1 ms" in nccltool(*WORDS, "table", "-v").out
    assert f"time: {STATISTIC} over iterations" in nccltool(*WORDS, "table", "-v").out
    assert f"median of the runs' {STATISTIC}s" in nccltool(*AGAIN, "table", "-v").out


OTHERS = {
    "nccltool.core.statistics",  # defines them
    "nccltool.probe.views.base",  # how long a row was measured: the mean times its count
    "nccltool.probe.views.csv",  # columns with their names
    "nccltool.probe.views.table",  # "tail: median"
    "nccltool.monitor.metrics",  # labels with the quantile
    "nccltool.compare.run_samples",  # how much the time may vary
    "nccltool.report.sections.bandwidth",  # the spread at each size
    "nccltool.report.sections.iterations",  # columns with their names
    "nccltool.report.spread",  # a mark with its name
    "nccltool.train.tuning",  # what a setting hides: its ratio is one of medians
    "nccltool.train.judge",  # parts of a step, as a share of it: medians on both sides
}


def test_no_other_module_chooses_a_statistic() -> None:
    """Whoever needs a time asks for Stats.seconds."""
    chosen = {
        name
        for name, module in MODULES.items()
        if any(f"{word}.{what}" in module.text for word in ("time_s", "times") for what in ("mean", "median"))
    }
    assert chosen <= OTHERS
