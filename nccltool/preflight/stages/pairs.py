"""The place of the measurements of pairs, which name the link or node that is slow."""

from nccltool.preflight.stages.base import StageContext, StageResult, skipped
from nccltool.preflight.suite_toml import PartForm

NEEDS = ("inventory", "doctor", "reach")
STARTS_RANKS = False
PART = PartForm(None)
_NOT_YET = "pairs of nodes cannot be measured yet"


def about_s(context: StageContext, part: None) -> float:
    return 0.0


def plan(context: StageContext, part: None) -> tuple[str, ...]:
    return (_NOT_YET,)


def run(context: StageContext, part: None) -> StageResult:
    return skipped("pairs", _NOT_YET)
