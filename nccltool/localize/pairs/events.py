"""What the ranks of a measurement of pairs say in the event stream (nccltool.launch.events)."""

from typing import ClassVar

from nccltool.launch.events import Event
from nccltool.localize.encounter import Encounter
from nccltool.probe.events import MeasuredWorld, WrongData


class Encountered(Event, frozen=True, tag="encountered"):
    """Rank 0: what came of a meeting; several of one that measured each direction or rail. The first rank of the
    meeting says it before, so that it is known even if rank 0 hangs."""

    round: int
    members: tuple[str, ...]
    """Names; the sender first where only one sent."""
    busbw_bytes_per_s: float | None
    samples: int = 0
    """Calls behind the number."""
    is_directed: bool = False
    rail: str | None = None
    reason: str | None = None
    """Why there is no number."""

    @property
    def encounter(self) -> Encounter:
        """As the judge takes it."""
        return Encounter(
            members=self.members,
            busbw_bytes_per_s=self.busbw_bytes_per_s,
            round=self.round,
            is_directed=self.is_directed,
            rail=self.rail,
            reason=self.reason,
        )


class RoundEnded(Event, frozen=True, tag="round-ended"):
    """Rank 0: all of a round has been said. The next begins when the runner answers that it is on disk."""

    awaits_saving: ClassVar[bool] = True

    step: int
    """Its number, from 0 on."""
    meetings: int
    missing: int
    """Meetings of which nobody has said anything."""


class RoundsCut(Event, frozen=True, tag="rounds-cut"):
    """There are more rounds to measure, but the next one may not end before the deadline."""

    left_s: float
    """Until the deadline."""
    round_s: float
    """What the next one may take."""


OF_PAIRS: tuple[type[Event], ...] = (MeasuredWorld, Encountered, RoundEnded, RoundsCut, WrongData)
