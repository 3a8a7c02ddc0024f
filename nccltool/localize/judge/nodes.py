"""Slow nodes, and nodes of which nothing came."""

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.judge import controls
from nccltool.localize.judge.fit import Fit
from nccltool.localize.result import Suspect


def suspects(fit: Fit, counters: tuple[CounterEvidence, ...]) -> dict[int, Suspect]:
    """Part to suspect: sure, and slow with two different partners that are fast with others."""
    found = {}
    for part in fit.parts.number("node"):
        name = fit.parts.keys[part][1][0]
        if fit.bad[part] < controls.SURE:
            continue
        slow = controls.with_cleared(fit, part, {name})
        partners = {frozenset(each.encounter.members) - {name} for each in slow}
        if len(partners) < controls.FEWEST and not _is_alone(partners, len(slow)):
            continue
        found[part] = Suspect(
            kind="node",
            subject=(name,),
            direction=controls.direction(fit, part),
            confidence=controls.confidence(fit, part),
            ratio=controls.ratio(slow),
            evidence=(_sentence(fit, part, slow, len(partners)), *controls.of_counters(counters, name)),
        )
    return found


def _is_alone(partners: set[frozenset[str]], count: int) -> bool:
    """Measured without partners, who therefore cannot be the reason."""
    return partners == {frozenset()} and count >= controls.FEWEST


def _sentence(fit: Fit, part: int, slow: tuple[controls.Control, ...], partners: int) -> str:
    others = f"with {partners} partners that are fast with others" if partners > 1 else "without a partner"
    what = "no result" if controls.ratio(slow) is None else "slow"
    often = f"{what} in {len([*controls.slow(fit, part)])} of {len(fit.encounters_of(part))} encounters"
    return f"{controls.speeds(slow)} {others}; {often}"
