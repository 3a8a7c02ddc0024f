"""What only shows together: groups whose members are fast in other company, and uplinks of leaf switches."""

from nccltool.localize.judge import controls
from nccltool.localize.judge.fit import Fit
from nccltool.localize.result import Suspect
from nccltool.localize.topology import Topology


def suspects(fit: Fit, topology: Topology) -> dict[int, Suspect]:
    """Part to suspect."""
    return _together(fit) | _uplinks(fit, topology)


def _together(fit: Fit) -> dict[int, Suspect]:
    found = {}
    for part in fit.parts.number("group"):
        members = fit.parts.keys[part][1]
        slow = tuple(controls.with_cleared(fit, part, {*members}))
        if (
            fit.bad[part] >= controls.SURE
            and len(slow) >= controls.FEWEST
            and all(_is_fast_elsewhere(fit, name, members) for name in members)
        ):
            found[part] = Suspect(
                kind="group",
                subject=members,
                confidence=controls.confidence(fit, part),
                ratio=controls.ratio(slow),
                evidence=(
                    f"{controls.speeds(slow)} together, {len(slow)} times; each member is fast in other company",
                ),
            )
    return found


def _is_fast_elsewhere(fit: Fit, name: str, members: tuple[str, ...]) -> bool:
    node = fit.observed.nodes.index(name)
    return fit.bad[node] <= controls.CLEARED and any(
        not fit.is_slow[number] and {*fit.observed.encounters[number].members} != {*members}
        for number in fit.encounters_of(node)
    )


def _uplinks(fit: Fit, topology: Topology) -> dict[int, Suspect]:
    found = {}
    for part in fit.parts.number("uplink"):
        leaf = fit.parts.keys[part][1][0]
        inside = {node for node in fit.observed.nodes if topology.leaf(node) == leaf}
        slow = controls.with_cleared(fit, part, inside)
        pairs = {each.encounter.members for each in slow}
        if fit.bad[part] >= controls.SURE and len(pairs) >= controls.FEWEST:
            found[part] = Suspect(
                kind="group",
                subject=tuple(sorted(inside)),
                direction=controls.direction(fit, part),
                confidence=controls.confidence(fit, part),
                ratio=controls.ratio(slow),
                evidence=(
                    f"leaf switch {leaf}: {controls.speeds(slow)} across it in {len(slow)} encounters; "
                    "its nodes do not explain that, so its uplink does",
                ),
            )
    return found
