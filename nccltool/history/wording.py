"""What the history says, in sentences, for every view and for a preflight. Pure."""

from collections.abc import Sequence

from nccltool.core.text import counted
from nccltool.core.units import format_gb_per_s, format_seconds
from nccltool.history.records import Series
from nccltool.history.result import Drift, RepeatOffence, VersionChange


def repeated(one: RepeatOffence) -> str:
    """`did not pass in 4 of 9 runs since 2026-11-03, in 3 of them on this host alone`."""
    text = f"did not pass in {one.times} of {counted(one.runs, 'run')} since {day(one.first)}"
    if one.alone and one.times == one.alone:
        text += ", each time on this host alone" if one.times > 1 else ", on this host alone"
    elif one.alone:
        text += f", in {one.alone} of them on this host alone"
    if one.since:
        text += f"; new then: {changed(one.since)}"
    return text if one.is_current else f"{text}; passed since {day(one.last)}"


def unseen(runs: int, first: str) -> str:
    """`new: not seen in 30 runs since 2026-11-03`."""
    return f"new: not seen in {counted(runs, 'run')} since {day(first)}"


def drifted(one: Drift) -> str:
    """`5.1 % lower since 2026-10-04 (95 % interval 4.2 % to 6.0 %; 2026-10-02 to 2026-10-06)`."""
    low, high = sorted(abs(ratio - 1) * 100 for ratio in (one.ratio_low, one.ratio_high))
    dates = f"between {day(one.earliest)} and {day(one.latest)}" if one.earliest != one.latest else "on that day"
    return (
        f"{shift(one)} (95 % interval {low:.1f} % to {high:.1f} %, "
        f"{dates}), {value(one.before, one.series)} to {value(one.after, one.series)}"
    )


def shift(one: Drift) -> str:
    """`5.1 % lower since 2026-10-04`."""
    word = "lower" if one.ratio < 1 else "higher"
    return f"{abs(one.ratio - 1) * 100:.1f} % {word} since {day(one.at)}"


def changed(changes: Sequence[VersionChange]) -> str:
    """`driver 550.54 -> 560.35, torch 2.8 -> 2.9`."""
    return ", ".join(f"{one.what} {one.before} -> {one.after}" for one in changes)


def value(number: float, series: Series) -> str:
    """A value with its unit."""
    return format_seconds(number) if series.unit == "s" else f"{format_gb_per_s(number)} GB/s"


def line_name(host: str, series: Series) -> str:
    """Whose, and of what: `n17 within/all_reduce-busbw-64MiB`."""
    return f"{host or 'all hosts'}: {series_name(series)}"


def series_name(series: Series) -> str:
    return f"{series.name} ({series.detail})" if series.detail else series.name


def day(moment: str) -> str:
    """The date of a time."""
    return moment[:10]
