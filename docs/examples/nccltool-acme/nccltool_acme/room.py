"""Whether there is room for what runs leave behind."""

import shutil
from dataclasses import dataclass
from typing import Annotated

from nccltool.core.units import format_bytes
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stages.base import StageContext, StageResult

NCCLTOOL_PLUGIN = 1

NEEDS = ("inventory",)
STARTS_RANKS = False
FREE = Check(stage="room", name="free")


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomPart:
    """How much there must be."""

    least: Annotated[int, toml.size] = 2**30


PART = toml.PartForm(RoomPart)


def about_s(context: StageContext, part: RoomPart) -> float:
    """How long it takes."""
    return 0.0


def plan(context: StageContext, part: RoomPart) -> tuple[str, ...]:
    """What it would do."""
    return (f"see whether {format_bytes(part.least)} are free in the run directory",)


def run(context: StageContext, part: RoomPart) -> StageResult:
    """Look here, where the runs are kept."""
    free = shutil.disk_usage(context.folder).free
    outcome = CheckOutcome(
        check=FREE,
        host=None,
        status="pass" if free >= part.least else "fail",
        measured=float(free),
        unit="B",
        expected=f"at least {format_bytes(part.least)}",
    )
    return StageResult(outcomes=(outcome,))
