"""Slow rails: of one node, or on all nodes."""

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.judge import controls
from nccltool.localize.judge.fit import Fit
from nccltool.localize.result import Suspect


def suspects(fit: Fit, counters: tuple[CounterEvidence, ...]) -> dict[int, Suspect]:
    """Part to suspect."""
    return _everywhere(fit) | _of_nodes(fit, counters)


def _everywhere(fit: Fit) -> dict[int, Suspect]:
    found = {}
    for part in fit.parts.number("rail"):
        slow = controls.with_cleared(fit, part, set())
        if fit.bad[part] >= controls.SURE and len({each.encounter.members for each in slow}) >= controls.FEWEST:
            found[part] = Suspect(
                kind="rail",
                subject=fit.parts.keys[part][1],
                confidence=controls.confidence(fit, part),
                ratio=controls.ratio(slow),
                evidence=(f"{controls.speeds(slow)} between {len(slow)} pairs that are fast on other rails",),
            )
    return found


def _of_nodes(fit: Fit, counters: tuple[CounterEvidence, ...]) -> dict[int, Suspect]:
    found = {}
    for part in fit.parts.number("node-rail"):
        if fit.bad[part] < controls.SURE:
            continue
        node, rail = fit.parts.keys[part][1]
        slow = tuple(
            each for each in controls.with_cleared(fit, part, {node}) if _are_cleared(fit, each, node, rail)
        )
        partners = {frozenset(each.encounter.members) - {node} for each in slow}
        if len(partners) >= controls.FEWEST:
            found[part] = Suspect(
                kind="rail",
                subject=(node, rail),
                direction=controls.direction(fit, part),
                confidence=controls.confidence(fit, part),
                ratio=controls.ratio(slow),
                evidence=(
                    f"{controls.speeds(slow)} with {len(partners)} partners that are fast on it with others",
                    *controls.of_counters(counters, node, rail),
                ),
            )
    return found


def _are_cleared(fit: Fit, control: controls.Control, node: str, rail: str) -> bool:
    others = (fit.part(("node-rail", (name, rail))) for name in control.encounter.members if name != node)
    return control.encounter.rail == rail and all(
        other is None or fit.bad[other] <= controls.CLEARED for other in others
    )
