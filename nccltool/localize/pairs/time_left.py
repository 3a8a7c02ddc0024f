"""Whether another round ends before the deadline, from the rounds before it. Pure."""

from dataclasses import dataclass

_MARGIN = 1.25
"""A round of the same pairs took up to a quarter longer than the slowest before it on two busy processors."""


@dataclass(slots=True)
class TimeLeft:
    """What rounds took so far, and how long the run may still take."""

    slowest_s: float = 0.0
    left_s: float | None = None
    """At the end of the last round; None: nobody said."""

    def note(self, round_s: float, left_s: float | None) -> None:
        """A round has ended, and its results are saved."""
        self.slowest_s, self.left_s = max(self.slowest_s, round_s), left_s

    @property
    def next_s(self) -> float:
        """What the next round may take."""
        return _MARGIN * self.slowest_s

    @property
    def is_enough(self) -> bool:
        """Whether it ends in time; of the first one nobody knows."""
        return self.left_s is None or self.next_s <= self.left_s
