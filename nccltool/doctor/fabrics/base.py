"""What a fabric is: the settings that it needs, each with its reason and source, and how a host shows it.

A setting is listed only where NCCL's own choice is wrong or unsafe there: no defaults, and no tuning.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nccltool.hosts.facts import HostFacts, Interface, RdmaPort, known, or_none

Fits = Callable[[HostFacts], str]
"""Why a host has a fabric; '' = it has another one. Raises NotKnown."""


IBP = (
    ("NCCL_SOCKET_IFNAME", "eth0", "the other interfaces have no route between hosts"),
    ("NCCL_IB_HCA", "ibp", "the other adapters belong to the front end"),
)
"""Of CoreWeave, whose adapters between GPUs are called so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FabricSetting:
    """A variable that jobs need there."""

    name: str
    value: str
    reason: str
    source: str
    """A page or a file of the maker."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fabric:
    """The network between GPUs, as one maker or site builds it. Its module has its name."""

    title: str
    fits: Fits
    settings: tuple[FabricSetting, ...] = ()
    advice: tuple[str, ...] = ()
    """What depends on the site or the software, so that no value can be printed."""


def settings(source: str, *rows: tuple[str, str, str]) -> tuple[FabricSetting, ...]:
    """Of (name, value, reason), from one source."""
    return tuple(
        FabricSetting(name=name, value=value, reason=reason, source=source) for name, value, reason in rows
    )


def provider(facts: HostFacts) -> str | None:
    """The cloud; None = the firmware names none. Raises NotKnown."""
    return known(facts.cloud.provider)


def ports(facts: HostFacts, link_layer: str) -> list[RdmaPort]:
    """The active ports of a link layer, EFA apart. Raises NotKnown."""
    devices = [device for device in known(facts.rdma.devices) if or_none(device.driver) != "efa"]
    every = [port for device in devices for port in known(device.ports)]
    return [port for port in every if known(port.state) == "ACTIVE" and known(port.link_layer) == link_layer]


def interfaces(facts: HostFacts, driver: str) -> list[Interface]:
    """Those of a driver. Raises NotKnown."""
    return [one for one in known(facts.network.interfaces) if or_none(one.driver) == driver]


def gpus(facts: HostFacts, *words: str) -> str:
    """`8 x NVIDIA H100 80GB HBM3` if each GPU has one of these words in its name; else ''. Raises NotKnown."""
    names = [known(name) for name in known(facts.gpu_names)]
    every = bool(names) and all(_has(name, words) for name in names)
    return f"{len(names)} x {names[0]}" if every else ""


def in_rack(facts: HostFacts) -> bool:
    """Whether NVLink spans hosts here; not where no GPU has a known name."""
    names = or_none(facts.gpu_names) or ()
    return any(_has(or_none(name) or "", ("GB200", "GB300")) for name in names)


def _has(name: str, words: tuple[str, ...]) -> bool:
    """Whole words: B200 is not GB200."""
    return any(word in name.replace("-", " ").split() for word in words)


def efa_adapters(facts: HostFacts) -> str:
    """Of AWS: `p5.48xlarge, 32 EFA devices`; '' elsewhere. Raises NotKnown."""
    if provider(facts) != "aws":
        return ""
    devices = [device for device in known(facts.rdma.devices) if or_none(device.driver) == "efa"]
    return f"{or_none(facts.cloud.product_name) or 'AWS'}, {len(devices)} EFA devices" if devices else ""


def ibp_adapters(facts: HostFacts, link_layer: str) -> str:
    """Of CoreWeave: `InfiniBand, 8 adapters called ibp*, ...`; '' elsewhere. Raises NotKnown."""
    named = [device for device in known(facts.rdma.devices) if device.name.startswith("ibp")]
    if not named or provider(facts) is not None or not ports(facts, link_layer):
        return ""
    return f"{link_layer}, {len(named)} adapters called ibp*, no other cloud's mark"


def amd(facts: HostFacts) -> bool:
    """Whether the driver gives AMD GPUs to compute. Raises NotKnown."""
    return bool(known(facts.amd.gpus))


def joined(parts: Iterator[str]) -> str:
    """`a, b`; '' if one of them is missing."""
    found = list(parts)
    return ", ".join(found) if all(found) else ""
