"""Trays of a rack whose GPUs share an NVLink domain."""

from dataclasses import replace

from tests.captured_hosts.kinds.base import DRIVERS, GIB, MIB
from tests.captured_hosts.kinds.servers import IB

GB200 = replace(
    IB,
    hostname="nvl72-tray-01",
    release="6.8.0-1019-nvidia-64k",
    dmi={"sys_vendor": "NVIDIA", "product_name": "GB200 NVL", "chassis_asset_tag": "Unknown"},
    arch="aarch64",
    cores=144,
    memory_bytes=960 * GIB,
    shm_bytes=480 * GIB,
    gpus=4,
    gpu="NVIDIA GB200",
    gpu_device="0x2941",
    gpu_memory_bytes=189471 * MIB,
    compute_capability=10.0,
    nvlink_version=5,
    cluster_uuid="3f0c5a16-77a1-4a0e-9d53-1f6f3b1d2c44",
    hcas=IB.hcas[:4],
    virtual=(),
    modules=DRIVERS,
    daemons=("chronyd", "irqbalance", "nvidia-persistenced", "nvidia-imex"),
    imex_channels=("channel0",),
    libraries=("/usr/lib/aarch64-linux-gnu/libibverbs.so.1", "/usr/lib/aarch64-linux-gnu/libgdrapi.so.2"),
)
"""One compute tray of 18, by the data sheet of GB200 NVL72: 2 Grace and 4 Blackwell; a ConnectX-7 of 400 Gb/s for
each GPU. IMEX channels as in NVIDIA's guide to multi-node NVLink; fabric managers run on the switch trays."""
