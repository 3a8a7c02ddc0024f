"""What a preflight is doing, for whoever watches it: stages that ended, the current one, the time that is left."""

import time
from dataclasses import dataclass, field

from nccltool.core.findings import CheckStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class StageEnd:
    """A stage that is over."""

    stage: str
    result: CheckStatus
    seconds: float
    reason: str = ""
    """Why it was not run; empty = it was."""


@dataclass(kw_only=True, slots=True)
class Activity:
    """Changed as the preflight goes on."""

    planned: int = 0
    """How many stages are wanted."""
    started_at: float = field(default_factory=time.monotonic)
    ends: list[StageEnd] = field(default_factory=list)
    stage: str = ""
    """The current one; empty = none."""
    step: str = ""
    """What it does now, where it says so."""
    ends_at: float = 0.0
    """When the current stage should end on healthy nodes."""
    later_s: float = 0.0
    """How long the stages after it take there."""

    def begin(self, stage: str, about_s: float, later_s: float) -> None:
        self.stage, self.step = stage, ""
        self.ends_at, self.later_s = time.monotonic() + about_s, later_s

    def end(self, ended: StageEnd) -> None:
        self.ends.append(ended)
        self.stage = self.step = ""

    def left_s(self, now: float) -> float:
        """An estimate for healthy nodes; of a stage that takes longer, nothing is left."""
        return max(self.ends_at - now, 0.0) + self.later_s if self.stage else 0.0
