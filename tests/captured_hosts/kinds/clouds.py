"""Machines that clouds rent out, as their pages describe them."""

from dataclasses import replace

from tests.captured_hosts.kinds.base import DRIVERS, GIB, MIB, VERBS, Hca, Nic
from tests.captured_hosts.kinds.servers import IB

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
    libraries=(*VERBS, "/opt/amazon/efa/lib64/libfabric.so.1", "/opt/amazon/ofi-nccl/lib64/libnccl-net.so"),
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
    libraries=(*VERBS, "/usr/local/gib/lib64/libnccl-net_internal.so"),
)
_P5_FIRST = (79, 96, 113, 130, 147, 164, 181, 198)
"""Of four buses beside each GPU, as NCCL's logs of that machine name its adapters (rdmap79s0, rdmap80s0, ...)."""
P5 = replace(
    AWS,
    hostname="ip-10-2-0-2",
    gpu="NVIDIA H100 80GB HBM3",
    gpu_device="0x2330",
    gpu_memory_bytes=81559 * MIB,
    hcas=tuple(
        replace(
            AWS.hcas[0],
            name=f"rdmap{first + n}s0",
            gid=f"fe80:0000:0000:0000:0400:00ff:fe{gpu:02x}:000{n}",
            under_gpu=gpu,
        )
        for gpu, first in enumerate(_P5_FIRST)
        for n in range(4)
    ),
)
"""Amazon EC2 User Guide, "Accelerated computing instances": 32 network cards with 100 Gb/s of EFA each. One
interface has an address, the others are EFA only."""
_FASTRAK = tuple(f"eth{n + 1}" for n in range(8))
A3_MEGA = replace(
    GCP,
    hostname="a3m-0",
    gpu="NVIDIA H100 80GB HBM3",
    gpu_device="0x2330",
    gpu_memory_bytes=81559 * MIB,
    nics=(
        replace(GCP.nics[0], name="eth0"),
        *(
            Nic(
                name=name,
                driver="gve",
                address=f"10.{64 + n}.0.2/32",
                speed=200000,
                mtu=8244,
                vendor="0x1ae0",
                device="0x0042",
                under_gpu=n,
            )
            for n, name in enumerate(_FASTRAK)
        ),
    ),
    hcas=(),
    modules=("nvidia", "nvidia_uvm", "gve"),
    files={"/dev/aperture_devices/aperture0": "", "/var/lib/tcpxo/lib64/nccl-env-profile.sh": ""},
    libraries=("/var/lib/tcpxo/lib64/libnccl-net.so", "/var/lib/tcpxo/lib64/libnccl-tuner.so"),
    env={
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_FASTRAK_CTRL_DEV": "eth0",
        "NCCL_FASTRAK_IFNAME": ",".join(_FASTRAK),
    },
)
"""Compute Engine, "GPU machine types": a gVNIC for the host and eight of 200 Gb/s beside the GPUs."""
A4 = replace(
    GCP,
    hostname="a4-0",
    gpu="NVIDIA B200",
    gpu_device="0x2901",
    gpu_memory_bytes=183359 * MIB,
    compute_capability=10.0,
    nvlink_version=5,
    cores=224,
    memory_bytes=3968 * GIB,
    files={"/usr/local/gib/scripts/set_nccl_env.sh": "", "/usr/local/gib/configs/tuner_config_a4.txtpb": ""},
)
"""The same page: a4-highgpu-8g, eight ConnectX-7 of 400 Gb/s over RoCE, and gIB."""
_NDV5 = "NCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml\nNCCL_IGNORE_CPU_AFFINITY=1\n"
AZURE = replace(
    IB,
    hostname="ndh100-0",
    os="Ubuntu 22.04.5 LTS",
    release="6.8.0-1021-azure",
    dmi={
        "sys_vendor": "Microsoft Corporation",
        "product_name": "Virtual Machine",
        "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
    },
    gpu="NVIDIA H100 80GB HBM3",
    gpu_device="0x2330",
    gpu_memory_bytes=81559 * MIB,
    cores=96,
    vm=True,
    nics=(Nic(name="eth0", driver="hv_netvsc", address="10.5.0.4/24", speed=100000, pci=False),),
    hcas=tuple(
        replace(hca, name=f"mlx5_ib{n}", device="0x101e", board="MT_0000000838") for n, hca in enumerate(IB.hcas)
    ),
    virtual=(),
    modules=(*DRIVERS, "hv_netvsc"),
    files={"/etc/nccl.conf": _NDV5, "/opt/microsoft/ndv5/topo.xml": '<system version="1"/>\n'},
)
"""Azure, "ND-H100-v5 sizes series": a ConnectX-7 of 400 Gb/s for each GPU, given as a virtual function; the
settings are those of Azure/azhpc-images."""
