"""Changes, intervals and verdicts of a comparison in words. Pure.

Percent and factors are of bus bandwidth, so that `50 % slower` and `2.0x slower` are the same change.
"""

import math

from nccltool.compare.result import Comparable, ComparedRow, Comparison, Effect
from nccltool.core.units import format_bytes

WORDS: dict[Comparable, str] = {
    "worse": "WORSE",
    "better": "better",
    "same": "same",
    "cannot-tell": "cannot tell",
}
FACTOR_FROM = 2.0
"""From here on a factor says more than percent: 99.3 % slower is 143x slower."""
_LARGEST = 1_000_000
_NO_CHANGE = 0.0005
"""What 0.0 % stands for."""


def amount(change: float) -> str:
    """How far from 0 a change of bus bandwidth is: -0.018 is `1.8 %`, -0.993 is `143x`."""
    factor = 1 + change if change > 0 else 1 / max(1 + change, 1e-9)
    if factor < FACTOR_FROM:
        return f"{abs(change) * 100:.1f} %"
    if factor > _LARGEST:
        return f"over {_LARGEST:,}x"
    return f"{factor:.1f}x" if factor < 9.95 else f"{float(f'{factor:.3g}'):,.0f}x"


def size(effect: Effect) -> float:
    """How large a change is, be it slower or faster: the logarithm of its factor."""
    return abs(math.log1p(max(effect.change, -1 + 1e-12)))


def _direction(change: float) -> str:
    return "slower" if change < 0 else "faster"


def changed(change: float) -> str:
    """`143x slower`, `1.8 % faster`, `no change`."""
    return "no change" if abs(change) < _NO_CHANGE else f"{amount(change)} {_direction(change)}"


def span(low: float, high: float) -> str:
    """The smaller change first: `90x to 210x slower`, `12 % slower to 3 % faster`."""
    if abs(low) < _NO_CHANGE or abs(high) < _NO_CHANGE or low < 0 < high:
        return f"{changed(low)} to {changed(high)}"
    near, far = (high, low) if high < 0 else (low, high)
    return f"{amount(near)} to {amount(far)} {_direction(near)}"


def with_interval(effect: Effect) -> str:
    """`143x slower (95 % CI 90x to 210x)`."""
    between = span(effect.low, effect.high)
    if effect.low > _NO_CHANGE or effect.high < -_NO_CHANGE:
        between = between.removesuffix(f" {_direction(effect.change)}")
    return f"{changed(effect.change)} (95 % CI {between})"


def row_name(row: ComparedRow) -> str:
    of = f" in {row.key.of_group}" if row.key.of_group else ""
    return f"{row.key.op} at {format_bytes(row.key.bytes)}{of}"


def headline(comparison: Comparison) -> str:
    """The verdict in one line, with the change that it rests on."""
    count = len(comparison.rows)
    rows = f"{count} row{'' if count == 1 else 's'}"
    word = WORDS[comparison.outcome].upper()
    effect, where = _decisive(comparison)
    if comparison.outcome == "cannot-tell":
        return f"{word}: {where}: {effect.reason}"
    if comparison.outcome == "same":
        margin = f"within the margin of {comparison.margin * 100:.3g} %"
        return f"{word}: {where}: {with_interval(effect)}, {margin} ({rows})"
    deciding = sum(row.effect.outcome == comparison.outcome for row in comparison.rows)
    of_rows = f"; {deciding} of {rows} {_direction(effect.change)}" if count > 1 else ""
    return f"{word}: {where}: {with_interval(effect)}{of_rows}"


def _decisive(comparison: Comparison) -> tuple[Effect, str]:
    """The effect that decided: that of the typical row, else the largest of the rows."""
    overall = comparison.overall
    if overall and overall.outcome == comparison.outcome:
        return overall, "typical row"
    row = max(
        (row for row in comparison.rows if row.effect.outcome == comparison.outcome),
        key=lambda row: size(row.effect),
    )
    return row.effect, row_name(row)


def why_unknown(effect: Effect, margin: float, alpha: float) -> str:
    """Why a change cannot be told."""
    between = f"the interval from {span(effect.low, effect.high)}"
    if effect.low < 0 < effect.high:
        return f"{between} includes no change"
    if effect.p_adjusted <= alpha:
        return f"{changed(effect.change)}, and {between} includes the margin of {margin * 100:.3g} %"
    return (
        f"{with_interval(effect)}, but equal runs differ this much with a probability of "
        f"{effect.p_adjusted:.2g}, more than {alpha:g}"
    )
