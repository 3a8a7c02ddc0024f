"""Which hosts come when they are called, and what they have."""

from nccltool.preflight import judge
from nccltool.preflight.stages.base import Climbed, Ladder

NEEDS = ()
_HERE_S, _REMOTE_S = 0.5, 3.0
"""A snapshot of this host took 0.1 to 0.4 s here; a login by ssh and Python's start take a second or two."""


def about_s(ladder: Ladder) -> float:
    """How long it takes."""
    return _REMOTE_S if ladder.where.launch.remote else _HERE_S


def would(ladder: Ladder) -> tuple[str, ...]:
    """What it would do."""
    how = f"by {ladder.where.launch.launcher}" if ladder.where.launch.remote else "here"
    return (f"look at {', '.join(dict.fromkeys(ladder.hosts.values()))} {how}: who comes, how many GPUs",)


def climb(ladder: Ladder) -> Climbed:
    """Look, and judge."""
    part = ladder.suite.inventory
    assert part is not None
    survey = ladder.survey()
    return Climbed(outcomes=tuple(dict.fromkeys(judge.of_inventory(survey, part, ladder.nproc))))
