"""What to start, and this command's part in it."""

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from nccltool.launch.job import Job
from nccltool.launch.launchers.base import Launch, Where
from nccltool.launch.options import StartOptions

AnyJob = TypeVar("AnyJob", bound=Job, covariant=True)
Placed = TypeVar("Placed", bound=Job)


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


def ordered(job: Placed, options: StartOptions, where: Where, max_restarts: int = 0) -> LaunchOrder[Placed]:
    """A job put where it runs, and what that makes of this command."""
    placed = replace(
        job,
        backend=options.backend,
        timeout_s=options.timeout,
        join_timeout_s=options.join_timeout,
        deadline_s=options.deadline,
        endpoint=options.rdzv_endpoint or "",
        nodes=where.nodes,
        nproc_per_node=where.nproc,
        emulated=where.emulated,
        node_ranks=where.node_ranks,
        node_variable=where.node_variable,
        env=dict(where.env),
    )
    return LaunchOrder(
        job=placed,
        leads=where.leads,
        ranks_seen=where.ranks_seen,
        launch=where.launch,
        part=where.part,
        keep_going=options.keep_going,
        max_restarts=max_restarts,
    )
