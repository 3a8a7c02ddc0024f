"""From the states of a job to incidents: one alert for each, however often it is seen. Pure."""

from dataclasses import dataclass, field, replace
from typing import Literal

from nccltool.attach.judge.result import JobState

_BAD = ("slow", "hung")
_GOOD = ("healthy", "starting", "ending")
_GOOD_LOOKS = 2
"""In a row, before an incident is over: a job that is slow is not slow at every moment."""
IncidentEvent = Literal["", "opened", "worse", "closed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobIncident:
    """A time in which a job was slow or hung."""

    state: JobState
    message: str
    began_s: float
    """Seconds since 1970."""
    ended_s: float | None = None


@dataclass(slots=True)
class IncidentLog:
    """The incidents so far; the last one may be open."""

    incidents: list[JobIncident] = field(default_factory=list)
    _good: int = 0

    @property
    def open(self) -> JobIncident | None:
        return self.incidents[-1] if self.incidents and self.incidents[-1].ended_s is None else None

    def end(self, at_s: float) -> IncidentEvent:
        """The job is no longer there."""
        now = self.open
        if now is None:
            return ""
        self.incidents[-1] = replace(now, ended_s=at_s)
        self._good = 0
        return "closed"

    def add(self, state: JobState, message: str, at_s: float) -> IncidentEvent:
        """What this look makes of it. Unknown neither begins nor ends one."""
        now = self.open
        if state in _BAD:
            self._good = 0
            if now is None:
                self.incidents.append(JobIncident(state=state, message=message, began_s=at_s))
                return "opened"
            if now.state == "slow" and state == "hung":
                self.incidents[-1] = replace(now, state=state, message=message)
                return "worse"
        elif state in _GOOD and now is not None:
            self._good += 1
            if self._good >= _GOOD_LOOKS:
                return self.end(at_s)
        return ""
