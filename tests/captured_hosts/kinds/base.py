"""Descriptions of hosts: what is in the machine, not how the kernel writes it."""

from dataclasses import dataclass, field

MIB, GIB = 1 << 20, 1 << 30
OPEN, PROPRIETARY = "open", "proprietary"


@dataclass(frozen=True, kw_only=True)
class Nic:
    """A network interface with hardware behind it."""

    name: str
    driver: str
    address: str = ""
    """IPv4 in CIDR notation."""
    address6: str = ""
    speed: int | None = 25000
    mtu: int = 1500
    state: str = "up"
    vendor: str = "0x15b3"
    device: str = "0x1021"
    arp_type: int = 1
    under_gpu: int | None = None
    """Behind the same switch as this GPU; None = at a root port of its own."""
    pci: bool = True
    """A PCI function; a guest of Hyper-V has interfaces that are none."""


@dataclass(frozen=True, kw_only=True)
class Hca:
    """An RDMA device with one port."""

    name: str
    driver: str = "mlx5_core"
    layer: str = "InfiniBand"
    rate: str = "400 Gb/sec (4X NDR)"
    state: str = "4: ACTIVE"
    phys_state: str = "5: LinkUp"
    lid: int = 0
    netdev: str = ""
    """Of a RoCE device: its interface, whose addresses are its GIDs."""
    gid: str = ""
    """Of any other device: its only GID."""
    vendor: str = "0x15b3"
    device: str = "0x1021"
    fw: str = "28.43.2026"
    board: str = "MT_0000000838"
    type: str = "MT4129"
    node_type: str = "1: CA"
    under_gpu: int | None = None


@dataclass(frozen=True, kw_only=True)
class Make:
    """Whose GPUs they are, and what drives them."""

    driver: str
    pci_class: str
    pci_vendor: str


NVIDIA = Make(driver="nvidia", pci_class="0x030200", pci_vendor="0x10de")
AMD = Make(driver="amdgpu", pci_class="0x120000", pci_vendor="0x1002")
"""An Instinct is a processing accelerator, no display."""
WSL = Make(driver="dxgkrnl", pci_class="0x030200", pci_vendor="0x1414")
"""A GPU that Windows lends; pci.ids calls it Basic Render Driver."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A host."""

    hostname: str
    os: str = "Ubuntu 24.04.2 LTS"
    release: str = "6.8.0-60-generic"
    cmdline: str = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu=pt"
    dmi: dict[str, str] = field(default_factory=dict)
    nics: tuple[Nic, ...] = ()
    hcas: tuple[Hca, ...] = ()
    virtual: tuple[str, ...] = ()
    gpus: int = 0
    make: Make = NVIDIA
    given: tuple[int, ...] | None = None
    """GPUs whose device files are here; None = those of all."""
    mig_instances: tuple[int, ...] = ()
    """GPU instances of the first GPU, which then is in MIG mode."""
    gpu: str = "NVIDIA H200"
    gpu_device: str = "0x2335"
    gpu_memory_bytes: int = 141 * GIB
    compute_capability: float = 9.0
    gfx_target_version: int = 0
    nvlink: bool = True
    """The GPUs of this host reach each other over NVLink, or over Infinity Fabric."""
    nvlink_version: int = 4
    cluster_uuid: str = "00000000-0000-0000-0000-000000000000"
    driver: str = "570.124.06"
    flavour: str = OPEN
    modules: tuple[str, ...] = ()
    arch: str = "x86_64"
    cpu: str = "Intel(R) Xeon(R) Platinum 8480C"
    cores: int = 192
    nodes: int = 2
    vm: bool = False
    acs: int = 0
    """ACS control word of every bridge."""
    root: bool = True
    """The configuration space of PCI is shown whole."""
    memory_bytes: int = 2048 * GIB
    shm_bytes: int = 1024 * GIB
    memlock: str = "unlimited"
    nofile: int = 1048576
    cgroup: str = "0::/system.slice/slurmstepd.scope/job_1"
    capabilities: int = 0
    uid: int = 1000
    user_namespace: bool = False
    pid_namespace: bool = False
    mounts: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    """Paths in ld.so.cache."""
    sysctls: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    daemons: tuple[str, ...] = ("chronyd", "irqbalance")
    imex_channels: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Folders that are missing, as in a container that masks them."""

    def uuid(self, number: int) -> str:
        """That the driver gives a GPU."""
        return f"GPU-00000000-0000-4000-8000-{number:012x}"

    def unique_id(self, number: int) -> int:
        """That amdgpu gives a GPU."""
        return 0x5A6B7C8D9E0F1000 + number


DRIVERS = (
    "nvidia",
    "nvidia_uvm",
    "nvidia_modeset",
    "nvidia_peermem",
    "gdrdrv",
    "ib_core",
    "ib_uverbs",
    "rdma_ucm",
    "mlx5_core",
    "mlx5_ib",
    "bonding",
)
VERBS = ("/usr/lib/x86_64-linux-gnu/libibverbs.so.1", "/usr/lib/x86_64-linux-gnu/libgdrapi.so.2")
DAEMONS = ("chronyd", "irqbalance", "nv-fabricmanager", "nvidia-persistenced")
SERVER = {"sys_vendor": "Supermicro", "product_name": "SYS-821GE-TNHR", "chassis_asset_tag": "Default string"}
