"""Which fabric is meant: the one that is named, or the only one that the facts of this host show."""

from collections.abc import Callable
from dataclasses import dataclass

from nccltool.core.errors import BadInput
from nccltool.core.text import counted, escaped, shortened
from nccltool.doctor import fabrics
from nccltool.doctor.fabrics.base import Fabric
from nccltool.hosts.facts import HostFacts, NotKnown, or_none

AUTO = "auto"
_PLAIN = "laptop"
_LONGEST = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenFabric:
    """A fabric, and why it is this one."""

    name: str
    fabric: Fabric
    why: str = ""
    """The facts that decided; empty = it was named."""


def choose(word: str, look: Callable[[], HostFacts]) -> ChosenFabric:
    """The fabric that a word names; `auto` looks at this host. Raises BadInput when the host does not tell."""
    if word != AUTO:
        return ChosenFabric(name=word, fabric=fabrics.get(word))
    facts = look()
    found, unknown = list[ChosenFabric](), list[str]()
    for name in fabrics.NAMES:
        fabric = fabrics.get(name)
        try:
            why = fabric.fits(facts)
        except NotKnown as reason:
            unknown.append(str(reason))
            continue
        if why:
            found.append(ChosenFabric(name=name, fabric=fabric, why=shortened(escaped(why), _LONGEST)))
    if len(found) == 1 and not unknown:
        return found[0]
    if not found and (why := _one_interface(facts)):
        shown = "; ".join((why, *unknown[:1]))
        return ChosenFabric(name=_PLAIN, fabric=fabrics.get(_PLAIN), why=shortened(escaped(shown), _LONGEST))
    raise BadInput(f"auto cannot tell the fabric of this host: {_reason(found, unknown)}", _remedy(found))


def _one_interface(facts: HostFacts) -> str:
    """Why nothing is to be set, whoever made this host: it has no GPU, no RDMA, and one interface."""
    devices, interfaces = or_none(facts.rdma.devices), or_none(facts.network.interfaces)
    # a container may hide the network of a host with GPUs
    if interfaces is None or devices != () or or_none(facts.gpu_names) != ():
        return ""
    wired = [one for one in interfaces if one.virtual is not True]
    return f"no GPU, no RDMA device, {counted(len(wired), 'network interface')}" if len(wired) <= 1 else ""


def _reason(found: list[ChosenFabric], unknown: list[str]) -> str:
    if len(found) > 1:
        return f"it could be {' or '.join(one.name for one in found)}"
    return shortened(escaped(unknown[0]), _LONGEST) if unknown else "its facts fit none"


def _remedy(found: list[ChosenFabric]) -> str:
    return f"name it: {', '.join([one.name for one in found] or fabrics.NAMES)}"
