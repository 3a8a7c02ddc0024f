"""What one host looks like to a rank: a frozen snapshot that can be saved, and judged elsewhere.

Every leaf is a value or `Unknown(reason)`; nothing is guessed. `()` means looked at and there is none. A part
that groups leaves (Limits, Kernel, ...) is always there; when its source could not be read, each of its leaves
says why. A leaf that a snapshot of an older release lacks is `NOT_READ`. Fields are added, never renamed; a change
that would break a reader raises SCHEMA.

Rules read a leaf with `known(leaf)`, which raises `NotKnown` with the reason when there is no value.

Numbers carry their unit in the name; where there is none, it is a plain count. "Source" names the file that tells.

These are msgspec Structs: frozen dataclasses that load, and are read and written, several times as fast. They are
trees, so the garbage collector need not walk them (gc=False). A changed copy is
`msgspec.structs.replace(host, limits=msgspec.structs.replace(host.limits, nofile_soft=1024))`.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeAlias, TypeVar

import msgspec

from nccltool.core.errors import BadInput
from nccltool.core.unknown import Unknown

SCHEMA = 1
KIND = "facts"


class NotKnown(Exception):
    """A rule needs a fact that is Unknown. `str()` is the reason."""


NOT_READ = Unknown("it was not looked at")

T = TypeVar("T")
P = TypeVar("P", bound=msgspec.Struct)
Text: TypeAlias = str | Unknown
Count: TypeAlias = int | Unknown
Number: TypeAlias = float | Unknown
Flag: TypeAlias = bool | Unknown
Limit: TypeAlias = int | Unknown | None
"""None = unlimited."""
Texts: TypeAlias = tuple[str, ...] | Unknown


def known(leaf: T | Unknown) -> T:
    """The value of a leaf. Raises NotKnown with the reason where there is none."""
    if isinstance(leaf, Unknown):
        raise NotKnown(leaf.reason)
    return leaf


def or_none(leaf: T | Unknown) -> T | None:
    """The value of a leaf, or None: for evidence and tables, where the reason does not matter."""
    return None if isinstance(leaf, Unknown) else leaf


class Setting(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A named text of the kernel: a sysctl, a parameter of a driver, a counter."""

    name: str
    value: Text = NOT_READ


class ConfFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A configuration file that NCCL reads, as it is: nothing is parsed."""

    role: str
    """`NCCL_CONF_FILE`; `home`: .nccl.conf in the home of the password database, where NCCL looks up to 2.29;
    `HOME`: that under $HOME, where 2.32 looks, only when it is another folder; `system`: /etc/nccl.conf."""
    path: str
    exists: Flag = NOT_READ
    text: Text = NOT_READ
    """All of it up to 1 MiB, line ends as in the file; a byte that is not UTF-8 is written `\\xNN`.
    Unknown: missing, or not readable by this user."""
    owner_uid: Count = NOT_READ
    mode: Count = NOT_READ
    """Permission bits, e.g. 0o644."""


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


class PciDevice(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A GPU, NIC, NVSwitch, accelerator or PCI bridge. Source: /sys/bus/pci/devices/<address>."""

    address: str
    """e.g. `0000:18:00.0`."""
    class_code: Count = NOT_READ
    """24 bits: 0x060400 a bridge, 0x030200 a GPU, 0x020000 an Ethernet and 0x020700 an InfiniBand controller."""
    vendor: Text = NOT_READ
    device: Text = NOT_READ
    driver: Text = NOT_READ
    numa_node: Count = NOT_READ
    local_cpus: Text = NOT_READ
    """local_cpulist, e.g. `0-47,96-143`."""
    link_gts: Number = NOT_READ
    """Current speed of a lane in GT/s. An idle GPU lowers it: compare max_link_gts."""
    link_width: Count = NOT_READ
    max_link_gts: Number = NOT_READ
    max_link_width: Count = NOT_READ
    upstream: tuple[str, ...] = ()
    """Bridges above it, from the root port down."""
    acs_control: Limit = NOT_READ
    """ACS control word of the extended capability 0x000D; bit 0 = source validation, bit 2 = P2P request redirect,
    bit 3 = P2P completion redirect. None = it has no ACS. Without root the kernel shows 64 bytes of the
    configuration space: Unknown."""
    ats_enabled: bool | Unknown | None = NOT_READ
    """Address translation service is on; None = it has none."""
    iommu_group: Text = NOT_READ
    """'' = in none: the IOMMU is off, or this is a guest without one."""
    virtual_function: Flag = NOT_READ
    hidden_config: Flag = NOT_READ
    """Its configuration space shows 64 bytes only (no root)."""

    @property
    def is_bridge(self) -> bool:
        """A PCI-to-PCI bridge: a root port or a port of a switch."""
        return not isinstance(self.class_code, Unknown) and self.class_code >> 8 == 0x0604


