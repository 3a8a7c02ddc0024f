"""The place of the measurements of pairs, which name the link or node that is slow."""

from nccltool.preflight.stages.base import Climbed, Ladder, skipped

NEEDS = ("inventory", "doctor", "reach")
_NOT_YET = "pairs of nodes cannot be measured yet"


def about_s(ladder: Ladder) -> float:
    """How long it takes."""
    return 0.0


def would(ladder: Ladder) -> tuple[str, ...]:
    """What it would do."""
    return (_NOT_YET,)


def climb(ladder: Ladder) -> Climbed:
    """Say that it is not there."""
    return skipped("pairs", _NOT_YET)
