"""JUDGE the rows of a run together: findings for the ranks and hosts that came late. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import named
from nccltool.core.units import format_seconds
from nccltool.launch.job import node_name
from nccltool.launch.run_state import RunState
from nccltool.probe import late_rank
from nccltool.probe.finding_kinds import LATE_RANK
from nccltool.probe.late_rank import LateRank, Row

_RANKS_NAMED = 16
_LEAST_CHANCE = 1e-6
"""Less is not worth telling apart."""
_CHECK = "other processes on its cores (top), CPU binding, clocks, and throttling (nvidia-smi -q -d PERFORMANCE)"


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrivalsOf:
    """What arrivals were measured in, in words."""

    only: str
    """If there is one."""
    several: str
    measured: str


ROWS = ArrivalsOf(
    only="the only row",
    several="rows",
    measured=f"measured at {late_rank.ROUNDS} empty all-reduces after each row, without transfer time",
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a rank is: a node, which is a host unless nodes are emulated."""

    host: str
    node: int
    emulated: bool

    @property
    def subject(self) -> str:
        return node_name(self.node) if self.emulated else self.host

    @property
    def text(self) -> str:
        return f"{self.host} ({node_name(self.node)})" if self.emulated else self.host


def of_rows(rows: Iterable[Row], state: RunState, unit: ArrivalsOf = ROWS) -> tuple[Finding, ...]:
    """A finding for each rank that came late too often for chance; one for all of a host among several."""
    late = late_rank.over_rows(rows, state.world_size)
    emulated = state.world.emulated if state.world else state.job.emulated
    places = {rank: _Place(one.host, one.node_rank, emulated) for rank, one in state.ranks.items()}
    groups = defaultdict[_Place | None, list[LateRank]](list)
    for one in late:
        groups[places.get(one.rank)].append(one)
    several_places = len(set(places.values())) > 1
    found: list[Finding] = []
    for place, ranks in groups.items():
        if place is not None and several_places and len(ranks) > 1:
            found.append(_of_host(place, ranks, unit))
        else:
            found += (_of_rank(place, one, unit, several_places) for one in ranks)
    return tuple(found)


def _of_rank(place: _Place | None, one: LateRank, unit: ArrivalsOf, several_places: bool) -> Finding:
    on = f" on {place.text}" if place else ""
    where = one.share_text(unit.only, unit.several)
    return LATE_RANK.finding(
        severity="error" if one.fails else "warning",
        subject=Subject(kind="rank", name=str(one.rank)),
        message=f"rank {one.rank}{on} arrived late in {where}, by a median of {format_seconds(one.late_s)}; the "
        "others waited for it",
        evidence=_evidence([one], unit),
        remedy=_remedy(place, several_places),
    )


def _of_host(place: _Place, ranks: Sequence[LateRank], unit: ArrivalsOf) -> Finding:
    names = named((str(one.rank) for one in ranks), _RANKS_NAMED)
    typical = sorted(ranks, key=lambda one: one.rows)[len(ranks) // 2]
    late_s = median(one.late_s for one in ranks)
    return LATE_RANK.finding(
        severity="error" if any(one.fails for one in ranks) else "warning",
        subject=Subject(kind="host", name=place.subject),
        message=f"ranks {names} on {place.text} arrived late in {typical.share_text(unit.only, unit.several)}, by "
        f"a median of {format_seconds(late_s)}; the others waited for them",
        evidence=_evidence(ranks, unit),
        remedy=_remedy(place, several_places=True),
    )


def _evidence(ranks: Sequence[LateRank], unit: ArrivalsOf) -> tuple[str, ...]:
    least, most = min(one.least_s for one in ranks), max(one.most_s for one in ranks)
    chance = max(one.chance for one in ranks)
    between = f"late by {format_seconds(least)} to {format_seconds(most)}; "
    if ranks[0].rows == 1:
        between = ""
    return (f"{between}by chance, this happens in fewer than {_share(chance)} healthy runs", unit.measured)


def _share(chance: float) -> str:
    """Rounded up: 1 in 1,000."""
    power = min(int(-math.log10(max(chance, _LEAST_CHANCE))), 6)
    return f"1 in {10**power:,}" if power > 1 else f"{chance * 100:.1f} % of"


def _remedy(place: _Place | None, several_places: bool) -> str:
    if place is None:
        return f"check on its host: {_CHECK}"
    without = "; repeat the run without this host" if several_places and not place.emulated else ""
    return f"check on {place.host}: {_CHECK}{without}"
