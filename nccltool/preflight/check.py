"""The checks of a suite: what identifies one. A stage declares its own; some are about an operation and a size."""

from dataclasses import dataclass, field, replace
from typing import Literal

from nccltool.core.units import format_bytes

PAGE = "docs/runbooks/preflight.md"

CheckKind = Literal["plain", "presence", "completion", "data", "baseline"]
"""What it looks at, as far as verdicts ask. presence: a host came; completion: a run ended in order; data: faults
are named where they arrive; baseline: a number against earlier runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A check of a stage. Its text is its code, stable over runs: `across/all_reduce-busbw-64MiB`."""

    stage: str
    name: str = ""
    """A metric, a rule's code; empty = what `of` says, or the stage as a whole."""
    of: str = ""
    """Operation or strategy; empty = of none."""
    size: int | None = None
    kind: CheckKind = field(default="plain", compare=False)
    page: str = field(default="", compare=False)
    """Where more is written; empty = the page of what it found."""

    def __str__(self) -> str:
        return f"{self.stage}/{self.what}" if self.what else self.stage

    @property
    def what(self) -> str:
        """Its code without the stage."""
        size = "" if self.size is None else format_bytes(self.size).replace(" ", "")
        return "-".join(word for word in (self.of, self.name, size) if word)

    @property
    def is_stage(self) -> bool:
        """Whether it stands for its stage as a whole."""
        return not self.what

    def about(self, of: str, size: int | None = None) -> "Check":
        """The same of an operation or a strategy."""
        return replace(self, of=of, size=size)
