"""Descriptions of hosts: what is in the machine, not how the kernel writes it."""

from dataclasses import dataclass, field, replace

GIB = 1 << 30
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
    gpu: str = "NVIDIA H200"
    gpu_device: str = "0x2335"
    gpu_memory_bytes: int = 141 * GIB
    compute_capability: float = 9.0
    nvlink: bool = True
    driver: str = "570.124.06"
    flavour: str = OPEN
    modules: tuple[str, ...] = ()
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


_DRIVERS = (
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
_VERBS = ("/usr/lib/x86_64-linux-gnu/libibverbs.so.1", "/usr/lib/x86_64-linux-gnu/libgdrapi.so.2")
_DAEMONS = ("chronyd", "irqbalance", "nv-fabricmanager", "nvidia-persistenced")
_SERVER = {"sys_vendor": "Supermicro", "product_name": "SYS-821GE-TNHR", "chassis_asset_tag": "Default string"}

IB = Kind(
    hostname="n001",
    dmi=_SERVER,
    nics=(Nic(name="eno1", driver="ixgbe", address="10.0.0.1/24", speed=10000, vendor="0x8086", device="0x1563"),),
    hcas=tuple(
        Hca(name=f"mlx5_{n}", lid=n + 1, gid=f"fe80:0000:0000:0000:a088:c203:00aa:000{n}", under_gpu=n)
        for n in range(8)
    ),
    virtual=("docker0",),
    gpus=8,
    modules=_DRIVERS,
    daemons=_DAEMONS,
    libraries=_VERBS,
)
ROCE = replace(
    IB,
    hostname="r001",
    nics=(
        Nic(name="eno1", driver="ixgbe", address="10.0.0.1/24", speed=10000, vendor="0x8086", device="0x1563"),
        *(
            Nic(
                name=f"ens{n}np0",
                driver="mlx5_core",
                address=f"10.1.{n}.1/24",
                speed=400000,
                mtu=9000,
                under_gpu=n,
            )
            for n in range(8)
        ),
    ),
    hcas=tuple(Hca(name=f"mlx5_{n}", layer="Ethernet", netdev=f"ens{n}np0", under_gpu=n) for n in range(8)),
)
AWS = replace(
    IB,
    hostname="ip-10-2-0-1",
    os="Amazon Linux 2023.6.20250303",
    release="6.1.128-136.201.amzn2023.x86_64",
    cmdline="BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz root=UUID=0 ro console=ttyS0 net.ifnames=0",
    dmi={"sys_vendor": "Amazon EC2", "product_name": "p5.48xlarge", "chassis_asset_tag": "Amazon EC2"},
    vm=True,
    nics=(
        Nic(
            name="eth0",
            driver="ena",
            address="10.2.0.1/20",
            speed=None,
            mtu=9001,
            vendor="0x1d0f",
            device="0xec20",
        ),
    ),
    hcas=tuple(
        Hca(
            name=f"rdmap{79 + n}s0",
            driver="efa",
            layer="Unspecified",
            rate="100 Gb/sec (4X EDR)",
            gid=f"fe80:0000:0000:0000:0400:00ff:fe00:000{n}",
            vendor="0x1d0f",
            device="0xefa2",
            fw="0.0.0.0",
            board="",
            type="",
            node_type="7: unspecified",
            under_gpu=n % 8,
        )
        for n in range(8)
    ),
    modules=("nvidia", "nvidia_uvm", "gdrdrv", "ib_core", "ib_uverbs", "efa", "ena"),
    libraries=(*_VERBS, "/opt/amazon/efa/lib64/libfabric.so.1", "/opt/amazon/ofi-nccl/lib64/libnccl-net.so"),
)
GCP = replace(
    IB,
    hostname="a3u-0",
    os="Debian GNU/Linux 12 (bookworm)",
    cmdline="BOOT_IMAGE=/boot/vmlinuz root=UUID=0 ro",
    dmi={"sys_vendor": "Google", "product_name": "Google Compute Engine", "chassis_asset_tag": ""},
    vm=True,
    nics=(
        Nic(
            name="enp0s19",
            driver="gve",
            address="10.3.0.1/32",
            mtu=8896,
            speed=None,
            vendor="0x1ae0",
            device="0x0042",
        ),
        *(
            Nic(
                name=f"gpu{n}rdma0",
                driver="mlx5_core",
                address=f"192.168.{n}.1/24",
                speed=400000,
                mtu=8896,
                device="0x101e",
                under_gpu=n,
            )
            for n in range(8)
        ),
    ),
    hcas=tuple(
        Hca(
            name=f"mlx5_{n}",
            layer="Ethernet",
            netdev=f"gpu{n}rdma0",
            device="0x101e",
            board="MT_0000000999",
            under_gpu=n,
        )
        for n in range(8)
    ),
    modules=("nvidia", "nvidia_uvm", "nvidia_peermem", "ib_core", "ib_uverbs", "mlx5_core", "mlx5_ib", "gve"),
    files={"/usr/local/gib/scripts/set_nccl_env.sh": "", "/usr/local/gib/configs/tuner_config_a3u.txtpb": ""},
    libraries=(*_VERBS, "/usr/local/gib/lib64/libnccl-net_internal.so"),
)
TCP = Kind(
    hostname="t001",
    dmi=_SERVER,
    nics=(
        Nic(
            name="ens3f0",
            driver="ice",
            address="10.4.0.1/24",
            speed=100000,
            mtu=9000,
            vendor="0x8086",
            device="0x1592",
        ),
    ),
    gpus=4,
    gpu="NVIDIA L40S",
    gpu_device="0x26b9",
    gpu_memory_bytes=45 * GIB,
    compute_capability=8.9,
    nvlink=False,
    modules=("nvidia", "nvidia_uvm", "ice"),
    cores=64,
    memory_bytes=512 * GIB,
    shm_bytes=256 * GIB,
)
LAPTOP = Kind(
    hostname="laptop",
    dmi={"sys_vendor": "LENOVO", "product_name": "21FA", "chassis_asset_tag": "No Asset Information"},
    cmdline="BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 ro quiet splash",
    nics=(
        Nic(
            name="wlp0s20f3",
            driver="iwlwifi",
            address="192.168.1.20/24",
            speed=None,
            vendor="0x8086",
            device="0x7e40",
        ),
    ),
    virtual=("docker0", "virbr0"),
    cores=16,
    nodes=1,
    memory_bytes=32 * GIB,
    shm_bytes=16 * GIB,
    memlock="4198400000",
    nofile=1048576,
    daemons=("systemd-timesyncd",),
    cgroup="0::/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope",
    root=False,
)
CONTAINER = replace(
    IB,
    hostname="pod-0",
    virtual=("veth1",),
    nics=(),
    hidden=("/sys/class", "/sys/bus", "/sys/devices/pci0000:00"),
    cgroup="0::/",
    shm_bytes=64 << 20,
    memlock="65536",
    nofile=1024,
    mounts=("overlay / overlay rw,lowerdir=/a,upperdir=/b",),
    files={"/.dockerenv": ""},
    pid_namespace=True,
    env={"KUBERNETES_SERVICE_HOST": "10.96.0.1"},
)
KINDS = {
    "ib": IB,
    "roce": ROCE,
    "aws": AWS,
    "gcp": GCP,
    "tcp": TCP,
    "laptop": LAPTOP,
    "container": CONTAINER,
}
