"""Has the hosts of a run that ends in trouble call each other again, unless the culprit was seen."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nccltool.core.findings import Finding
from nccltool.launch import blame, broken_paths, events, finding_kinds
from nccltool.launch.instructions import Instruction
from nccltool.launch.meeting import Meeting
from nccltool.launch.path_check import PathCheck
from nccltool.launch.run_state import RunState

_NETWORK_ECHOES = (finding_kinds.NODE_MISSING, finding_kinds.RDZV_UNREACHABLE, finding_kinds.LEADER_GONE)
"""What nodes say that do not reach each other."""
_OF_THE_RUN = (finding_kinds.DEADLINE, finding_kinds.RUN_DIR_FULL)
"""What ends a run whatever the network is like."""


@dataclass(slots=True)
class PathWatch:
    """Of a run whose nodes the runner can ask."""

    state: RunState
    meeting: Meeting
    explained: Sequence[Finding]
    """Why nodes ended, as their launcher tells; grows."""
    broken: Sequence[Finding]
    """Those of them that tell of a broken connection only; grows."""
    tell: Callable[[Instruction], None]
    check: PathCheck | None = None

    def hear(self, event: events.Reached | events.HalfOpen) -> None:
        """What a node tells of its calls, before the start or again."""
        if self.check is not None:
            self.check.hear(event)
        elif isinstance(event, events.Reached) and self.meeting.going is None:
            self.meeting.hear(event)

    def know(self, now: float) -> bool:
        """Whether it is known which hosts still reach each other, where ranks can only tell that they wait or lost
        each other. The hosts are asked first."""
        if self._was_seen(now):
            return True
        if self.check is None:
            self.check = self.meeting.path_check(now)
            if self.check is not None:
                self.tell(self.check.ask)
        return self.check is None or self.check.is_done(now)

    def explain(self, found: Sequence[Finding], culprit: Finding | None) -> Sequence[Finding]:
        """Paths that are broken are why ranks waited for or lost each other, and nodes did not come."""
        if self.check is None or self.is_certain(culprit):
            return [*found, *([culprit] if culprit else [])]
        paths = self.check.found
        those = {(one.subject.kind, one.subject.name) for one in paths.findings}
        if those <= {("host", one.subject.name) for one in self.broken} and self.broken:
            return [*found, *([culprit] if culprit else [])]  # their connections broke for the same reason
        echoes = [one for one in found if one.is_error and (one.kind in _NETWORK_ECHOES or one in self.broken)]
        rest = [one for one in found if not (paths.findings and one in echoes)]
        lost = [one for one in self.broken if paths.findings]
        return [*rest, *broken_paths.explained(culprit, paths, lost)]

    def is_certain(self, culprit: Finding | None) -> bool:
        """Whether what ends the run is known without asking who reaches whom."""
        is_of_run = culprit is not None and culprit.kind in _OF_THE_RUN
        return is_of_run or self._was_seen(time.monotonic())

    def _was_seen(self, now: float) -> bool:
        """Whether the culprit was seen, or has said so itself."""
        state = self.state
        told = any(finding.is_error and finding.kind not in _NETWORK_ECHOES for finding in state.findings)
        ended = any(finding not in self.broken for finding in self.explained)
        return told or ended or blame.is_certain(state, now - state.progress_at)
