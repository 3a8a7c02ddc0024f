"""JUDGE numbers against what a suite or a platform expects of them. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from nccltool.core.units import format_bytes
from nccltool.preflight.check import Check
from nccltool.preflight.result import CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.suite import Expectation
from nccltool.probe.result import Measurement, Run

_NO_LIMIT = "what the wires allow is not known"


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredNumber:
    """A number that was measured, and what it could be instead."""

    value: float | None
    low: float
    high: float
    noisy: bool
    what: str
    rank: int | None = None
    why_unknown: str = ""


def numbers(ran: StageRun, wanted: Expectation, ended: bool) -> Iterator[CheckOutcome]:
    """What a run measured, held against an expectation."""
    run = ran.run
    assert run is not None
    skip = partial(ran.outcome, wanted.check(), "skip", **stated(wanted))
    if wanted.backend and run.info.backend not in (None, wanted.backend):
        yield skip(reason=f"for {wanted.backend}, and this is {run.info.backend}")
        return
    if wanted.nodes is not None and wanted.nodes != run.info.nodes:
        yield skip(reason=f"for {wanted.nodes} nodes")
        return
    measured = list(_numbers(run, wanted))
    if not measured:
        at = f" at {format_bytes(wanted.size)}" if wanted.size is not None else ""
        absent = f"the suite does not measure {wanted.of or 'anything'}{at}"
        yield skip(reason="the run did not complete" if ended else absent)
    for check, number in measured:
        yield against(ran, wanted, check, number)


def _numbers(run: Run, wanted: Expectation) -> Iterator[tuple[Check, MeasuredNumber]]:
    """(check, number) for each operation that is asked for, at the size that is asked for."""
    rows = [row for row in run.measurements if wanted.of in ("", row.op)]
    if wanted.metric == "late" and not wanted.of:
        if rows:
            yield wanted.check(), _number(max(rows, key=lambda row: row.late_s or 0.0), wanted, run)
        return
    for op in dict.fromkeys(row.op for row in rows):
        mine = [row for row in rows if row.op == op and wanted.size in (None, row.bytes)]
        if mine:
            row = max(mine, key=lambda one: one.bytes)
            yield wanted.check().about(op, wanted.size), _number(row, wanted, run)


def _number(row: Measurement, wanted: Expectation, run: Run) -> MeasuredNumber:
    what = f"{row.op} at {format_bytes(row.bytes)}"
    low, high = row.busbw_interval
    limit = row.limit_busbw_bytes_per_s
    match wanted.metric:
        case "late":
            late = row.late_s or 0.0
            return MeasuredNumber(value=late, low=late, high=late, noisy=False, what=what, rank=row.late_rank)
        case "time":
            middle = row.time_s.median or row.time_s.mean
            fast, slow = row.time_s.ci95 or (middle, middle)
            return MeasuredNumber(value=middle, low=fast, high=slow, noisy=row.noisy, what=what)
        case "share_of_limit" if limit is None:
            reason = run.info.limit_unknown_reason or "nothing limits it"
            unknown = f"{_NO_LIMIT}: {reason}"
            return MeasuredNumber(value=None, low=0.0, high=0.0, noisy=False, what=what, why_unknown=unknown)
    share = {"share_of_limit": 1 / limit if limit else 0.0, "busbw": 1.0}.get(
        wanted.metric, row.algbw_bytes_per_s / row.busbw_bytes_per_s if row.busbw_bytes_per_s else 0.0
    )
    value = row.busbw_bytes_per_s * share
    return MeasuredNumber(value=value, low=low * share, high=high * share, noisy=row.noisy, what=what)


def against(ran: StageRun, wanted: Expectation, check: Check, number: MeasuredNumber) -> CheckOutcome:
    """A number held against what was expected of it."""
    required = wanted.severity == "fail"
    if number.value is None:
        return ran.outcome(check, "unknown", reason=number.why_unknown, required=required, **stated(wanted))
    bounds = [bound for bound in (wanted.low, wanted.high) if bound is not None]
    if number.noisy and any(number.low < bound < number.high for bound in bounds):
        reason = f"{number.what} cannot be told from it: too noisy"
        return ran.outcome(
            check, "unknown", measured=number.value, reason=reason, required=required, **stated(wanted)
        )
    if (wanted.high is None or number.value <= wanted.high) and (wanted.low is None or number.value >= wanted.low):
        return ran.outcome(check, "pass", measured=number.value, **stated(wanted))
    host = ran.host_of_rank(number.rank) if number.rank is not None else None
    who = ""
    if number.rank is not None:
        who = f": the others wait for rank {number.rank}" + (f" on {host}" if host else "")
    failed = ran.outcome(
        check, wanted.severity, measured=number.value, reason=f"{number.what}{who}", **stated(wanted)
    )
    return replace(failed, host=host) if host else failed


def stated(wanted: Expectation) -> dict[str, str]:
    """What an outcome says of an expectation."""
    return {"expected": wanted.text, "unit": wanted.unit, "source": wanted.provenance}
