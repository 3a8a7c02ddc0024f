"""How much a measurement differs between two sides, and how sure that is. Pure.

A run counts as one observation: its iterations follow one another and share connections, paths and neighbours, so
that their own spread says little about the next run (Hunold and Carpen-Amarie 2016, Reproducible MPI Benchmarking
is Still Not as Easy as You Think). Each run gives one number a row, the logarithm of its mean time; sides are
compared by the medians over their runs, in units of the spread between runs of one side.

That spread is the standard deviation pooled over both sides, or the typical one of all rows if that is larger: a
few runs can be close together by chance. It is not made robust: a run that was disturbed shows what runs can be
like. With few runs single iterations count as well (how far the faster side could go up, and that the slower one
could lose its tail), and how far rows moved against the trend. Rows that moved with the trend are no measure of
noise: a fault that adds 50 ms to a call moves small sizes much more than large ones.

How likely a difference between equals is: Student's t. Over many rows Holm's procedure holds the chance of a
single false row under alpha; half of alpha goes to the typical row, which finds what moves all rows a little. An
effect that is real must also be larger than the margin to count; `same` needs the interval to lie within the
margin (two one-sided tests, Schuirmann 1987).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from statistics import median

from nccltool.compare import change_text, significance
from nccltool.compare.paired_rows import PairedRow
from nccltool.compare.result import Comparable, Effect
from nccltool.core.statistics import MIN_FOR_INTERVAL

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
"""So many rows must have moved before there is a trend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareSettings:
    """What the user may change."""

    margin: float = MARGIN
    alpha: float = ALPHA
    ignore: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tested:
    """A change, and how sure it is."""

    change: float
    error: float
    sigma: float
    freedom: float
    chance: float
    """Of so large a change between equals, this row alone."""


def effects_of(
    pairs: Sequence[PairedRow], runs_a: int, runs_b: int, settings: CompareSettings
) -> tuple[list[Effect], Effect | None]:
    """(of every row, of the typical row): the latter is None for a single row, which says it itself."""
    tested = _tested(pairs)
    whole = _whole(pairs, runs_a, runs_b) if len(pairs) > 1 else None
    share = 0.5 if whole else 1.0
    adjusted = [min(1.0, chance / share) for chance in significance.holm([one.chance for one in tested])]
    effects = [
        _untold(test, pair.fewest, settings) if pair.fewest is not None and _has_too_few(pair) else one
        for pair, test, one in zip(pairs, tested, map(_effect, tested, adjusted, repeat(settings)), strict=True)
    ]
    return effects, _effect(whole, min(1.0, whole.chance / 0.5), settings) if whole else None


def _has_too_few(pair: PairedRow) -> bool:
    """Whether a row has so few iterations that they say nothing of their spread, and the runs do not either."""
    few = pair.fewest is not None and pair.fewest < MIN_FOR_INTERVAL
    return few and pair.freedom < MEASURED_FREEDOM


def _tested(pairs: Sequence[PairedRow]) -> list[_Tested]:
    """Every row by itself."""
    own = [pair.own or 0.0 for pair in pairs if pair.freedom >= MEASURED_FREEDOM]
    typical = median(own) if own else 0.0
    uneven = _against_the_trend(pairs)
    tests = [_tested_with(pair, max(pair.own or 0.0, typical), _assumed(pair, uneven)) for pair in pairs]
    return [
        replace(test, chance=1.0) if _has_too_few(pair) else test for pair, test in zip(pairs, tests, strict=True)
    ]


def _assumed(pair: PairedRow, uneven: float) -> float:
    """The spread between runs, as far as it shows without many of them."""
    return max(pair.single(UNKNOWN_SPREAD), uneven, LEAST_SPREAD)