class Pci(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The tree of PCI devices and the IOMMU."""

    devices: tuple[PciDevice, ...] | Unknown = NOT_READ
    iommu_groups: Count = NOT_READ
    """Entries of /sys/kernel/iommu_groups; 0 = no IOMMU translates."""
    iommus: Texts = NOT_READ
    """/sys/class/iommu, e.g. `dmar0`."""
    iommu_types: Texts = NOT_READ
    """Distinct iommu_groups/*/type of groups with a GPU or NIC: `identity` (passthrough), `DMA`, `DMA-FQ`."""


class NvLink(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A link of a GPU. Source: NVML."""

    number: int
    active: bool
    version: Count = NOT_READ
    remote: Text = NOT_READ
    """`gpu`, `switch`, `cpu` or `unknown`."""
    remote_pci: Text = NOT_READ


class Gpu(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A GPU of the driver. Source: NVML; without it /proc/driver/nvidia/gpus/<address>/information."""

    pci: str
    """In sysfs notation, e.g. `0000:18:00.0`."""
    minor: Count = NOT_READ
    """N of /dev/nvidiaN."""
    uuid: Text = NOT_READ
    name: Text = NOT_READ
    """e.g. `NVIDIA H200`."""
    compute_capability: Number = NOT_READ
    """9.0 for Hopper; 12.1 is greater than 12.0: the minor is one digit."""
    memory_bytes: Count = NOT_READ
    persistence: Flag = NOT_READ
    ecc: bool | Unknown | None = NOT_READ
    """Current mode; None = the GPU has none."""
    mig: bool | Unknown | None = NOT_READ
    compute_mode: Text = NOT_READ
    """`default`, `exclusive process`, `prohibited`."""
    vbios: Text = NOT_READ
    gsp_firmware: Text = NOT_READ
    row_remap_pending: bool | Unknown | None = NOT_READ
    uncorrected_ecc: Limit = NOT_READ
    """Volatile count; None = the GPU has none."""
    nvlinks: tuple[NvLink, ...] | Unknown = NOT_READ
    """() = it has none."""
    fabric_state: Text = NOT_READ
    """`not supported`, `not started`, `in progress`, `completed`."""
    fabric_status: Text = NOT_READ
    """`success`, or NVML's word for the failure."""
    cluster_uuid: Text = NOT_READ
    """Of the NVLink domain; all zero = none."""
    clique_id: Count = NOT_READ
    numa_node: Count = NOT_READ


class Nvidia(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The NVIDIA driver and its GPUs."""

    driver: Text = NOT_READ
    """e.g. `570.124.06`; '' = no NVIDIA driver is loaded."""
    flavour: Text = NOT_READ
    """`open` or `proprietary` kernel modules; '' = no driver."""
    cuda: Text = NOT_READ
    """Highest CUDA version of the driver, e.g. `12.8`. Source: NVML."""
    params: tuple[Setting, ...] | Unknown = NOT_READ
    """/proc/driver/nvidia/params, e.g. RegistryDwords, EnableStreamMemOPs, GrdmaPciTopoCheckOverride."""
    gpus: tuple[Gpu, ...] | Unknown = NOT_READ
    """In order of their PCI address; without CUDA_VISIBLE_DEVICES."""
    visible_gpus: Count = NOT_READ
    """That a rank started here would see: /dev/nvidiaN and CUDA_VISIBLE_DEVICES."""
    memory_peers: Texts = NOT_READ
    """/sys/kernel/mm/memory_peers: `nv_mem`, `nv_mem_nc`; () = none is registered."""
    imex_channels: Texts = NOT_READ
    """/dev/nvidia-caps-imex-channels/channel* that can be read and written."""
    source: str = ""
    """`nvml` or `/proc/driver/nvidia`."""
    nvml: Text = NOT_READ
    """Version of NVML's library; Unknown says why NVML could not be asked."""


class Module(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A kernel module that is loaded or built in. Source: /sys/module, /proc/modules."""

    name: str
    version: str = ""
    """'' = it names none."""


class Kernel(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The running kernel, its command line, modules and settings."""

    release: Text = NOT_READ
    """e.g. `5.15.0-1058-aws`. Source: /proc/sys/kernel/osrelease."""
    version: Text = NOT_READ
    """Build, e.g. `#64-Ubuntu SMP ...`."""
    arch: Text = NOT_READ
    """x86_64, aarch64; in a captured tree from /proc/sys/kernel/arch or /proc/cpuinfo."""
    cmdline: Text = NOT_READ
    modules: tuple[Module, ...] | Unknown = NOT_READ
    """Those that matter to collectives (GPU, RDMA, network drivers, peer memory)."""
    sysctls: tuple[Setting, ...] = ()
    """Names as sysctl(8) writes them; values as the kernel does, tabs kept."""
    clocksource: Text = NOT_READ
    transparent_hugepage: Text = NOT_READ
    """The chosen word: always, madvise, never."""

    def sysctl(self, name: str) -> Text:
        """The value of a sysctl, e.g. `kernel.numa_balancing`."""
        return next((one.value for one in self.sysctls if one.name == name), NOT_READ)

    def module(self, name: str) -> Module | None:
        """The loaded module; None = not loaded. Raises NotKnown when modules could not be listed."""
        return next((one for one in known(self.modules) if one.name == name), None)


class Cpu(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Processors and memory."""

    model: Text = NOT_READ
    vendor: Text = NOT_READ
    """GenuineIntel, AuthenticAMD, ...; on ARM the implementer, e.g. `0x41`."""
    hypervisor: Flag = NOT_READ
    """The hypervisor flag of /proc/cpuinfo (x86), or a hypervisor that sysfs or the firmware names."""
    online: Text = NOT_READ
    """/sys/devices/system/cpu/online, e.g. `0-191`."""
    allowed: Text = NOT_READ
    """Cpus_allowed_list of this process."""
    numa_nodes: Texts = NOT_READ
    """By node: its cpulist ('' = a node without processors)."""
    governors: Texts = NOT_READ
    """Distinct words of scaling_governor; () = no frequency scaling is shown."""
    memory_bytes: Count = NOT_READ
    available_bytes: Count = NOT_READ
    swap_bytes: Count = NOT_READ


class ShmFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A file nccl-* in /dev/shm."""

    name: str
    size_bytes: int
    age_s: float
    """Since its last change, when the snapshot was taken."""
    uid: int
    mapped: Flag = NOT_READ
    """A process has it mapped."""


class Shm(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The shared memory of this mount namespace. Source: statvfs of /dev/shm."""

    exists: Flag = NOT_READ
    fstype: Text = NOT_READ
    size_bytes: Count = NOT_READ
    free_bytes: Count = NOT_READ
    """What this user may still use."""
    writable: Flag = NOT_READ
    device: Count = NOT_READ
    """st_dev: equal for processes that share it."""
    nccl_files: tuple[ShmFile, ...] | Unknown = NOT_READ
    """At most 64, the oldest first."""


class Limits(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Limits of this process. None = unlimited. Source: /proc/self/limits, cgroup files, /proc/meminfo."""

    nofile_soft: Limit = NOT_READ
    nofile_hard: Limit = NOT_READ
    memlock_soft_bytes: Limit = NOT_READ
    memlock_hard_bytes: Limit = NOT_READ
    stack_soft_bytes: Limit = NOT_READ
    stack_hard_bytes: Limit = NOT_READ
    nproc_soft: Limit = NOT_READ
    nproc_hard: Limit = NOT_READ
    address_space_soft_bytes: Limit = NOT_READ
    core_soft_bytes: Limit = NOT_READ
    cgroup_version: Count = NOT_READ
    """1 or 2; a hybrid mount counts as 1."""
    cgroup_path: Text = NOT_READ
    pids_max: Limit = NOT_READ
    """The smallest on the way to the root of what is visible here; so are the next three."""
    pids_current: Count = NOT_READ
    memory_max_bytes: Limit = NOT_READ
    cpu_cores: float | Unknown | None = NOT_READ
    """Quota / period; None = unlimited."""
    oom_events: Count = NOT_READ
    """`oom` of memory.events (v2), or oom_kill of memory.oom_control (v1)."""
    cpuset: Text = NOT_READ
    """cpuset.cpus.effective."""
    hugepages_total: Count = NOT_READ
    hugepages_free: Count = NOT_READ
    hugepage_bytes: Count = NOT_READ
    remove_ipc: Flag = NOT_READ
    """logind removes a user's /dev/shm files at log-out: RemoveIPC of /etc/systemd/logind.conf and logind.conf.d;
    yes unless a file says no. Unknown without logind's files."""


class DeviceFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A device file, and what this user may do with it."""

    path: str
    readable: Flag = NOT_READ
    writable: Flag = NOT_READ
    """/dev/infiniband/uverbs* is really opened: a cgroup may forbid what the mode allows."""


class Container(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What this process may do and see."""

    inside: Flag = NOT_READ
    runtime: Text = NOT_READ
    """docker, podman, kubernetes, enroot, apptainer, lxc, systemd-nspawn, other; '' = not in a container."""
    evidence: str = ""
    """What told: a file or a mount."""
    uid: Count = NOT_READ
    capabilities: Count = NOT_READ
    """Effective; bit 14 = CAP_IPC_LOCK, bit 21 = CAP_SYS_ADMIN, bit 23 = CAP_SYS_NICE."""
    bounding: Count = NOT_READ
    seccomp: Count = NOT_READ
    """0 off, 1 strict, 2 filter."""
    no_new_privs: Flag = NOT_READ
    user_namespace: Flag = NOT_READ
    """uid_map is not the identity over all ids."""
    pid_namespace: Flag = NOT_READ
    """Not the host's initial PID namespace: daemons of the host are not visible."""
    namespaces: tuple[Setting, ...] = ()
    """By name (net, ipc, pid, mnt, uts, user, cgroup): the link of /proc/self/ns, e.g. `net:[4026531840]`."""
    devices: tuple[DeviceFile, ...] | Unknown = NOT_READ
    """/dev/infiniband/*, /dev/nvidia*, /dev/nvidia-caps*/*, /dev/gdrdrv, /dev/kfd, /dev/dri/render*, ..."""
    mempolicy: Flag = NOT_READ
    """NUMA system calls (get_mempolicy) are allowed."""

    def device(self, path: str) -> DeviceFile | None:
        """The device file; None = there is none. Raises NotKnown when /dev could not be listed."""
        return next((one for one in known(self.devices) if one.path == path), None)

    def namespace(self, name: str) -> Text:
        """The id of a namespace."""
        return next((one.value for one in self.namespaces if one.name == name), NOT_READ)


class Names(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The host's name and what names resolve to, on this host."""

    hostname: Text = NOT_READ
    addresses: Texts = NOT_READ
    """What `hostname` resolves to, as getaddrinfo orders it; () = it does not resolve."""
    master_addr: Texts = NOT_READ
    """What $MASTER_ADDR resolves to; () = it does not resolve. Unknown when it is not set."""
    hosts_lines: Texts = NOT_READ
    """Lines of /etc/hosts that name this host or localhost, or $MASTER_ADDR."""
    nsswitch_hosts: Text = NOT_READ
    """The `hosts:` line of /etc/nsswitch.conf; '' = none."""


class Library(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A shared library on disk, looked at without loading it."""

    path: str
    """As found on the search path."""
    real_path: Text = NOT_READ
    """Behind symbolic links."""
    origin: str
    """`wheel`, `LD_PRELOAD`, `LD_LIBRARY_PATH`, `ldconfig`, `system` (default folders), `conda`, `variable` (a
    NCCL_*_PLUGIN is a path), or `vendor` (a well-known folder that the loader does not search by itself)."""
    version: Text = NOT_READ
    """libnccl: `2.27.3`; aws-ofi-nccl: its release."""
    size_bytes: Count = NOT_READ
    """0 = an empty file, e.g. a mount that failed."""


class Plugin(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A plugin that NCCL could load. Source: the folders that the loader searches."""

    library: Library
    name: str
    """File name, e.g. `libnccl-net-ofi.so`."""
    symbols: Texts = NOT_READ
    """Plugin tables that it exports: ncclNetPlugin_v10, ncclCollNetPlugin_v10, ncclTunerPlugin_v4, ..."""


class Versions(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Software, from files and package metadata; nothing is imported or loaded. '' = not installed."""

    nccltool: str = ""
    python: Text = NOT_READ
    torch: Text = NOT_READ
    """e.g. `2.13.0+cu130`. Source: the metadata of the package."""
    torch_cuda: Text = NOT_READ
    """CUDA of the torch build, e.g. `13.0`; '' = a build without CUDA. Source: torch/version.py, as text."""
    nccl: Text = NOT_READ
    """The libnccl that torch here would load: the wheel nvidia-nccl-cu*, else the first on the loader path."""
    nccl_source: str = ""
    """Where `nccl` was taken from."""
    libnccl: tuple[Library, ...] | Unknown = NOT_READ
    """Every libnccl.so.2 that can be reached, in the order of the loader."""
    packages: tuple[Setting, ...] | Unknown = NOT_READ
    """torch, megatron-core and nvidia-* wheels with their versions."""
    ofed: Text = NOT_READ
    """Version of mlx5_core where it names one (DOCA / MLNX_OFED); '' = the kernel's own driver."""
    libfabric: Text = NOT_READ
    """Path of libfabric.so.1; '' = none."""
    glibc: Text = NOT_READ
    os: Text = NOT_READ
    """PRETTY_NAME of /etc/os-release."""


class FileFact(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A file or folder that a setting names, or whose presence says something."""

    path: str
    asked_by: str
    """The variable that names it; `well-known` for the others."""
    exists: Flag = NOT_READ
    is_dir: Flag = NOT_READ
    readable: Flag = NOT_READ
    writable: Flag = NOT_READ
    parent_writable: Flag = NOT_READ
    """A file could be made in its folder (False also when the folder is missing)."""
    fstype: Text = NOT_READ
    """Of the file system that holds it, e.g. `ext4`, `nfs4`, `lustre`."""
    size_bytes: Count = NOT_READ
    text: Text = NOT_READ
    """Only of NCCL_TOPO_FILE and NCCL_GRAPH_FILE, up to 1 MiB."""


class Cloud(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What the firmware says about the maker. Source: /sys/class/dmi/id. No metadata service is called."""

    provider: str | Unknown | None = NOT_READ
    """aws, gcp, azure, oci; None = none of them. CoreWeave has no mark."""
    sys_vendor: Text = NOT_READ
    product_name: Text = NOT_READ
    """The instance type on AWS, e.g. `p5.48xlarge`."""
    product_version: Text = NOT_READ
    board_name: Text = NOT_READ
    chassis_asset_tag: Text = NOT_READ
    bios_vendor: Text = NOT_READ
    bios_version: Text = NOT_READ


class Clock(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The clock, as the kernel disciplines it. Source: adjtimex, which changes nothing."""

    time_s: Number = NOT_READ
    """Seconds since the epoch when the snapshot was taken."""
    synchronised: Flag = NOT_READ
    max_error_s: Number = NOT_READ
    """The kernel's own bound."""
    offset_s: Number = NOT_READ


class Services(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Daemons that matter, by their process names. Unknown in a PID namespace of one's own."""

    running: Texts = NOT_READ
    """Of: nv-fabricmanager, nvidia-imex, nvidia-persistenced, nv-hostengine, chronyd, ntpd, systemd-timesyncd,
    irqbalance, opensm, numad. A name is complete here although the kernel cuts it at 15 letters."""


class Process(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The process whose environment this is. Source: /proc/<pid>."""

    communicators: Count = NOT_READ
    """Its threads `NCCL Service`, one for each communicator that shares no resources. NCCL names its threads only
    with NCCL_SET_THREAD_NAME=1."""
    changed: Texts = NOT_READ
    """Variables NCCL_* that it has set, changed or removed since it was started."""


class HostFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A snapshot of one host, as one rank sees it."""

    schema: int = SCHEMA
    kind: str = KIND
    host: str
    """Its name, for people; `names.hostname` where that is known."""
    root: str = "/"
    """`/`, or the captured tree that was read."""
    taken: str = ""
    """RFC 3339, UTC."""
    seconds: float = 0.0
    """How long looking took."""
    boot_id: Text = NOT_READ
    """/proc/sys/kernel/random/boot_id: the same for containers of one host."""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Variables of the process that an allow-list of names admits: no secrets."""
    env_source: str = "process"
    """`process`, `pid N`, or the file that was read."""
    conf_files: tuple[ConfFile, ...] = ()
    """In NCCL's order: the user's, then the system's."""
    files: tuple[FileFact, ...] = ()
    network: Network = Network()
    rdma: Rdma = Rdma()
    pci: Pci = Pci()
    nvidia: Nvidia = Nvidia()
    kernel: Kernel = Kernel()
    cpu: Cpu = Cpu()
    limits: Limits = Limits()
    shm: Shm = Shm()
    container: Container = Container()
    names: Names = Names()
    versions: Versions = Versions()
    plugins: tuple[Plugin, ...] | Unknown = NOT_READ
    """libnccl-net*, libnccl-tuner*, libnccl-profiler*, libnccl-env* in the order of the loader."""
    cloud: Cloud = Cloud()
    clock: Clock = Clock()
    services: Services = Services()
    process: Process = Process()

    def file(self, asked_by: str) -> FileFact | None:
        """The file that a variable names; for well-known ones, give the path."""
        return next((one for one in self.files if asked_by in (one.asked_by, one.path)), None)


def all_unknown(part: type[P], reason: str, **given: object) -> P:
    """A part each of whose leaves is Unknown for one reason; what is given, or is no leaf, stays as it is."""
    leaves = [one.name for one in msgspec.structs.fields(part) if one.default is NOT_READ]
    return part(**{**{name: Unknown(reason) for name in leaves}, **given})


@lru_cache(maxsize=256)
def numbers(text: str) -> frozenset[int]:
    """The numbers of a list as the kernel writes it, `0-3,8`. Raises NotKnown for anything else."""
    found: set[int] = set()
    for word in text.strip().split(",") if text.strip() else ():
        first, _, last = word.partition("-")
        plain = word.isascii() and first.isdecimal() and (last.isdecimal() or "-" not in word)
        if not plain or len(word) > _LONGEST_RANGE or len(found) > _MOST_NUMBERS:
            raise NotKnown(f"{text[:40]!r} is no list of processors")
        found.update(range(int(first), min(int(last or first), int(first) + _MOST_NUMBERS) + 1))
    return frozenset(found)


_LONGEST_RANGE, _MOST_NUMBERS = 12, 1 << 16
"""Ports are the longest list of the kernel."""


def to_json(host: HostFacts, indent: int = 2) -> str:
    """The snapshot as JSON; `indent=0` gives one line."""
    raw = msgspec.json.encode(host)
    return (msgspec.json.format(raw, indent=indent) if indent else raw).decode()


_DECODER = msgspec.json.Decoder(HostFacts)


def from_json(text: bytes | str, where: str) -> HostFacts:
    """Read a snapshot. Raises BadInput that names `where` and the key that is wrong."""
    try:
        host = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadInput(f"{where} is not a snapshot of facts: {error}", _REMEDY) from error
    return _checked(host, where)


def _checked(host: HostFacts, where: str) -> HostFacts:
    if host.kind != KIND:
        raise BadInput(f"{where} is a document of kind {host.kind!r}, not {KIND!r}", _REMEDY)
    if host.schema != SCHEMA:
        raise BadInput(f"{where} has schema {host.schema}, this nccltool reads {SCHEMA}", "use its own version")
    return host


_REMEDY = "save one with: nccltool facts --output FILE"
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DIGEST_BYTES = 16


class Reader:
    """Reads snapshots of many hosts: what they have in common is decoded once, and is one object in all."""

    def __init__(self) -> None:
        self._decoders: dict[str, msgspec.json.Decoder[Any]] = {}
        self._parts: dict[tuple[str, bytes], Any] = {}
        self._links: dict[object, Any] = {}

    def read(self, text: bytes, where: str) -> HostFacts:
        """A snapshot. Raises BadInput that names `where` and the key that is wrong."""
        try:
            parts = _OBJECT.decode(text)
            host = HostFacts(**{name: self._part(name, bytes(parts[name])) for name in _PARTS & parts.keys()})
        except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError):
            return from_json(text, where)  # which names the key
        return _checked(host, where)

    def _part(self, name: str, raw: bytes) -> Any:
        key = (name, blake2b(raw, digest_size=_DIGEST_BYTES).digest())
        if key not in self._parts:
            if name not in self._decoders:
                self._decoders[name] = msgspec.json.Decoder(_PART_TYPES[name])
            part = self._decoders[name].decode(raw)
            self._parts[key] = self._with_links(part) if isinstance(part, Nvidia) else part
        return self._parts[key]

    def _with_links(self, part: Nvidia) -> Nvidia:
        """GPUs have a name each; their NVLinks, of which one has up to 18, are alike, and half of all there is."""
        if isinstance(part.gpus, Unknown):
            return part
        replace, links = msgspec.structs.replace, self._links
        gpus = (replace(gpu, nvlinks=links.setdefault(gpu.nvlinks, gpu.nvlinks)) for gpu in part.gpus)
        return replace(part, gpus=tuple(gpus))


_PART_TYPES = {one.name: one.type for one in msgspec.structs.fields(HostFacts)}
_PARTS = _PART_TYPES.keys()
