"""A localization in one line: the verdict, and who is accused."""

from nccltool.core.text import counted, named
from nccltool.localize.accusations import suspect_text
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.result import Localization

_NAMED = 3


def headline(run: LocalizedRun) -> str:
    """`localize: node 644 is slow; 1 pair unexplained; 5 measurements of 8 nodes`."""
    nodes = {name for one in run.encounters for name in one.members}
    amount = f"{counted(len(run.encounters), 'measurement')} of {counted(len(nodes), 'node')}"
    return f"{run.kind}: {_found(run.localization)}; {amount}"


def noise_line(found: Localization) -> str:
    """`noise 3 %; smallest fault that these measurements could have shown: 9 %`."""
    if found.noise is None:
        return "noise unknown: too few measurements"
    seen = found.smallest_visible_fault
    least = "unknown" if seen is None else f"{100 * seen:.2g} %"
    return f"noise {100 * found.noise:.2g} %; smallest fault that these measurements could have shown: {least}"


def _found(found: Localization) -> str:
    unexplained = len(found.undetermined)
    doubt = f"{counted(unexplained, 'slow pair')} unexplained" if unexplained else ""
    if found.scope == "fabric-wide":
        return "slow across the fabric, nobody is accused"
    if found.suspects:
        names = [suspect_text(one) for one in found.suspects]
        return "; ".join(filter(None, (f"suspect {named(names, _NAMED)}", doubt)))
    if found.scope == "unknown":
        return "too few measurements for a verdict"
    return doubt or "nothing slow found"
