"""What a training that goes on from a checkpoint says: with which ranks, what was lost, and for how long. Pure."""

from collections.abc import Iterator

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import counted
from nccltool.core.units import format_seconds
from nccltool.train.events import Resumed
from nccltool.train.finding_kinds import RESUMED


def finding(event: Resumed, ranks: int | None, steps: int) -> Finding:
    """`ranks`: that train now; `steps`: that were asked for."""
    message = f"{event.strategy} resumed after step {event.number}, saved by {counted(event.ranks_then, 'rank')}: "
    if event.number >= steps:
        message += "no steps were left to run, so only its parameters were compared with the reference"
    else:
        shared = "split across all ranks"
        if ranks:
            shared = f"{event.sequences // ranks} on each of {counted(ranks, 'rank')}"
        message += f"the global batch remains {counted(event.sequences, 'sequence')}, {shared}"
    return RESUMED.finding(
        subject=Subject(kind="file", name=event.folder),
        message=message,
        evidence=(f"from {event.folder}", *_lost(event)),
    )


def _lost(event: Resumed) -> Iterator[str]:
    """Steps that are done again, and how long none was done."""
    if event.reached is not None and event.away_s is not None and event.reached >= event.number:
        lost = event.reached - event.number
        steps = counted(lost, "step") if lost else "no step"
        yield f"{steps} lost; {format_seconds(event.away_s)} since the last step"
