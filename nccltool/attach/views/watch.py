"""A watch for people: a line when something changes, and a summary at the end."""

from collections.abc import Iterator
from datetime import datetime

from nccltool.attach.watch.incidents import JobIncident
from nccltool.attach.watch.loop import JobWatch, WatchTick
from nccltool.core.text import counted, escaped

_SAYS = {"opened": "alert", "worse": "alert", "closed": "over"}


def line(tick: WatchTick) -> str:
    """One tick."""
    event = f"{_SAYS[tick.event]}: " if tick.event else ""
    parts = [f"{_clock(tick.at_s)} {event}{tick.message}"]
    if tick.progress.step is not None:
        parts.append(f"step {tick.progress.step}")
    if tick.progress.step_s is not None:
        parts.append(f"{tick.progress.step_s:.3g} s a step")
    return escaped(", ".join(parts))


def summary(watch: JobWatch, elapsed_s: float) -> str:
    """What was seen in all."""
    return "\n".join(_summary(watch, elapsed_s)) + "\n"


def _summary(watch: JobWatch, elapsed_s: float) -> Iterator[str]:
    total = sum(watch.states.values())
    shares = ", ".join(f"{state} {count / total:.0%}" for state, count in watch.states.most_common())
    yield f"watched for {_length(elapsed_s)}, {counted(total, 'tick')}" + (f": {shares}" if shares else "")
    for one in watch.log.incidents:
        yield escaped(f"    {_span(one)} {one.message}")
    if not watch.log.incidents:
        yield "    no incident"
    if (cost := watch.budget.share) is not None:
        yield f"    watching took {cost:.3%} of a core for each rank"


def _span(one: JobIncident) -> str:
    return f"{_clock(one.began_s)} to {'now' if one.ended_s is None else _clock(one.ended_s)}:"


def _clock(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s):%H:%M:%S}"


def _length(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
