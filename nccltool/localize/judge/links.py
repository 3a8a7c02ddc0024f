"""Slow links between nodes that are fast with others."""

from nccltool.localize.judge import controls
from nccltool.localize.judge.fit import Fit
from nccltool.localize.result import Suspect

_SURE = 0.95
"""Higher than for others: a node that is slow now and then can look like a link that is slow twice."""


def suspects(fit: Fit) -> dict[int, Suspect]:
    """Part to suspect: slow at least twice, and both ends pass with others."""
    found = {}
    for part in fit.parts.number("link"):
        if fit.bad[part] < _SURE:
            continue
        ends = fit.parts.keys[part][1][:2]
        slow = controls.with_cleared(fit, part, {*ends})
        numbers = [fit.observed.nodes.index(end) for end in ends]
        if (
            len(slow) < controls.FEWEST
            or any(controls.times_fast(fit, end, {*ends}) < controls.enough(fit) for end in numbers)
            or any(fit.bad[end] > controls.CLEARED for end in numbers)
        ):
            continue
        way = controls.direction(fit, part)
        found[part] = Suspect(
            kind="link",
            subject=ends[::-1] if way == "receive" else ends,
            direction="both" if way == "both" else "send",
            confidence=controls.confidence(fit, part),
            ratio=controls.ratio(slow),
            evidence=(
                f"{_of_rail(fit, part)}{controls.speeds(slow)} in {len(slow)} of {len(fit.encounters_of(part))} "
                "encounters; both nodes are fast with others",
            ),
        )
    return found


def _of_rail(fit: Fit, part: int) -> str:
    """Where several rails were measured, and only this one is slow."""
    return "".join(f"rail {rail}: " for rail in fit.parts.keys[part][1][2:])
