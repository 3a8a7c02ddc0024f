"""The verdict over encounters."""

import statistics
from collections.abc import Sequence

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.encounter import Encounter
from nccltool.localize.result import Localization, NextTest, Suspect
from nccltool.localize.topology import Topology

_LEAST_LOSS = 0.10
_SIGMAS = 4.0
_LEAST_LOW = 2
_UPPER = 0.75
_UNKNOWN = Topology()


def judge(
    encounters: Sequence[Encounter],
    *,
    nodes: Sequence[str] = (),
    expected_busbw_bytes_per_s: float | None = None,
    topology: Topology = _UNKNOWN,
    counters: Sequence[CounterEvidence] = (),
) -> Localization:
    """Name the slow ones; `nodes` are those that should be there."""
    speeds = sorted(each.busbw_bytes_per_s for each in encounters if each.busbw_bytes_per_s)
    if not speeds:
        return Localization(
            scope="unknown",
            noise=None,
            smallest_visible_fault=None,
            healthy_busbw_bytes_per_s=None,
            reason="no encounter has a bandwidth",
        )
    upper = [each for each in speeds if each > _UPPER * speeds[-1]]
    healthy = expected_busbw_bytes_per_s or statistics.median(upper)
    noise = statistics.pstdev(upper) / healthy if len(upper) > 1 else 0.0
    loss = max(_LEAST_LOSS, _SIGMAS * noise)
    low = [each for each in encounters if (each.busbw_bytes_per_s or 0.0) < healthy * (1 - loss)]
    cleared = {name for each in encounters if each not in low for name in each.members}
    suspects = _suspects(low, cleared, healthy)
    accused = {name for each in suspects for name in each.subject}
    open_pairs = tuple(each.members for each in low if not accused & {*each.members})
    partner = min(cleared, default=None)
    return Localization(
        scope="suspects" if suspects else "undetermined" if open_pairs else "nothing-slow",
        suspects=suspects,
        undetermined=open_pairs,
        next_tests=tuple(
            NextTest(members=(name, partner), reason="its partner was slow too")
            for pair in open_pairs
            for name in pair
            if partner is not None and name != partner
        ),
        noise=noise,
        smallest_visible_fault=loss,
        healthy_busbw_bytes_per_s=healthy,
        reason=f"{len(low)} of {len(encounters)} encounters are slow",
    )


def _suspects(low: Sequence[Encounter], cleared: set[str], healthy: float) -> tuple[Suspect, ...]:
    met: dict[str, list[Encounter]] = {}
    for each in low:
        for name in each.members:
            if name not in cleared and cleared >= {*each.members} - {name}:
                met.setdefault(name, []).append(each)
    return tuple(
        Suspect(
            kind="node",
            subject=(name,),
            confidence=0.9,
            ratio=statistics.median((each.busbw_bytes_per_s or 0.0) / healthy for each in found),
            evidence=(f"slow with {len(found)} partners that are not slow with others",),
        )
        for name, found in sorted(met.items())
        if len({each.members for each in found}) >= _LEAST_LOW
    )
