"""The ticks of a watch: a pulse each time, and a look with stacks where it is due or the budget allows it."""

from collections import Counter
from dataclasses import dataclass, field

from nccltool.attach.judge.progress import NO_PROGRESS, JobProgress
from nccltool.attach.judge.result import JobState
from nccltool.attach.report import AttachReport, report
from nccltool.attach.run import RanksGone
from nccltool.attach.seen.job import JobLook
from nccltool.attach.watch.budget import WatchBudget
from nccltool.attach.watch.incidents import IncidentEvent, IncidentLog
from nccltool.attach.watch.looker import JobLooker
from nccltool.attach.watch.pulse import JobPulse, pulse_of, with_earlier
from nccltool.attach.watch.stragglers import StragglerWatch
from nccltool.core.errors import NotJudged

_LONGEST_BACKOFF = 32
"""Ticks between looks at a job that only seems to be still, as one that waits for its GPU."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchTick:
    """What one tick found."""

    number: int
    at_s: float
    """Seconds since 1970."""
    state: JobState
    message: str
    event: IncidentEvent = ""
    report: AttachReport | None = None
    """Of the newest look with stacks."""
    is_new: bool = False
    """Whether that was taken now."""
    ranks: int = 0
    progress: JobProgress = NO_PROGRESS
    cost: float | None = None
    """Share of a core for each rank, so far."""


@dataclass(slots=True)
class JobWatch:
    """A job that is watched. `tick` is called every `every_s` seconds."""

    looker: JobLooker
    command: tuple[str, ...]
    every_s: float
    log: IncidentLog = field(default_factory=IncidentLog)
    budget: WatchBudget = field(default_factory=WatchBudget)
    stragglers: StragglerWatch = field(default_factory=StragglerWatch)
    ticks: int = 0
    states: "Counter[JobState]" = field(default_factory=Counter)
    _last: JobLook | None = None
    _pulse: JobPulse | None = None
    _report: AttachReport | None = None
    _state: JobState = "unknown"
    _message: str = ""
    _due: int = 0
    """Ticks until a job that seems to be still may be looked at again."""
    _backoff: int = 1

    def tick(self, at_s: float) -> WatchTick:
        """One tick. Raises BadInput, and at the first tick NotJudged."""
        try:
            now = self.looker.pulse()
        except NotJudged as error:
            if not self.ticks:
                raise
            is_over = isinstance(error, RanksGone)
            return self._gone(at_s, "the ranks are gone" if is_over else error.message, is_over)
        if self._last is not None and _pids(self._last) != _pids(now):
            self.stragglers.clear()
        pulse = pulse_of(self._last, now)
        if self.ticks:
            self.budget.wait(self.every_s, pulse.ranks)
        self.budget.spend(_cost_s(now))
        is_new = self._look(pulse, now)
        if not is_new:
            self._without_look(pulse, now)
        self._last, self._pulse = now, pulse
        return self._ended(at_s, is_new, pulse)

    def _look(self, pulse: JobPulse, now: JobLook) -> bool:
        """Whether the job was looked at with stacks, to tell its state."""
        self._due -= 1
        changed = self._pulse is None or self._pulse.strange != pulse.strange
        unclear = self._state == "unknown" or (self._state in ("slow", "hung") and not pulse.is_strange)
        if not self.ticks or ((changed or (pulse.is_strange and unclear)) and self._due <= 0):
            taken = self.looker.look(2)
            self.budget.spend(_cost_s(taken), 2 * pulse.ranks)
            self._report = self._judged(taken, now)
            self._state, self._message = self._report.answer.state, self._report.answer.message
            self._back_off(pulse)
            return True
        return False

    def _judged(self, taken: JobLook, now: JobLook) -> AttachReport:
        """The pulse before it makes the span longer, where the look alone is too short to tell."""
        found = report(taken, self.command)
        if found.answer.state == "unknown":
            found = report(with_earlier(self._last or now, taken), self.command)
        return found

    def _back_off(self, pulse: JobPulse) -> None:
        fruitless = pulse.is_strange and self._state == "healthy"
        self._backoff = min(2 * self._backoff, _LONGEST_BACKOFF) if fruitless else 1
        self._due = self._backoff

    def _without_look(self, pulse: JobPulse, now: JobLook) -> None:
        """A pulse tells only that a job moves again; and who is last, if there is time to see it."""
        if pulse.is_strange:
            return
        self._state, self._message = "healthy", "healthy: the ranks move"
        if self.budget.allows_stacks:
            taken = self.looker.look(1)
            self.budget.spend(_cost_s(taken), pulse.ranks)
            self.stragglers.add(taken)
        found = tuple(self.stragglers.found())
        if found:
            self._report = report(with_earlier(self._last or now, now), self.command, stragglers=found)
            self._state, self._message = self._report.answer.state, self._report.answer.message

    def _gone(self, at_s: float, why: str, is_over: bool) -> WatchTick:
        self._last = self._pulse = None
        self._state, self._message = "unknown", f"unknown: {why}"
        return self._ended(at_s, False, JobPulse(strange=frozenset()), is_over)

    def _ended(self, at_s: float, is_new: bool, pulse: JobPulse, is_over: bool = False) -> WatchTick:
        self.ticks += 1
        self.states[self._state] += 1
        return WatchTick(
            number=self.ticks,
            at_s=at_s,
            state=self._state,
            message=self._message,
            event=self.log.end(at_s) if is_over else self.log.add(self._state, self._message, at_s),
            report=self._report,
            is_new=is_new,
            ranks=pulse.ranks,
            progress=pulse.progress,
            cost=self.budget.share,
        )


def _pids(look: JobLook) -> set[tuple[str, int]]:
    return {(host.host, rank.pid) for host, rank in look.ranks()}


def _cost_s(look: JobLook) -> float:
    return sum(host.own_cpu_s for host in look.hosts)
