"""RDMA devices of a host: ports, GIDs, and what user space needs to open them."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Number, Setting, Text, Texts


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