def _tested_with(pair: PairedRow, measured: float, assumed: float) -> _Tested:
    """By the spread that was measured, by the one that is assumed where runs are few, or by the worse of both."""
    tests = []
    if pair.freedom >= MEASURED_FREEDOM:
        tests.append(_test(pair, measured, pair.freedom))
    if pair.freedom < PLENTY_FREEDOM or 1 in (len(pair.a), len(pair.b)):
        sigma = assumed if pair.freedom >= MEASURED_FREEDOM else max(assumed, pair.own or 0.0)
        tests.append(_test(pair, sigma, significance.NORMAL))
    widest = max(tests, key=lambda test: test.error * significance.critical(0.05, test.freedom))
    return replace(widest, chance=max(test.chance for test in tests))


def _against_the_trend(pairs: Sequence[PairedRow]) -> float:
    """The spread between runs that would explain how far rows moved against the trend; 0 = too few rows to say.

    Of equals half of the rows do, and the sum of their squares is half of all.
    """
    if len(pairs) < ENOUGH_ROWS:
        return 0.0
    trend = median(pair.change for pair in pairs)
    against = sum(pair.change**2 for pair in pairs if pair.change * trend < 0)
    return math.sqrt(2 * against / len(pairs)) / median(pair.error_factor for pair in pairs)


def _test(pair: PairedRow, sigma: float, freedom: float) -> _Tested:
    error = pair.error_factor * max(sigma, 1e-9)
    chance = significance.two_sided(pair.change / error, freedom)
    return _Tested(change=pair.change, error=error, sigma=sigma, freedom=freedom, chance=chance)


def _whole(pairs: Sequence[PairedRow], runs_a: int, runs_b: int) -> _Tested | None:
    """The typical row, of those that all runs have; None = there is none.

    Of each run only how far its rows are off on the whole counts: they may all move together.
    """
    all_runs = (runs_a, runs_b)
    full = [pair for pair in pairs if (len(pair.a), len(pair.b)) == all_runs and not _has_too_few(pair)]
    if not full:
        return None
    uneven = _against_the_trend(pairs)
    off_a = [median(pair.a[run] - _middle(pair) for pair in full) for run in range(runs_a)]
    off_b = [median(pair.b[run] - _middle(pair) for pair in full) for run in range(runs_b)]
    whole = replace(pairs[0], a=tuple(off_a), b=tuple(off_b))
    return _tested_with(whole, whole.own or 0.0, median(_assumed(pair, uneven) for pair in full))


def _middle(pair: PairedRow) -> float:
    return (median(pair.a) + median(pair.b)) / 2


def _effect(test: _Tested, adjusted: float, settings: CompareSettings) -> Effect:
    change, low, high = _interval(test, settings)
    significant = adjusted <= settings.alpha
    outcome: Comparable = "cannot-tell"
    if significant and change <= -settings.margin:
        outcome = "worse"
    elif significant and change >= settings.margin:
        outcome = "better"
    elif -settings.margin < low and high < settings.margin:
        outcome = "same"
    effect = Effect(
        outcome=outcome,
        change=change,
        low=low,
        high=high,
        p_adjusted=adjusted,
        spread=test.sigma,
        spread_is_measured=test.freedom != significance.NORMAL,
    )
    if outcome == "cannot-tell":
        return replace(effect, reason=change_text.why_unknown(effect, settings.margin, settings.alpha))
    return effect


def _untold(test: _Tested, fewest: int, settings: CompareSettings) -> Effect:
    """Nothing is known of how the iterations spread: no distance between the sides can be told from chance."""
    change, low, high = _interval(test, settings)
    return Effect(
        outcome="cannot-tell",
        change=change,
        low=low,
        high=high,
        p_adjusted=1.0,
        spread=test.sigma,
        spread_is_measured=False,
        reason=f"too few iterations: {fewest}, at least {MIN_FOR_INTERVAL} needed",
    )


def _interval(test: _Tested, settings: CompareSettings) -> tuple[float, float, float]:
    """(change, low, high) of bus bandwidth."""
    half = test.error * significance.critical(2 * settings.alpha, test.freedom)
    change, low, high = (math.expm1(min(test.change + off, 700.0)) for off in (0.0, -half, half))
    return change, low, high
