"""Interfaces, addresses, routes and listeners of a host."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Text, known


class Address(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An address of an interface."""

    interface: str
    """As getifaddrs names it: an alias keeps its label (`eth0:1`)."""
    address: str
    """Without prefix length and scope."""
    prefix_len: Count = NOT_READ
    family: str
    """`AF_INET` or `AF_INET6`."""


class Interface(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A network interface. Source: /sys/class/net/<name>; flags: getifaddrs."""

    name: str
    index: Count = NOT_READ
    flags: Count = NOT_READ
    """IFF_* bits. In a captured tree without IFF_RUNNING: see `running`."""
    up: Flag = NOT_READ
    """Administratively up (IFF_UP, 0x1)."""
    running: Flag = NOT_READ
    """IFF_RUNNING (0x40); in a captured tree, operstate up, or unknown with a carrier."""
    loopback: Flag = NOT_READ
    """IFF_LOOPBACK (0x8)."""
    point_to_point: Flag = NOT_READ
    """IFF_POINTOPOINT (0x10)."""
    operstate: Text = NOT_READ
    """up, down, unknown, lowerlayerdown, dormant, ..."""
    carrier: Flag = NOT_READ
    """Unknown while the interface is administratively down: the kernel does not say then."""
    carrier_changes: Count = NOT_READ
    mtu: Count = NOT_READ
    """Bytes."""
    speed_mbps: Count = NOT_READ
    """Megabits per second of a real link, of a bond, of what is under a VLAN. Unknown for what has no wire."""
    arp_type: Count = NOT_READ
    """ARPHRD_*: 1 Ethernet, 32 InfiniBand, 772 loopback."""
    kind: str = ""
    """`bond`, `bridge`, `vlan`, `wlan`, `tun`, `vxlan`, ...: DEVTYPE of uevent, or what sysfs shows; '' = none."""
    virtual: Flag = NOT_READ
    """No hardware is behind it."""
    driver: Text = NOT_READ
    """mlx5_core, ena, gve, virtio_net, ...; Unknown when there is no device."""
    vendor: Text = NOT_READ
    """PCI vendor, e.g. `0x15b3`."""
    device: Text = NOT_READ
    """PCI device id, e.g. `0x1021`."""
    pci: Text = NOT_READ
    """PCI address, e.g. `0000:18:00.0`."""
    numa_node: Count = NOT_READ
    """-1 = the kernel has none for it."""
    master: str = ""
    """The bond or bridge that it belongs to."""
    lower: tuple[str, ...] = ()
    """What it stands on: members of a bond, ports of a bridge, the parent of a VLAN."""
    bond_mode: str = ""
    """e.g. `802.3ad`; '' = no bond."""
    bond_active: str = ""
    """The active member of an active-backup bond."""


class Route(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A route of the main table. Source: /proc/net/route, /proc/net/ipv6_route."""

    interface: str
    destination: str
    """Network in CIDR notation; `0.0.0.0/0` and `::/0` are default routes."""
    gateway: str = ""
    """'' = on link."""
    metric: int = 0


class Listener(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A TCP port that something on this host listens on. Source: /proc/net/tcp, /proc/net/tcp6."""

    address: str
    port: int
    uid: int


class Network(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Interfaces, addresses, routes and listeners of this network namespace."""

    interfaces: tuple[Interface, ...] | Unknown = NOT_READ
    """In the order of their index, which is that of getifaddrs."""
    addresses: tuple[Address, ...] | Unknown = NOT_READ
    """In the order of getifaddrs, in which NCCL chooses: IPv4 before IPv6."""
    addresses_source: str = ""
    """`getifaddrs`; in a captured tree `/proc/net`: IPv4 addresses are then those whose interface routes tell."""
    routes: tuple[Route, ...] | Unknown = NOT_READ
    listeners: tuple[Listener, ...] | Unknown = NOT_READ
    resolv_conf: Text = NOT_READ
    """/etc/resolv.conf without comments."""

    def interface(self, name: str) -> Interface | None:
        """The interface of this name; None = there is none. Raises NotKnown when they could not be listed."""
        return next((one for one in known(self.interfaces) if one.name == name), None)

    def addresses_of(self, name: str) -> tuple[Address, ...]:
        """The addresses of an interface. Raises NotKnown when they could not be listed."""
        return tuple(one for one in known(self.addresses) if one.interface.partition(":")[0] == name)
