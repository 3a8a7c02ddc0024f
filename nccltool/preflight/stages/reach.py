"""Whether every host reaches the others: where they meet, where ranks talk, with large packets, by name."""

from nccltool.launch.host_survey import ALL_TO_ALL
from nccltool.preflight import judge
from nccltool.preflight.stages.base import Climbed, Ladder, skipped

NEEDS = ()
_SECONDS = 1.0
"""Hosts that reach each other answer in milliseconds; 6 s where one does not."""


def about_s(ladder: Ladder) -> float:
    """How long it takes."""
    return _SECONDS if ladder.where.launch.remote else 0.0


def would(ladder: Ladder) -> tuple[str, ...]:
    """What it would do."""
    if not ladder.where.launch.remote:
        return (_HERE,)
    count = len(ladder.hosts)
    whom = "every other one" if count <= ALL_TO_ALL else "those 1, 2, 4, ... places on"
    return (
        f"each of {count} hosts calls {whom}: where ranks meet and where they talk, 20 kB, by address and name",
    )


_HERE = "the nodes are processes of this host: nothing is between them"


def climb(ladder: Ladder) -> Climbed:
    """Judge the calls of the survey."""
    part = ladder.suite.reach
    assert part is not None
    if not ladder.where.launch.remote:
        return skipped("reach", _HERE)
    survey = ladder.survey()
    if not survey.calls:
        return skipped("reach", "fewer than two hosts came")
    return Climbed(outcomes=tuple(judge.of_reach(survey, part)))
