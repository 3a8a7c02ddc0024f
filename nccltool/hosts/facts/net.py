"""Network interfaces and RDMA devices of a host, addresses, routes and listeners."""

import socket

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Number, Setting, Text, Texts, known

_BITS = {"AF_INET": 32, "AF_INET6": 128}
_SHOWN = 60
"""Characters of a wrong value that an error shows."""


class Address(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An address of an interface."""

    interface: str
    """As getifaddrs names it: an alias keeps its label (`eth0:1`)."""
    address: str
    """Without prefix length and scope."""
    prefix_len: Count = NOT_READ
    family: str
    """`AF_INET` or `AF_INET6`."""

    def __post_init__(self) -> None:
        """Rules calculate with it. Raises ValueError, which a decoder reports with the key."""
        bits = _BITS.get(self.family)
        if bits is None:
            raise ValueError(f"{self.family[:_SHOWN]!r} is not an address family")
        try:
            socket.inet_pton(getattr(socket, self.family), self.address)
        except (OSError, ValueError):
            raise ValueError(f"{self.address[:_SHOWN]!r} is not an address") from None
        if isinstance(self.prefix_len, int) and not 0 <= self.prefix_len <= bits:
            raise ValueError(f"{self.prefix_len} is not a prefix length of an address")


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


class Gid(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A used slot of a GID table. Source: gids/<index>, gid_attrs/types/<index>, gid_attrs/ndevs/<index>."""

    index: int
    gid: str
    """As the kernel writes it: eight groups of four hex digits."""
    type: Text = NOT_READ
    """`IB/RoCE v1` or `RoCE v2`."""
    netdev: Text = NOT_READ
    """The interface that it belongs to; Unknown on InfiniBand, which has none."""


class RdmaPort(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A port of an RDMA device. Source: /sys/class/infiniband/<device>/ports/<number>."""

    number: int
    state: Text = NOT_READ
    """The word of `4: ACTIVE`: NOP, DOWN, INIT, ARMED, ACTIVE, ACTIVE_DEFER."""
    phys_state: Text = NOT_READ
    """The word of `5: LinkUp`: Sleep, Polling, Disabled, LinkUp, LinkErrorRecovery, ..."""
    link_layer: Text = NOT_READ
    """`InfiniBand` or `Ethernet` (RoCE); `Unspecified` (EFA)."""
    rate_gbps: Number = NOT_READ
    """Gigabits per second of `400 Gb/sec (4X NDR)`."""
    width: Text = NOT_READ
    """Lanes: `1X`, `2X`, `4X`, `8X`, `12X`."""
    lid: Count = NOT_READ
    """0 on RoCE."""
    sm_lid: Count = NOT_READ
    """Of the subnet manager; 0 = none."""
    pkeys: tuple[int, ...] | Unknown = NOT_READ
    """By index; zeros at the end are left out."""
    gids: tuple[Gid, ...] | Unknown = NOT_READ
    """Slots that are used, i.e. not all zero."""
    gid_slots: Count = NOT_READ
    """Size of the table."""
    traffic_class: Text = NOT_READ
    """/sys/class/infiniband/<device>/tc/<number>/traffic_class; '' = no default is set."""
    counters: tuple[Setting, ...] | Unknown = NOT_READ
    """Error counters of counters/ and hw_counters/, those of rule IB-059 and link_downed."""


class RdmaDevice(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An RDMA device. Source: /sys/class/infiniband/<name>."""

    name: str
    ports: tuple[RdmaPort, ...] | Unknown = NOT_READ
    node_type: Text = NOT_READ
    """`1: CA`, `4: RNIC`, ..."""
    node_guid: Text = NOT_READ
    sys_image_guid: Text = NOT_READ
    """Equal for functions of one card."""
    fw_ver: Text = NOT_READ
    board_id: Text = NOT_READ
    hca_type: Text = NOT_READ
    """e.g. `MT4129`."""
    driver: Text = NOT_READ
    """Driver of the PCI device: mlx5_core, efa, bnxt_en, ice, ..."""
    vendor: Text = NOT_READ
    """PCI vendor, e.g. `0x15b3`; EFA is `0x1d0f`."""
    device: Text = NOT_READ
    pci: Text = NOT_READ
    numa_node: Count = NOT_READ
    uverbs: Text = NOT_READ
    """Its character device under /dev/infiniband, e.g. `uverbs0`."""
    virtual_function: Flag = NOT_READ
    """It is an SR-IOV virtual function."""
    netdevs: Texts = NOT_READ
    """Interfaces of the same PCI function."""


class Rdma(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """RDMA devices, and what user space needs to open them."""

    devices: tuple[RdmaDevice, ...] | Unknown = NOT_READ
    """In natural order of their names (mlx5_2 before mlx5_10)."""
    ibverbs: Text = NOT_READ
    """Path of libibverbs.so.1 on the loader path; '' = there is none."""
    ibverbs_iova2: Flag = NOT_READ
    """libibverbs exports ibv_reg_mr_iova2."""
    gdrapi: Text = NOT_READ
    """Path of libgdrapi.so.2 on the loader path; '' = there is none."""
    gdrapi_link: Text = NOT_READ
    """Path of libgdrapi.so, the name that NCCL opens (packages for development have it); '' = there is none."""
