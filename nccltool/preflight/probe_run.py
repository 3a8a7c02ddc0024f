"""Probes that stages run: what a suite says of them, and JUDGE what came of one. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from nccltool.compare.change_text import with_interval
from nccltool.compare.result import Against
from nccltool.core.units import format_bytes, format_gb_per_s
from nccltool.launch import start_costs
from nccltool.launch.start_costs import Started
from nccltool.preflight import expected_numbers, stage_run
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import PAGE, Check, CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.suite import Expectation
from nccltool.probe import collectives
from nccltool.probe.finding_kinds import LATE_RANK, WRONG_DATA
from nccltool.probe.result import Run

DATA = Check(stage="", name="data", kind="data")
BASELINE = Check(stage="", name="baseline", kind="baseline", page=f"{PAGE}#baseline")
_ROW_S = 0.3
"""What a row takes besides its budget: warm-up, check, who is late."""
_CALLS = 7
"""Of a row, besides those in its budget: to warm up, to estimate, to check. They count where calls are long."""
_SLOW_BYTES_PER_S = 10e9
"""Of a network of 100 Gb/s, and of PCIe without peer access: slower than most that GPUs have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbePart:
    """What is measured, and what must come out."""

    ops: Annotated[tuple[str, ...], toml.list_or_all(collectives.NAMES, every=collectives.IN_ALL)]
    sizes: Annotated[tuple[int, ...], toml.each(toml.size)]
    gpu_sizes: Annotated[tuple[int, ...], toml.each(toml.size)] = ()
    """Where every rank has a GPU; () = the same."""
    checks: Annotated[int, toml.whole(0, 1000)] = 1
    row_time: Annotated[float, toml.duration] = 0.2
    """Seconds that one row may take to become precise."""
    expect: tuple[Expectation, ...] = ()

    def sizes_on(self, gpus: bool) -> tuple[int, ...]:
        return self.gpu_sizes if gpus and self.gpu_sizes else self.sizes

    def command(self, gpus: bool) -> tuple[str, ...]:
        sizes = ",".join(format_bytes(size).replace(" ", "") for size in self.sizes_on(gpus))
        checks, budget = str(self.checks), f"{self.row_time:g}"
        return ("probe", "--op", ",".join(self.ops), "--sizes", sizes, "-c", checks, "--budget", budget)

    def about_s(self, ranks: Started) -> float:
        """How long a probe takes on healthy hosts."""
        sizes = self.sizes_on(ranks.gpus)
        rows = len(sizes) * (self.row_time + _ROW_S)
        if ranks.gpus:
            rows += start_costs.FIRST_CALL_S + _CALLS * sum(sizes) / _SLOW_BYTES_PER_S
        return start_costs.start_s(ranks) + len(self.ops) * rows


PART = toml.PartForm(
    ProbePart,
    ("busbw", "algbw", "time", "late", "share_of_limit"),
    ("op", collectives.NAMES),
    of_platforms=True,
)


def judged(ran: StageRun, part: ProbePart) -> Iterator[CheckOutcome]:
    """Whether a probe completed, its data were right, and its numbers are as expected."""
    yield from stage_run.completion(ran)
    if ran.run is None:
        return
    yield from _data(ran, ran.run, part)
    expects_late = any(wanted.metric == "late" for wanted in part.expect)
    yield from stage_run.others(ran, WRONG_DATA, *([LATE_RANK] if expects_late else []))
    for wanted in part.expect:
        yield from expected_numbers.numbers(ran, ran.run, wanted, part.expect)


def _data(ran: StageRun, run: Run, part: ProbePart) -> Iterator[CheckOutcome]:
    wrong = [finding for finding in run.findings if finding.kind is WRONG_DATA]
    rows = run.measurements
    total = float(sum(row.wrong or 0 for row in rows))
    for finding in wrong:
        yield ran.of_finding(DATA, finding, measured=total, unit="elements")
    if wrong:
        return
    if ran.endings:
        yield ran.outcome(DATA, "skip", reason="the run did not complete")
    elif not part.checks:
        yield ran.outcome(DATA, "skip", reason="the suite does not check data: checks = 0")
    elif not rows or any(row.wrong is None for row in rows):
        yield ran.outcome(DATA, "unknown", reason="not checked")
    else:
        yield ran.outcome(DATA, "pass", measured=0.0, unit="elements", expected="no wrong element")


def held_against(ran: StageRun, baseline: Sequence[Against]) -> Iterator[CheckOutcome]:
    """What earlier runs say of each number of this one."""
    for one in baseline:
        change = ""
        if found := one.effect:
            change = f"{with_interval(found)} compared with {one.source}"
        known = one.expected_busbw_bytes_per_s
        yield ran.outcome(
            BASELINE.about(one.key.op, one.key.bytes),
            one.status,
            measured=one.measured_busbw_bytes_per_s,
            unit="B/s",
            expected="" if known is None else f"{format_gb_per_s(known)} GB/s",
            source=one.source,
            reason=one.reason or change,
        )
