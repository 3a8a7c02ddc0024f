"""What to start, and this command's part in it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from nccltool.launch.job import Job
from nccltool.launch.launchers.base import Launch

AnyJob = TypeVar("AnyJob", bound=Job, covariant=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaunchOrder(Generic[AnyJob]):
    """A job, and this command's part in it."""

    job: AnyJob
    leads: bool
    """Rank 0 is ours: we judge and show."""
    ranks_seen: int
    """Ranks whose events reach us; 0 = not known before remote nodes have met."""
    launch: Launch
    """How its nodes are started."""
    part: int = 0
    """Our rank in a launcher's job."""
    keep_going: bool = False
    """Measure with the hosts that can take part when others cannot."""
    max_restarts: int = 0
    """How often all ranks may be started anew after one has failed."""
