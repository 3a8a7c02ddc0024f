"""JUDGE numbers against what a suite or a platform expects of them. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nccltool.core.units import format_bytes
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.suite import Expectation
from nccltool.probe import late_rank
from nccltool.probe.result import Measurement, Run


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredNumber:
    """A number that was measured, and what it could be instead."""

    value: float | None
    what: str
    could_be: tuple[float, float] | None = None
    """From, to; None = it is neither noisy nor limited by launches."""
    doubt: str = "too noisy"
    """Why it could be something else."""
    rank: int | None = None
    why_unknown: str = ""


def numbers(
    ran: StageRun, run: Run, wanted: Expectation, others: Sequence[Expectation] = ()
) -> Iterator[CheckOutcome]:
    """`others`: what else is expected of the run. A floor among them stands in for a limit that is not known."""
    measured = list(_numbers(run, wanted))
    why = _not_for(run, wanted)
    if measured and not why:
        for check, number in measured:
            yield _share_of_nothing(ran, run, wanted, check, number, others) or against(ran, wanted, check, number)
        return
    if not why and (ran.endings or run.verdict.exit_code == 130):
        why = "the run did not complete"
    if not why:
        at = f" at {format_bytes(wanted.size)}" if wanted.size is not None else ""
        why = f"the suite does not measure {wanted.of or 'anything'}{at}"
    yield ran.outcome(wanted.check(), "skip", reason=why, **_stated(wanted))


def _not_for(run: Run, wanted: Expectation) -> str:
    """Why something is not expected of this run; '' = it is."""
    if wanted.backend and run.info.backend not in (None, wanted.backend):
        return f"applies only to {wanted.backend}, but this run used {run.info.backend}"
    if run.info.emulated and (wanted.nodes is not None or wanted.metric == "share_of_limit"):
        return "applies only to real hosts, but these nodes are processes on one host"
    if wanted.nodes is not None and wanted.nodes != run.info.nodes:
        return f"applies to {wanted.nodes} nodes"
    ranks = wanted.ranks_per_node
    if ranks is not None and run.info.world_size not in (None, ranks * (run.info.nodes or 1)):
        return f"applies to {ranks} ranks per node"
    return ""


_FIND_CULPRIT = "find the slow node or link with the stage pairs, or with nccltool pairs on these hosts"
"""Numbers of all nodes together do not tell which of them is slow."""
_FLOORS = ("busbw", "algbw")
_ASK_FOR_ONE = 'set a floor to check instead: metric = "busbw" in a suite or platform file'


def _share_of_nothing(
    ran: StageRun,
    run: Run,
    wanted: Expectation,
    check: Check,
    number: MeasuredNumber,
    others: Sequence[Expectation],
) -> CheckOutcome | None:
    """What comes of a share of a limit that is not known; None = it is known, or something else is asked."""
    if wanted.metric != "share_of_limit" or number.value is not None:
        return None
    for one in others:
        is_floor = one.metric in _FLOORS and one.low is not None and one.of in ("", check.of)
        if is_floor and not _not_for(run, one) and any(_numbers(run, one)):
            at = f" at {format_bytes(one.size)}" if one.size is not None else ""
            reason = f"{number.why_unknown}; {one.metric} {one.text}{at} is checked instead"
            return ran.outcome(check, "skip", reason=reason, required=False, **_stated(wanted))
    return against(ran, wanted, check, replace(number, why_unknown=f"{number.why_unknown}; {_ASK_FOR_ONE}"))


def _numbers(run: Run, wanted: Expectation) -> Iterator[tuple[Check, MeasuredNumber]]:
    """(check, number) for each operation that is asked for, at the size that is asked for."""
    rows = [row for row in run.measurements if wanted.of in ("", row.op)]
    if wanted.metric == "late" and not wanted.of:
        if rows:
            yield wanted.check(), _lateness(rows, run)
        return
    for op in dict.fromkeys(row.op for row in rows):
        mine = [row for row in rows if row.op == op and wanted.size in (None, row.bytes)]
        if mine and wanted.metric == "late":
            yield wanted.check().about(op, wanted.size), _lateness(mine, run)
        elif mine:
            row = max(mine, key=lambda one: one.bytes)
            yield wanted.check().about(op, wanted.size), _number(row, wanted, run)


def _lateness(rows: Sequence[Measurement], run: Run) -> MeasuredNumber:
    """How long the others wait for one rank in at least half of the rows; 0 where none is so late so often."""
    arrivals = [row.late_ranks for row in rows]
    if all(late is None for late in arrivals):
        return MeasuredNumber(value=None, what="", why_unknown="arrivals were not measured")
    ranks = run.info.world_size or 1
    found = [one for one in late_rank.over_rows(arrivals, ranks) if one.is_typical]
    worst = max(found, key=lambda one: one.late_s, default=None)
    if worst is None:
        return MeasuredNumber(value=0.0, what="")
    return MeasuredNumber(
        value=worst.late_s, what=f"late in {worst.share_text('the only row', 'rows')}", rank=worst.rank
    )


def _number(row: Measurement, wanted: Expectation, run: Run) -> MeasuredNumber:
    what = f"{row.op} at {format_bytes(row.bytes)}"
    limit = row.limit_busbw_bytes_per_s
    share = 1.0
    match wanted.metric:
        case "time":
            low, high = row.time_s.seconds_between
            number = MeasuredNumber(value=row.time_s.seconds, what=what)
            return _doubted(number, row, low, high, fabric=(0.0, high))
        case "share_of_limit" if limit is None:
            why = f"the limit of the links is unknown: {run.info.limit_unknown_reason or 'nothing limits it'}"
            return MeasuredNumber(value=None, what=what, why_unknown=why)
        case "share_of_limit":
            share = 1 / limit if limit else 0.0
        case "algbw":
            share = row.algbw_bytes_per_s / row.busbw_bytes_per_s if row.busbw_bytes_per_s else 0.0
    low, high = (bound * share for bound in row.busbw_interval)
    number = MeasuredNumber(value=row.busbw_bytes_per_s * share, what=what)
    return _doubted(number, row, low, high, fabric=(low, math.inf))


def _doubted(
    number: MeasuredNumber, row: Measurement, low: float, high: float, fabric: tuple[float, float]
) -> MeasuredNumber:
    """`fabric`: what that of the fabric could be where launches took the time, which it is not to blame for."""
    if row.launch_limited:
        return replace(number, could_be=fabric, doubt="limited by launch overhead")
    return replace(number, could_be=(low, high)) if row.noisy else number


def against(ran: StageRun, wanted: Expectation, check: Check, number: MeasuredNumber) -> CheckOutcome:
    """A number held against what was expected of it."""
    value = number.value
    words: dict[str, Any] = {"measured": value, **_stated(wanted)}
    unknown = partial(ran.outcome, check, "unknown", required=wanted.severity == "fail", **words)
    if value is None:
        return unknown(reason=number.why_unknown)
    bounds = [bound for bound in (wanted.low, wanted.high) if bound is not None]
    if number.could_be and any(number.could_be[0] < bound < number.could_be[1] for bound in bounds):
        return unknown(reason=f"{number.what} cannot be distinguished from the limit: {number.doubt}")
    if (wanted.high is None or value <= wanted.high) and (wanted.low is None or value >= wanted.low):
        return ran.outcome(check, "pass", **words)
    words["reason"] = number.what
    if number.rank is not None:
        words["reason"] += f": the others waited for rank {number.rank}"
        if host := ran.host_of_rank(number.rank):
            words |= {"host": host, "reason": f"{words['reason']} on {host}"}
    elif len({*ran.hosts}) > 1:
        words["remedy"] = _FIND_CULPRIT
    return ran.outcome(check, wanted.severity, **words)


def _stated(wanted: Expectation) -> dict[str, str]:
    return {"expected": wanted.text, "unit": wanted.unit, "source": wanted.provenance}
