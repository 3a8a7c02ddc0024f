"""Where a log that is appended to begins again: the same job was started once more behind a run that had ended.

What a launcher, a server, or a rank prints once at its start tells so, where it has printed it before. A terminal
in which somebody tries one command after another is no such log: what differs between its commands counts
(trials.py). Nor is a job whose launcher restarts the ranks by itself: that is the same run.
"""

import re

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.job_course import DECISIVE
from nccltool.triage.timeline.model import Timeline

_NUMBERS = re.compile(r"\b(?:0x)?[\da-f]*\d[\da-f]*\b")
_LONGEST = 120
_AGAIN = "torchrun.restart"
_WORKS = (
    *("job.progress", "job.serving", "bench.row", "nccl.init-complete", "nccl.rings"),
    *DECISIVE,
)
_FROM_OUTSIDE = frozenset(
    {"job.cancelled", "job.time-limit", "job.preempted", "job.sigterm", "job.sigusr", "job.interrupted"}
    | {"job.terminated", "torchrun.sigterm", "torchrun.exit", "torchrun.failed", "job.exit", "app.echo"}
)
"""How a scheduler or a user ends a run, and what its processes say of that."""


def decides(whole: Timeline, last: Timeline) -> bool:
    """Whether the last run says what is wrong now: it got to work, or nothing of the job ended those before it.

    A run that could not even start may suffer from what an earlier one left behind."""
    if whole.contrasts:
        return False  # somebody compared them
    if last.has(*_WORKS):
        return True
    before = [event for event in whole.troubles() if event not in last.troubles()]
    return last.failed and all(event.kind in _FROM_OUTSIDE for event in before)


class Reruns:
    """Follows the starts in one log."""

    def __init__(self) -> None:
        self._starts: set[str] = set()
        self._commands: set[str] = set()
        self._processes: dict[tuple[str | None, int | None], int] = {}
        """Host and rank -> the process that it was."""
        self._has_ended = False
        self._by_hand = False

    def begins(self, event: LogEvent) -> bool:
        """Whether a run begins with this event behind one that ended."""
        if event.role in ("failure", "echo") or event.kind in DECISIVE:
            self._has_ended = True
        elif event.kind == _AGAIN:
            self._has_ended = False
        elif event.kind in ("shell.command", "shell.note"):
            return self._is_again(self._commands, event, may_differ=False)
        elif event.kind == "job.begun":
            return self._is_again(self._starts, event, may_differ=True)
        elif event.kind == "nccl.init-start" and event.pid is not None:
            return self._is_another(event, event.pid)
        return False

    def _is_again(self, known: set[str], event: LogEvent, may_differ: bool) -> bool:
        """Whether the log has had this line; a command that it has not had is somebody's next try."""
        told = _NUMBERS.sub("#", event.text[:_LONGEST])
        is_known = told in known
        known.add(told)
        self._by_hand = self._by_hand or (self._has_ended and not is_known and not may_differ)
        return is_known and self._begin()

    def _is_another(self, event: LogEvent, pid: int) -> bool:
        """Whether this rank is another process than it was before."""
        before = self._processes.setdefault((event.host, event.rank), pid)
        self._processes[event.host, event.rank] = pid
        return before != pid and self._begin()

    def _begin(self) -> bool:
        if not self._has_ended or self._by_hand:
            return False
        self._has_ended = False
        self._processes.clear()
        return True
