"""Notices that this command itself stood still: Ctrl-Z, SIGSTOP, a scheduler that suspends it.

The ranks go on meanwhile: what they said is not read yet, and some wait for this command in vain. None of that is
the fault of a rank or a host.
"""

from collections.abc import Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.core.units import format_seconds
from nccltool.launch import finding_kinds

LONG_LOOK_S = 1.0
"""Between two looks at the ranks. One takes 0.2 s; after more, what they said meanwhile is read before anyone is
called silent."""
LONGEST_LOOK_S = 5.0
"""Saving a result on a slow disk takes a second or two; more is a command that was stopped."""
AFTERMATH_S = 10.0
"""After it, how long ends of ranks are laid to it: they are noticed in a second, and heard out in five."""


class Standstill:
    """Times at which this command looked at what it waits for, and the last long gap between them."""

    def __init__(self, now: float) -> None:
        self._looked_at, self._length_s, self._ended_at = now, 0.0, 0.0

    def look(self, now: float) -> float:
        """Someone is about to ask whether anything has moved: how many seconds this command stood still before, so
        that what came meanwhile must be read first; 0.0 = it did not."""
        length_s, self._looked_at = now - self._looked_at, now
        if length_s > LONGEST_LOOK_S:
            self._length_s, self._ended_at = length_s, now
        return length_s if length_s > LONG_LOOK_S else 0.0

    def worked(self, now: float) -> None:
        """This command was busy until now, and not stopped."""
        self._looked_at = now

    def excused(self, findings: Sequence[Finding], who: str = "ranks") -> tuple[Finding, ...]:
        """One finding in place of those that blame a rank or host, where they come of it; `who` waited for us."""
        blaming = [finding for finding in findings if finding.is_error and finding.kind.retry]
        if not blaming or not self._length_s or self._looked_at - self._ended_at > AFTERMATH_S:
            return tuple(findings)
        own = finding_kinds.COMMAND_STOPPED.finding(
            subject=Subject(kind="run", name="this command"),
            message=f"nccltool was stopped for {format_seconds(self._length_s)}, "
            f"and its {who} gave up waiting for it",
            evidence=tuple(finding.message for finding in blaming),
            remedy="run it again and do not suspend it (Ctrl-Z, SIGSTOP) or its job",
        )
        return (*(finding for finding in findings if finding not in blaming), own)
