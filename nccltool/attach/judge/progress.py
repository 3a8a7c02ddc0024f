"""How fast a job goes: its steps, as its log tells them, and the data between its ranks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from nccltool.attach.judge.views import RankView, ends_of
from nccltool.attach.seen.job import HostLook, JobLook
from nccltool.attach.seen.process import SocketSeen
from nccltool.attach.seen.sources import StepLine, StepLog

SLOWER = 1.5
"""Steps are slower if the median of the recent ones is that many times the one before: jobs differ by 10 to 20 %
from step to step, and people call twice the time slow."""
_BEFORE, _RECENT = 6, 3
"""Steps that are compared, at least."""
_CUTS = 60
"""Places at which the steps may have become slower."""
_LEAST_BEFORE_S = 30.0
"""Of the steps before, and..."""
_LEAST_SLOWER_S = 60.0
"""...of the slower ones. Steps of a healthy job with different batches took 1.6 times as long for 50 s."""
_APART = 0.75
"""So many of the recent steps must be slower than so many of those before: a checkpoint is no change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedStep:
    """A step, from one line of a log to a later one."""

    seconds: float
    at_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobProgress:
    """What the log and the connections of a job show of its progress; None = they do not show it."""

    step: int | None = None
    """The newest."""
    step_s: float | None = None
    """Recent steps, median."""
    usual_step_s: float | None = None
    """Those before they became slower; None = they did not."""
    slower_since_s: float | None = None
    """How long ago that was."""
    advanced: bool | None = None
    """Whether the step rose between the samples."""
    source: str = ""
    """The log."""
    data_bytes_per_s: float | None = None
    """Sent between ranks, over TCP."""

    @property
    def is_slower(self) -> bool:
        return self.usual_step_s is not None


NO_PROGRESS = JobProgress()


def progress_of(look: JobLook, seen: Sequence[RankView]) -> JobProgress:
    found = [one for host in look.hosts for one in _of_host(host)]
    best = max(found, key=lambda one: (one.step_s is not None, one.advanced is True, one.step or 0), default=None)
    data = _data_bytes_per_s(seen)
    if best is None:
        return JobProgress(data_bytes_per_s=data)
    advanced = True if any(one.advanced for one in found) else best.advanced
    return JobProgress(
        step=best.step,
        step_s=best.step_s,
        usual_step_s=best.usual_step_s,
        slower_since_s=best.slower_since_s,
        advanced=advanced,
        source=best.source,
        data_bytes_per_s=data,
    )


def _of_host(host: HostLook) -> Iterator[JobProgress]:
    if not host.samples:
        return
    first, last = host.samples[0], host.samples[-1]
    before = {one.file: one for one in first.step_logs}
    for log in last.step_logs:
        earlier = before.get(log.file)
        step, then = _newest(log), None if earlier is None else _newest(earlier)
        rose = None if step is None or then is None or len(host.samples) < 2 else step - then
        times = tuple(_times(log.lines))
        place = _change(times)
        recent = times[place:] if place else times[-2 * _RECENT :]
        step_s = median(one.seconds for one in recent) if recent else None
        span_s = last.at_s - first.at_s
        if step_s is None and rose and rose > 0:
            step_s = span_s / rose
        silent_s = max(0.0, last.wall_s - log.changed_at_s)
        yield JobProgress(
            step=step,
            step_s=step_s,
            usual_step_s=median(one.seconds for one in times[:place]) if place else None,
            slower_since_s=_since(recent, silent_s) if place else None,
            advanced=None if rose is None else rose != 0,
            source=log.file,
        )


def _newest(log: StepLog) -> int | None:
    return next((one.step for one in reversed(log.lines) if one.step is not None), None)


def _times(lines: Sequence[StepLine]) -> Iterator[LoggedStep]:
    """The time of each step: as a line states it, or from the stamps of two lines."""
    last: StepLine | None = None
    for line in lines:
        if line.step_s is not None:
            yield LoggedStep(seconds=line.step_s, at_s=line.at_s)
        elif last is not None and (seconds := _between(last, line)) is not None:
            yield LoggedStep(seconds=seconds, at_s=line.at_s)
        if line.step is not None:
            last = line


def _between(first: StepLine, last: StepLine) -> float | None:
    if first.at_s is None or last.at_s is None or first.step is None or last.step is None:
        return None
    steps, seconds = last.step - first.step, last.at_s - first.at_s
    return seconds / steps if steps > 0 and seconds > 0 else None


def _change(times: Sequence[LoggedStep]) -> int:
    """The first step that was slower, with all that follow; 0 = there is none."""
    best, place = 0, 0
    if sum(one.seconds for one in times) < _LEAST_BEFORE_S + _LEAST_SLOWER_S:
        return 0
    for cut in range(_BEFORE, len(times) - _RECENT + 1, max(1, len(times) // _CUTS)):
        before = sorted(one.seconds for one in times[:cut])
        after = sorted(one.seconds for one in times[cut:])
        if sum(before) < _LEAST_BEFORE_S or sum(after) < _LEAST_SLOWER_S or not median(before):
            continue
        fast_end = before[int(_APART * (len(before) - 1))]
        slow_begin = after[int((1 - _APART) * (len(after) - 1))]
        if median(after) / median(before) < SLOWER or slow_begin <= fast_end:
            continue
        middle = (median(before) + median(after)) / 2
        apart = sum(one <= middle for one in before) + sum(one > middle for one in after)
        if apart > best:
            best, place = apart, cut
    return place


def _since(recent: Sequence[LoggedStep], silent_s: float) -> float:
    """From the stamps where there are any; otherwise all these steps together."""
    first, last = recent[0], recent[-1]
    if first.at_s is not None and last.at_s is not None and last.at_s >= first.at_s:
        return last.at_s - first.at_s + first.seconds + silent_s
    return sum(one.seconds for one in recent) + silent_s


def _data_bytes_per_s(seen: Sequence[RankView]) -> float | None:
    ends = ends_of(seen)
    rates = [rate for view in seen if (rate := _sent_per_s(view, ends)) is not None]
    return sum(rates) if rates else None


def _sent_per_s(view: RankView, ends: frozenset[tuple[str, str]]) -> float | None:
    if len(view.samples) < 2 or view.span_s <= 0:
        return None
    before = {_key(one): one.bytes_sent for one in view.samples[0].sockets or ()}
    grown = [
        one.bytes_sent - first
        for one in view.last.sockets or ()
        if (one.peer, one.local) in ends and one.bytes_sent is not None
        if (first := before.get(_key(one))) is not None and one.bytes_sent >= first
    ]
    return sum(grown) / view.span_s if grown else None


def _key(one: SocketSeen) -> tuple[str, str]:
    return one.local, one.peer
