"""A host as NCCL sees it: its settings there, and what it would choose for traffic between nodes. Pure."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Gid, HostFacts, Plugin, known
from nccltool.hosts.nccl import adapters, collective_library, interfaces, values
from nccltool.hosts.nccl.adapters import Port
from nccltool.hosts.nccl.collective_library import CollectiveLibrary
from nccltool.hosts.nccl.interfaces import InterfaceChoice
from nccltool.hosts.nccl.settings import NcclSettings, Variable

NetworkKind = Literal["IB", "Socket", "plugin"]


@dataclass(frozen=True, kw_only=True)
class NcclHost:
    """Settings and facts. What raises NotKnown says why; what is asked often is looked up once."""

    settings: NcclSettings = field(default_factory=NcclSettings)
    facts: HostFacts = field(default_factory=lambda: HostFacts(host=""))

    def variable(self, name: str) -> Variable | None:
        """A variable that is set, with where its value comes from."""
        return self.settings.variable(name)

    def get(self, name: str) -> str | None:
        """The value of a variable; None = not set."""
        return self.settings.get(name)

    def integer(self, name: str) -> int | None:
        """The number that NCCL reads from a variable; None = not set or empty."""
        return self.settings.integer(name)

    def number(self, name: str) -> tuple[Variable, int] | None:
        """A variable with the number that NCCL reads from it; None = not set, or its default holds."""
        variable, value = self.variable(name), self.integer(name)
        return (variable, value) if variable is not None and value is not None else None

    @cached_property
    def library(self) -> CollectiveLibrary | Unknown:
        """What carries the collectives: NCCL, or RCCL on GPUs of AMD. Needs `versions`, `amd` and `nvidia`."""
        return collective_library.of(self.settings, self.facts)

    @cached_property
    def network_kind(self) -> NetworkKind:
        """What carries traffic between nodes. Raises NotKnown. Needs `rdma` and `plugins`.

        It is `plugin` where one can be loaded that is not forbidden: that it also works is assumed.
        """
        asked = (self.get("NCCL_NET") or "").lower()
        if asked in ("socket", "ib"):
            return "Socket" if asked == "socket" else "IB"
        if asked or self.net_plugins:
            return "plugin"
        return "IB" if not self.integer("NCCL_IB_DISABLE") and self.active_ports else "Socket"

    @cached_property
    def net_plugins(self) -> tuple[Plugin, ...]:
        """The network plugins that NCCL or RCCL would find. Raises NotKnown. Needs `plugins`."""
        asked = self.get("NCCL_NET_PLUGIN")
        if asked is not None and asked.lower() in ("none", ""):
            return ()
        files = {"libnccl-net.so"} if asked is None else set(map(_library, values.split(asked)))
        files |= {name.replace("libnccl-", "librccl-") for name in files}  # as RCCL calls them
        found = known(self.facts.plugins)
        return tuple(plugin for plugin in found if plugin.name in files and plugin.library.origin != "vendor")

    @cached_property
    def interfaces(self) -> InterfaceChoice:
        """The interfaces that NCCL would choose. Raises NotKnown. Needs `network`."""
        return interfaces.choose(self.settings, self.facts.network)

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """The RDMA ports that NCCL_IB_HCA chooses, up or not. Raises NotKnown. Needs `rdma`."""
        wanted = self.settings.names("NCCL_IB_HCA")
        every = adapters.ports(self.facts.rdma)
        return tuple(one for one in every if wanted is None or wanted.chooses(one.device.name, one.port.number))

    @cached_property
    def active_ports(self) -> tuple[Port, ...]:
        """Those that are up: what NCCL would use. Raises NotKnown. Needs `rdma`."""
        return tuple(port for port in self.ports if port.active)

    @cached_property
    def gids(self) -> tuple[tuple[Port, int, Gid | None], ...]:
        """(port, index, GID) that NCCL takes on the RoCE ports that are up. Raises NotKnown. Needs `rdma`."""
        return tuple((port, *adapters.gid_of(self.settings, port)) for port in self.active_ports if port.roce)


def _library(word: str) -> str:
    """The library of a word of NCCL_NET_PLUGIN."""
    return word.rpartition("/")[2] if "/" in word or word.endswith(".so") else f"libnccl-net-{word}.so"
