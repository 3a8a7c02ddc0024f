"""The network of a machine as its maker publishes it, for what virtual machines do not tell: data and sources."""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from nccltool.hosts.facts import HostFacts, Interface, or_none

_FILE = Path(__file__).with_name("published_networks.toml")


class PublishedNetwork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The devices that GPUs use, and which machines have them. Empty = any."""

    title: str
    provider: str
    products: tuple[str, ...] = ()
    """As the firmware names the machine."""
    gpu: str = ""
    """A word of the name of each GPU."""
    gpus: int = 0
    interfaces: int = 0
    """So many of the driver's, with those that GPUs do not use."""
    driver: str
    devices: int
    gbps: float
    """Of one of them, each way."""
    source: str
    date: str

    @property
    def bytes_per_s(self) -> float:
        """Of one of them, each way."""
        return self.gbps * 1e9 / 8

    @property
    def text(self) -> str:
        """`32 x 100 Gb/s are published for p5.48xlarge: https://..., 2026-11`."""
        return f"{self.devices} x {self.gbps:g} Gb/s published for {self.title}: {self.source}, {self.date}"


@cache
def every() -> tuple[PublishedNetwork, ...]:
    """All that are known."""
    networks = tomllib.loads(_FILE.read_text())["network"]
    return msgspec.convert(networks, tuple[PublishedNetwork, ...])


def of_host(facts: HostFacts) -> PublishedNetwork | None:
    """That of this machine; None = not in the table. A fact that is not known fits nothing."""
    return next((one for one in every() if _fits(one, facts)), None)


def _fits(one: PublishedNetwork, facts: HostFacts) -> bool:
    if or_none(facts.cloud.provider) != one.provider:
        return False
    if one.products and or_none(facts.cloud.product_name) not in one.products:
        return False
    names = [or_none(name) or "" for name in or_none(facts.gpu_names) or ()]
    if one.gpu and not (names and all(_is_called(name, one.gpu) for name in names)):
        return False
    if one.gpus and len(names) != one.gpus:
        return False
    return not one.interfaces or len(interfaces_of(facts, one.driver)) == one.interfaces


def _is_called(name: str, word: str) -> bool:
    """A whole word: B200 is not GB200."""
    return word in name.replace("-", " ").split()


def interfaces_of(facts: HostFacts, driver: str) -> Sequence[Interface]:
    """The network interfaces of a driver; none where they are not known."""
    return [one for one in or_none(facts.network.interfaces) or () if one.driver == driver]
