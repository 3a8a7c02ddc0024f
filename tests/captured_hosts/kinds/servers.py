"""Servers of one's own."""

from dataclasses import replace

from tests.captured_hosts.kinds.base import AMD, DAEMONS, DRIVERS, GIB, MIB, SERVER, VERBS, Hca, Kind, Nic

IB = Kind(
    hostname="n001",
    dmi=SERVER,
    nics=(Nic(name="eno1", driver="ixgbe", address="10.0.0.1/24", speed=10000, vendor="0x8086", device="0x1563"),),
    hcas=tuple(
        Hca(name=f"mlx5_{n}", lid=n + 1, gid=f"fe80:0000:0000:0000:a088:c203:00aa:000{n}", under_gpu=n)
        for n in range(8)
    ),
    virtual=("docker0",),
    gpus=8,
    modules=DRIVERS,
    daemons=DAEMONS,
    libraries=VERBS,
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
H100_PCIE = replace(
    IB,
    hostname="w001",
    nics=(Nic(name="eno1", driver="ice", address="10.6.0.1/24", speed=25000, vendor="0x8086", device="0x159b"),),
    hcas=(),
    gpus=1,
    gpu="NVIDIA H100 PCIe",
    gpu_device="0x2331",
    gpu_memory_bytes=81559 * MIB,
    nvlink=False,
    modules=("nvidia", "nvidia_uvm", "nvidia_modeset", "ice"),
    daemons=("chronyd", "irqbalance", "nvidia-persistenced"),
    cores=64,
    memory_bytes=512 * GIB,
    shm_bytes=256 * GIB,
    libraries=(),
)
"""One card and a network card for everything. Device: pci.ids."""
_STORAGE = {1: "enp41s0f0np0", 7: "enp170s0f0np0"}
DGX = replace(
    IB,
    hostname="dgx-01",
    os="Ubuntu 22.04.5 LTS",
    release="5.15.0-1063-nvidia",
    dmi={"sys_vendor": "NVIDIA", "product_name": "DGXH100", "chassis_asset_tag": "Unknown"},
    gpu="NVIDIA H100 80GB HBM3",
    gpu_device="0x2330",
    gpu_memory_bytes=81559 * MIB,
    cores=224,
    nics=(
        Nic(name="eno3", driver="ixgbe", address="10.0.0.1/24", speed=10000, vendor="0x8086", device="0x1563"),
        *(
            Nic(name=name, driver="mlx5_core", address=f"10.8.{number}.1/24", speed=200000, mtu=9000)
            for number, name in _STORAGE.items()
        ),
    ),
    hcas=tuple(
        Hca(
            name=f"mlx5_{number}",
            layer="Ethernet",
            rate="200 Gb/sec (4X HDR)",
            netdev=_STORAGE[number],
            board="NVD0000000023",
        )
        if number in _STORAGE
        else Hca(
            name=f"mlx5_{number}",
            lid=number + 1,
            gid=f"fe80:0000:0000:0000:a088:c203:00aa:{number:04x}",
            under_gpu=(0, 3, 4, 5, 6, 9, 10, 11).index(number),
            board="MT_0000000891",
        )
        for number in (0, 1, 3, 4, 5, 6, 7, 9, 10, 11)
    ),
)
"""DGX H100 User Guide, "Network Connections": eight ConnectX-7 at 400 Gb/s for the cluster, and the first port of
each of the two cards for storage, here Ethernet at 200 Gb/s."""
DGX_IB_STORAGE = replace(
    DGX,
    hostname="dgx-02",
    nics=DGX.nics[:1],
    hcas=tuple(
        replace(
            hca,
            layer="InfiniBand",
            rate="200 Gb/sec (4X HDR)",
            netdev="",
            gid=IB.hcas[0].gid[:-2] + f"{n:02x}",
            lid=90 + n,
        )
        if hca.netdev
        else hca
        for n, hca in enumerate(DGX.hcas)
    ),
)
"""The same with storage on an InfiniBand fabric of its own."""
MI300X = replace(
    IB,
    hostname="amd-01",
    os="Ubuntu 22.04.5 LTS",
    dmi={"sys_vendor": "Supermicro", "product_name": "AS -8125GS-TNMR2", "chassis_asset_tag": "Default string"},
    cpu="AMD EPYC 9654 96-Core Processor",
    make=AMD,
    gpu="AMD Instinct MI300X OAM",
    gpu_device="0x74a1",
    gpu_memory_bytes=206141652992,
    gfx_target_version=90402,
    driver="6.12.12",
    hcas=tuple(
        replace(hca, layer="Ethernet", netdev=f"ens{n}np0", gid="", lid=0) for n, hca in enumerate(IB.hcas)
    ),
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
    modules=("amdgpu", "ib_core", "ib_uverbs", "rdma_ucm", "mlx5_core", "mlx5_ib"),
    daemons=("chronyd", "irqbalance"),
    libraries=VERBS[:1],
)
"""Device and architecture (gfx942): amdgpu_drv.c and AMD's page "Accelerator and GPU hardware specifications"."""
TCP = Kind(
    hostname="t001",
    dmi=SERVER,
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
