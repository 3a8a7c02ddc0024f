"""JUDGE two sets of runs against each other, noise-aware. Pure.

A run counts as one observation: its iterations follow one another and share connections, paths and neighbours, so
that their own spread says little about the next run (Hunold and Carpen-Amarie 2016, Reproducible MPI Benchmarking
is Still Not as Easy as You Think). Each run gives one number a row, the logarithm of its median time; sides are
compared by the medians over their runs, in units of the spread between runs of one side.

That spread is the standard deviation pooled over both sides, or the typical one of all rows if that is larger: a
few runs can be close together by chance. It is not made robust: a run that was disturbed shows what runs can be
like. With few runs the spread of single iterations counts as well, which is the larger of the two wherever it was
looked at, and how unevenly the rows of a run moved.

How likely a difference between equals is: Student's t. Over many rows Holm's procedure holds the chance of a
single false row under alpha; half of alpha goes to the typical row, which finds what moves all rows a little. An
effect that is real must also be larger than the margin to count; `same` needs the interval to lie within the
margin (two one-sided tests, Schuirmann 1987).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import median

from nccltool import __version__
from nccltool.compare import run_samples, significance
from nccltool.compare.result import (
    Against,
    Baseline,
    BaselineRow,
    Comparable,
    ComparedRow,
    Comparison,
    Difference,
    Effect,
    RowKey,
    RowSample,
    RunSample,
    Side,
)
from nccltool.core.command_line import this_command
from nccltool.core.errors import BadInput
from nccltool.core.findings import CheckStatus, Finding, Subject, Verdict
from nccltool.core.run_directory import new_id
from nccltool.core.run_info import RunInfo
from nccltool.core.units import format_bytes
from nccltool.probe.result import Measurement

MARGIN = 0.03
"""The finest step at which runbooks in use begin to warn (3.5 % under the usual value; Azure), rounded down."""
ALPHA = 0.025
"""At most one of 40 comparisons of equals is called different."""
MEASURED_FREEDOM = 4
"""From here on (3 runs against 3, or 5 against 1) the runs say themselves how far they spread: Student's t of
fewer is so wide that nothing would ever be found."""
PLENTY_FREEDOM = 6
"""Until here (4 against 4), and wherever a side is a single run, what single iterations show counts as well. Loads
of a shared machine come and go: of 3 runs against 3, all of one side can meet them by chance."""
LEAST_SPREAD = 0.01
"""Of runs whose spread is not measured: no cluster in the sources of docs/commands/compare.md repeats better."""
UNKNOWN_SPREAD = 0.10
"""The same where single iterations are not known either: a runbook in use (Azure) takes +-20 % from run to run as
transient, which is read as two standard deviations."""
ENOUGH_ROWS = 5
"""So many rows must have moved before it can be said how unevenly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What the user may change."""

    margin: float = MARGIN
    alpha: float = ALPHA
    ignore: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    """A row of both sides: logarithms of times, one a run."""

    key: RowKey
    a: tuple[float, ...]
    b: tuple[float, ...]
    busbw_a: float
    busbw_b: float
    within: float | None
    """Spread of single iterations in a usual run, of the side where it is larger; None = not known."""

    @property
    def change(self) -> float:
        """Logarithm of the bus bandwidth of B over that of A."""
        return median(self.a) - median(self.b)

    @property
    def freedom(self) -> int:
        return len(self.a) + len(self.b) - 2

    @property
    def error_factor(self) -> float:
        """Standard error of the change, for a spread of 1."""
        return math.sqrt(significance.median_variance(len(self.a)) + significance.median_variance(len(self.b)))

    @property
    def own(self) -> float | None:
        """The spread between runs as these runs show it."""
        return significance.pooled_sigma(self.a, self.b)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tested:
    """A change, and how sure it is."""

    change: float
    error: float
    sigma: float
    freedom: float
    chance: float
    """Of so large a change between equals, this row alone."""


def circumstances() -> RunInfo:
    """Those of a comparison that is made now."""
    return RunInfo(
        id=new_id(),
        started=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        command=this_command(),
        nccltool=__version__,
        torch=None,
        backend=None,
        backend_version=None,
        backend_reason=None,
        nodes=None,
        emulated=False,
        world_size=None,
        hosts=(),
    )


def compare(info: RunInfo, a: Side, b: Side, settings: Settings) -> Comparison:
    """B against A. Raises BadInput when they are not comparable; it names the keys that differ."""
    ignored = _comparable(a, b, settings.ignore)
    pairs, only_a, only_b, statistic = _paired(a, b, settings.ignore)
    tested = _tested(pairs)
    chances = [one.chance for one in tested]
    whole = _whole(pairs, len(a.runs), len(b.runs)) if len(pairs) > 1 else None
    share = 0.5 if whole else 1.0
    adjusted = [min(1.0, chance / share) for chance in significance.holm(chances)]
    effects = [_effect(*both, settings) for both in zip(tested, adjusted, strict=True)]
    overall = _effect(whole, min(1.0, whole.chance / 0.5), settings) if whole else None
    rows = tuple(_row(pair, effect) for pair, effect in zip(pairs, effects, strict=True))
    outcome = _outcome(overall, rows, settings.margin)
    return Comparison(
        info=info,
        verdict=_verdict(outcome),
        outcome=outcome,
        a=a,
        b=b,
        overall=overall,
        rows=rows,
        only_a=only_a,
        only_b=only_b,
        ignored=ignored,
        statistic="median" if statistic else "mean",
        margin=settings.margin,
        alpha=settings.alpha,
        notes=tuple(_notes(a, b, pairs, bool(statistic))),
        findings=_findings(a, b, overall, rows) if outcome == "worse" else (),
    )


def _comparable(a: Side, b: Side, ignore: Collection[str]) -> tuple[Difference, ...]:
    """The differences that are ignored. Raises BadInput for those that are not."""
    found: dict[Difference, None] = {}
    first = a.runs[0]
    for side in (a, b):
        for run in side.runs:
            differs = run_samples.differences(first.circumstances, run.circumstances)
            found.update(dict.fromkeys(differs))
            if bad := [difference for difference in differs if run_samples.matters(difference, ignore)]:
                _refuse(bad, first, run)
    return tuple(found)


def _refuse(bad: Sequence[Difference], first: RunSample, other: RunSample) -> None:
    texts = [f"{difference.key} ({difference.a}; {difference.b})" for difference in bad]
    known = [difference for difference in bad if run_samples.matters(difference, {run_samples.UNKNOWN})]
    words = [difference.key for difference in known] + ([run_samples.UNKNOWN] if len(known) < len(bad) else [])
    raise BadInput(
        f"{first.id} and {other.id} are not comparable: {', '.join(texts)}",
        f"compare runs of one kind; all the same: {' '.join(f'--ignore {word}' for word in words)}",
    )


_Row = tuple[RowSample, ...]
"""A measurement of all runs of a side."""
_Rows = dict[tuple[object, ...], _Row]


def _paired(
    a: Side, b: Side, ignore: Collection[str]
) -> tuple[list[_Pair], tuple[RowKey, ...], tuple[RowKey, ...], bool]:
    """(rows of both sides, those of A only, those of B only, whether all have medians). Raises BadInput."""
    ours, theirs = _rows(a, ignore), _rows(b, ignore)
    both = [key for key in ours if key in theirs]
    if not both:
        _nothing_in_common(a, b, ours, theirs)
    used = [row for key in both for row in (*ours[key], *theirs[key])]
    statistic = all(row.median_s for row in used)
    pairs = [_pair(ours[key], theirs[key], statistic) for key in both]
    return (
        pairs,
        tuple(ours[key][0].key for key in ours if key not in theirs),
        tuple(theirs[key][0].key for key in theirs if key not in ours),
        statistic,
    )


def _rows(side: Side, ignore: Collection[str]) -> _Rows:
    """The rows of a side over its runs."""
    found: dict[tuple[object, ...], dict[str, RowSample]] = {}
    for run in side.runs:
        for row in run.rows:
            of_runs = found.setdefault(run_samples.without(row.key, ignore), {})
            if run.id in of_runs:
                raise BadInput(
                    f"run {run.id} has several rows of {row.key.op} at {format_bytes(row.key.bytes)}"
                    + (" that differ only in what --ignore names" if of_runs[run.id].key != row.key else ""),
                    "ignore less, or leave this run out",
                )
            of_runs[run.id] = row
    return {key: tuple(of_runs.values()) for key, of_runs in found.items()}


def _nothing_in_common(a: Side, b: Side, ours: _Rows, theirs: _Rows) -> None:
    for side, rows in ((a, ours), (b, theirs)):
        if not rows:
            raise BadInput(f"{side.name} has no measurements to compare", "nccltool runs shows what a run has")
    keys = [[row[0].key for row in side.values()] for side in (ours, theirs)]
    what = "; ".join(run_samples.row_differences(*keys)) or "no row has all of its keys on both sides"
    raise BadInput(
        f"{a.name} and {b.name} have no measurement in common: {what}",
        "measure the same on both sides; --ignore takes dtype, reduce-op, placement and cadence",
    )


def _pair(ours: _Row, theirs: _Row, by_median: bool) -> _Pair:
    times = [[_time(row, by_median) for row in side] for side in (ours, theirs)]
    within = [_within(side) for side in (ours, theirs)]
    return _Pair(
        key=ours[0].key,
        a=tuple(map(math.log, times[0])),
        b=tuple(map(math.log, times[1])),
        busbw_a=_busbw(ours, median(times[0])),
        busbw_b=_busbw(theirs, median(times[1])),
        within=None if None in within else max(spread for spread in within if spread is not None),
    )


def _within(rows: _Row) -> float | None:
    known = [row.spread for row in rows if row.spread is not None]
    return median(known) if len(known) == len(rows) else None


def _time(row: RowSample, by_median: bool) -> float:
    return row.median_s if by_median and row.median_s else row.mean_s


def _busbw(rows: _Row, time_s: float) -> float:
    """At this time; size and factor are the same in all rows."""
    return rows[0].busbw_bytes_per_s * rows[0].mean_s / time_s


def _tested(pairs: Sequence[_Pair]) -> list[_Tested]:
    """Every row by itself."""
    own = [pair.own or 0.0 for pair in pairs if pair.freedom >= MEASURED_FREEDOM]
    typical = median(own) if own else 0.0
    uneven = _unevenness(pairs)
    return [_tested_with(pair, max(pair.own or 0.0, typical), _assumed(pair, uneven)) for pair in pairs]


def _assumed(pair: _Pair, uneven: float) -> float:
    """The spread between runs, as far as it shows without many of them."""
    return max(UNKNOWN_SPREAD if pair.within is None else pair.within, uneven, LEAST_SPREAD)


def _tested_with(pair: _Pair, measured: float, assumed: float) -> _Tested:
    """By the spread that was measured, by the one that is assumed where runs are few, or by the worse of both."""
    tests = []
    if pair.freedom >= MEASURED_FREEDOM:
        tests.append(_test(pair, measured, pair.freedom))
    if pair.freedom < PLENTY_FREEDOM or 1 in (len(pair.a), len(pair.b)):
        sigma = assumed if pair.freedom >= MEASURED_FREEDOM else max(assumed, pair.own or 0.0)
        tests.append(_test(pair, sigma, significance.NORMAL))
    widest = max(tests, key=lambda test: test.error * significance.critical(0.05, test.freedom))
    return replace(widest, chance=max(test.chance for test in tests))


def _unevenness(pairs: Sequence[_Pair]) -> float:
    """The spread between runs that would explain how differently the rows moved; 0 = too few rows to say."""
    if len(pairs) < ENOUGH_ROWS:
        return 0.0
    sigma = significance.robust_sigma([pair.change for pair in pairs]) or 0.0
    return sigma / median(pair.error_factor for pair in pairs)


def _test(pair: _Pair, sigma: float, freedom: float) -> _Tested:
    error = pair.error_factor * max(sigma, 1e-9)
    chance = significance.two_sided(pair.change / error, freedom)
    return _Tested(change=pair.change, error=error, sigma=sigma, freedom=freedom, chance=chance)


def _whole(pairs: Sequence[_Pair], runs_a: int, runs_b: int) -> _Tested | None:
    """The typical row, of those that all runs have; None = there is none.

    Of each run only how far its rows are off on the whole counts: they may all move together.
    """
    full = [pair for pair in pairs if (len(pair.a), len(pair.b)) == (runs_a, runs_b)]
    if not full:
        return None
    uneven = _unevenness(pairs)
    off_a = [median(pair.a[run] - _middle(pair) for pair in full) for run in range(runs_a)]
    off_b = [median(pair.b[run] - _middle(pair) for pair in full) for run in range(runs_b)]
    whole = replace(pairs[0], a=tuple(off_a), b=tuple(off_b))
    return _tested_with(whole, whole.own or 0.0, median(_assumed(pair, uneven) for pair in full))


def _middle(pair: _Pair) -> float:
    return (median(pair.a) + median(pair.b)) / 2


def _effect(test: _Tested, adjusted: float, settings: Settings) -> Effect:
    half = test.error * significance.critical(2 * settings.alpha, test.freedom)
    change, low, high = (_expm1(test.change + off) for off in (0.0, -half, half))
    significant = adjusted <= settings.alpha
    outcome: Comparable = "cannot-tell"
    reason = ""
    if significant and change <= -settings.margin:
        outcome = "worse"
    elif significant and change >= settings.margin:
        outcome = "better"
    elif -settings.margin < low and high < settings.margin:
        outcome = "same"
    elif low < 0 < high:
        reason = f"between {low:+.1%} and {high:+.1%}: too noisy for a margin of {settings.margin:.1%}"
    elif abs(change) < settings.margin:
        reason = f"about the margin of {settings.margin:.1%}"
    else:
        reason = "among so many rows one of equals can look like this"
    return Effect(
        outcome=outcome,
        change=change,
        low=low,
        high=high,
        p_adjusted=adjusted,
        spread=test.sigma,
        spread_is_measured=test.freedom != significance.NORMAL,
        reason=reason,
    )


def _expm1(exponent: float) -> float:
    return math.expm1(min(exponent, 700.0))


def _row(pair: _Pair, effect: Effect) -> ComparedRow:
    return ComparedRow(
        key=pair.key,
        runs_a=len(pair.a),
        runs_b=len(pair.b),
        time_a_s=math.exp(median(pair.a)),
        time_b_s=math.exp(median(pair.b)),
        busbw_a_bytes_per_s=pair.busbw_a,
        busbw_b_bytes_per_s=pair.busbw_b,
        effect=effect,
    )


def _outcome(overall: Effect | None, rows: Sequence[ComparedRow], margin: float) -> Comparable:
    """Of all rows together. A worse one is enough; a large change that cannot be told leaves all of it open."""
    effects = [row.effect for row in rows]
    every = [overall, *effects] if overall else effects
    outcomes = {effect.outcome for effect in every}
    if "worse" in outcomes:
        return "worse"
    if any(effect.outcome == "cannot-tell" and effect.change <= -margin for effect in every):
        return "cannot-tell"
    if "better" in outcomes:
        return "better"
    open_ones = any(effect.outcome == "cannot-tell" and abs(effect.change) >= margin for effect in every)
    return every[0].outcome if not open_ones else "cannot-tell"


def _verdict(outcome: Comparable) -> Verdict:
    if outcome == "worse":
        return Verdict(status="fail", exit_code=1)
    if outcome == "cannot-tell":
        return Verdict(status="unknown", exit_code=4)
    return Verdict(status="pass", exit_code=0)


def _notes(a: Side, b: Side, pairs: Sequence[_Pair], by_median: bool) -> list[str]:
    found = [text for side in (a, b) for run in side.runs for text in run.left_out]
    if {run.id for run in a.runs} & {run.id for run in b.runs}:
        found.append("A and B have runs in common: what they share cannot differ")
    if not by_median:
        found.append("times are means over iterations: a source keeps no medians")
    if any(pair.freedom < MEASURED_FREEDOM for pair in pairs):
        found.append(
            f"{len(a.runs)} against {len(b.runs)} run{'' if len(b.runs) == 1 else 's'}: how far runs spread is "
            "not measured, it is taken as what single iterations and rows show; take 3 against 3, or 5 against 1"
        )
    hosts = [sorted({host for run in side.runs for host in run.hosts}) for side in (a, b)]
    if hosts[0] != hosts[1]:
        found.append(f"hosts differ: A {_some(hosts[0])}; B {_some(hosts[1])}")
    unknown = [name for name in run_samples.OF_A_RUN if getattr(a.runs[0].circumstances, name) is None]
    if unknown:
        found.append(f"not known on either side: {', '.join(name.replace('_', '-') for name in unknown)}")
    return found


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "not known"


def _findings(a: Side, b: Side, overall: Effect | None, rows: Sequence[ComparedRow]) -> tuple[Finding, ...]:
    slower = sorted((row for row in rows if row.effect.outcome == "worse"), key=lambda row: row.effect.change)
    parts = [f"the typical row by {-overall.change:.1%}"] if overall and overall.outcome == "worse" else []
    parts += [
        f"{row.key.op} at {format_bytes(row.key.bytes)} by {-row.effect.change:.1%}"
        f" ({row.effect.low:+.1%} to {row.effect.high:+.1%})"
        for row in slower
    ]
    return (
        Finding(
            code="slower",
            severity="error",
            subject=Subject(kind="run", name=b.name),
            message=f"{b.name} is slower than {a.name}: {parts[0]}",
            evidence=tuple(parts[1:6]),
            remedy="repeat both in turns to confirm; then look at what changed: nccltool doctor, nccltool triage",
        ),
    )


def summary(baseline: Baseline) -> tuple[BaselineRow, ...]:
    """What a baseline expects of each measurement."""
    found = _rows(Side(name=baseline.name, runs=baseline.runs), ())
    return tuple(_summarised(rows) for rows in found.values())


def _summarised(rows: _Row) -> BaselineRow:
    by_median = all(row.median_s for row in rows)
    times = [_time(row, by_median) for row in rows]
    middle = median(times)
    return BaselineRow(
        key=rows[0].key,
        runs=len(rows),
        time_s=middle,
        busbw_bytes_per_s=_busbw(rows, middle),
        spread=significance.robust_sigma([math.log(time) for time in times]),
        least_s=min(times),
        most_s=max(times),
    )


_STATUS: Mapping[Comparable, CheckStatus] = {
    "worse": "fail",
    "same": "pass",
    "better": "pass",
    "cannot-tell": "unknown",
}


def against(
    baseline: Baseline, info: RunInfo, measurements: Sequence[Measurement], settings: Settings
) -> tuple[Against, ...]:
    """Each measurement of a run held against a baseline; never raises: what is not comparable is unknown."""
    run = run_samples.of_measurements(info, measurements)
    source = f"baseline {baseline.name} of {len(baseline.runs)} run{'' if len(baseline.runs) == 1 else 's'}"
    a, b = Side(name=source, runs=baseline.runs), Side(name=run.id, runs=(run,))
    try:
        rows = {row.key: row for row in compare(info, a, b, settings).rows}
        reason = f"{source} has no such measurement"
    except BadInput as error:
        rows, reason = {}, error.message
    status: CheckStatus = "skip" if rows else "unknown"
    return tuple(_against(row, rows.get(run_samples.key_of(row)), source, status, reason) for row in measurements)


def _against(
    row: Measurement, compared: ComparedRow | None, source: str, status: CheckStatus, reason: str
) -> Against:
    effect = compared.effect if compared else None
    if row.wrong:
        status, reason = "unknown", "its data is wrong"
    return Against(
        key=run_samples.key_of(row),
        status=_STATUS[effect.outcome] if effect else status,
        measured_busbw_bytes_per_s=compared.busbw_b_bytes_per_s if compared else row.busbw_bytes_per_s,
        expected_busbw_bytes_per_s=compared.busbw_a_bytes_per_s if compared else None,
        change=effect.change if effect else None,
        low=effect.low if effect else None,
        high=effect.high if effect else None,
        reason=effect.reason if effect else reason,
        source=source,
    )
