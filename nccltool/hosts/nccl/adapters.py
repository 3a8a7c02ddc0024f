"""Which ports of RDMA adapters NCCL's own network would choose, and which GID of a RoCE port: pure.

Written after ncclIbInitDevices and ncclIbGetGidIndex (src/transport/net_ib/init.cc and connect.cc). EFA and other
adapters whose ports are neither InfiniBand nor Ethernet are not for it: plugins use them.
"""

import ipaddress
from dataclasses import dataclass

from nccltool.core.versions import Version
from nccltool.hosts.facts import Gid, NotKnown, Rdma, RdmaDevice, RdmaPort, known
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import NcclSettings

MOST = 32
"""So many devices are kept."""
AUTOMATIC_GID = Version(2, 21, 5)
"""The release from which NCCL looks for a GID itself; before, it took index 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Port:
    """A port that NCCL could use."""

    device: RdmaDevice
    port: RdmaPort

    @property
    def name(self) -> str:
        """`mlx5_0:1`, as NCCL writes it."""
        return f"{self.device.name}:{self.port.number}"

    @property
    def active(self) -> bool:
        """Whether NCCL would take it. Raises NotKnown."""
        return known(self.port.state) == "ACTIVE"

    @property
    def roce(self) -> bool:
        """Whether it is an Ethernet port. Raises NotKnown."""
        return known(self.port.link_layer) == "Ethernet"

    @property
    def card(self) -> str:
        """Its PCI bus: NCCL merges the ports and virtual functions of one card. Raises NotKnown."""
        return known(self.device.pci).rpartition(":")[0]


def ports(rdma: Rdma) -> tuple[Port, ...]:
    """The ports that NCCL's own network can use, up or not. Raises NotKnown."""
    return tuple(
        Port(device=device, port=port)
        for device in known(rdma.devices)
        for port in known(device.ports)
        if known(port.link_layer) in ("InfiniBand", "Ethernet")
    )


Range = ipaddress.IPv4Network | ipaddress.IPv6Network


def address(gid: Gid) -> int:
    """A GID as the number of the IPv6 address that it is. Raises NotKnown where it is none."""
    digits = gid.gid.replace(":", "")
    try:  # a number is much faster than ipaddress, and there are hundreds of GIDs on a host
        return int(digits, 16) if len(digits) == 32 else int(ipaddress.IPv6Address(gid.gid))
    except ValueError:
        raise NotKnown(f"{gid.gid[:60]!r} is not a GID") from None


def shown(gid: Gid) -> str:
    """Its address, as people write it: `10.0.0.1`, `fe80::1`. Raises NotKnown where it is none."""
    found = ipaddress.IPv6Address(address(gid) % 2**128)
    return str(found.ipv4_mapped or found)


def family(of: int) -> str:
    """AF_INET for an IPv4 address inside a GID."""
    return "AF_INET" if of >> 32 == 0xFFFF else "AF_INET6"


def is_link_local(of: int) -> bool:
    """Whether it reaches its own segment only: fe80::/64."""
    return of >> 64 == 0xFE80 << 48


def wanted_family(settings: NcclSettings) -> str:
    """NCCL_IB_ADDR_FAMILY; every other word is the default."""
    return "AF_INET6" if settings.get("NCCL_IB_ADDR_FAMILY") == "AF_INET6" else "AF_INET"


def wanted_range(settings: NcclSettings) -> Range | None:
    """NCCL_IB_ADDR_RANGE as NCCL reads it; None = not set, or ignored."""
    text, slash, length = (settings.get("NCCL_IB_ADDR_RANGE") or "").partition("/")
    if not slash:
        return None
    bits = values.atoi(length)
    try:
        base = ipaddress.ip_address(text)
        named = "AF_INET" if base.version == 4 else "AF_INET6"
        if named != wanted_family(settings) or not 0 <= bits <= base.max_prefixlen:
            return None
        return ipaddress.ip_network(f"{text}/{bits}", strict=False)
    except ValueError:
        return None


def within(of: int, wanted: Range | None) -> bool:
    """Whether a GID lies in the range; without one every GID does."""
    if wanted is None or not wanted.prefixlen:
        return True
    inside = of & 0xFFFF_FFFF if wanted.version == 4 else of
    same = not (inside ^ int(wanted.network_address)) >> (wanted.max_prefixlen - wanted.prefixlen)
    return same and (wanted.version == 6 or family(of) == "AF_INET")


def gid_of(settings: NcclSettings, port: Port) -> tuple[int, Gid | None]:
    """(index, GID) that NCCL takes on a RoCE port: NCCL_IB_GID_INDEX, or its own search. Raises NotKnown.

    None = nothing is at this index. Before 2.21 there is no search; `settings.version` decides.
    """
    table = {gid.index: gid for gid in known(port.port.gids)}
    given = settings.integer("NCCL_IB_GID_INDEX")
    if not values.since(AUTOMATIC_GID, settings.version):
        index = given or 0
    else:
        index = given if given is not None and given >= 0 else _search(settings, port, table)
    return index, table.get(index)


def _search(settings: NcclSettings, port: Port, table: dict[int, Gid]) -> int:
    """ncclIbGetGidIndex: the first one, unless a later one is better."""
    like, bounds = wanted_family(settings), wanted_range(settings)
    version = settings.integer("NCCL_IB_ROCE_VERSION_NUM")
    kind = {1: "IB/RoCE v1", None: "RoCE v2", 2: "RoCE v2"}.get(version, "")
    index = 0
    slots = port.port.gid_slots
    for candidate in range(1, slots if isinstance(slots, int) else max(table, default=0) + 1):
        if _is_better(table.get(index), table.get(candidate), like, bounds, kind):
            index = candidate
    return index


def _is_better(now: Gid | None, then: Gid | None, like: str, bounds: Range | None, kind: str) -> bool:
    here, there = 0 if now is None else address(now), 0 if then is None else address(then)
    if family(there) != like or not within(there, bounds):
        return False
    if family(here) != like:
        return True
    if not there or is_link_local(there) or then is None or known(then.type) != kind:
        return False
    return not here or is_link_local(here) or now is None or known(now.type) != kind
