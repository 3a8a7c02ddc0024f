"""Ranks that do the same, and the odd one out."""

from collections.abc import Sequence

from nccltool.attach.judge.result import PhaseGroup
from nccltool.attach.judge.views import RankView

_FEW = 0.25
"""A cluster is odd if it is at most this share of all ranks: a job of four has one odd rank at most."""


def phase_groups(views: Sequence[RankView]) -> tuple[PhaseGroup, ...]:
    """Largest first."""
    found: dict[tuple[str, str, str, str], list[RankView]] = {}
    for view in views:
        phase = view.phase
        found.setdefault((phase.kind, phase.operation, phase.where, view.condition), []).append(view)
    groups = (
        PhaseGroup(
            phase=members[0].phase,
            condition=members[0].condition,
            ranks=tuple(sorted(view.rank for view in members if view.rank is not None)),
            pids=tuple((view.found.host, view.found.pid) for view in members if view.rank is None),
        )
        for members in found.values()
    )
    return tuple(sorted(groups, key=lambda one: (-len(one.ranks) - len(one.pids), one.ranks)))


def odd_ones(groups: Sequence[PhaseGroup]) -> tuple[PhaseGroup, ...]:
    """The clusters that are small beside the largest one."""
    total = sum(len(one.ranks) + len(one.pids) for one in groups)
    if total < 3:
        return ()
    return tuple(one for one in groups[1:] if len(one.ranks) + len(one.pids) <= max(1.0, _FEW * total))
