"""Parts of a machine, as a container or a guest sees them."""

from dataclasses import replace

from tests.captured_hosts.kinds.base import GIB, MIB, WSL, Kind, Nic
from tests.captured_hosts.kinds.servers import DGX, H100_PCIE, IB

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
TWO_OF_EIGHT = replace(
    DGX,
    hostname="pod-2of8",
    given=(2, 5),
    cgroup="0::/",
    mounts=("overlay / overlay rw,lowerdir=/a,upperdir=/b",),
    files={"/.dockerenv": ""},
    pid_namespace=True,
)
"""Two device files of eight; /proc of the driver and /sys show all of the machine."""
MIG = replace(
    H100_PCIE,
    hostname="mig-pod",
    mig_instances=(1,),
    cgroup="0::/",
    mounts=("overlay / overlay rw,lowerdir=/a,upperdir=/b",),
    files={"/.dockerenv": ""},
    pid_namespace=True,
    env={"CUDA_VISIBLE_DEVICES": "MIG-ad4a4c2b-4e0b-5f4b-9f0b-6a4a6a6b7c8d"},
)
"""One instance of a GPU."""
WSL2 = Kind(
    hostname="desktop",
    release="5.15.167.4-microsoft-standard-WSL2",
    cmdline="initrd=\\initrd.img WSL_ROOT_INIT=1 panic=-1 nr_cpus=16 console=hvc0",
    cpu="13th Gen Intel(R) Core(TM) i9-13900K",
    make=WSL,
    gpus=1,
    gpu="NVIDIA GeForce RTX 4090",
    gpu_device="0x008e",
    gpu_memory_bytes=24564 * MIB,
    compute_capability=8.9,
    nvlink=False,
    driver="566.36",
    nics=(Nic(name="eth0", driver="hv_netvsc", address="172.22.80.5/20", speed=10000, mtu=1492, pci=False),),
    cores=16,
    nodes=1,
    vm=True,
    memory_bytes=32 * GIB,
    shm_bytes=16 * GIB,
    memlock="65536",
    daemons=("systemd-timesyncd",),
    cgroup="0::/init.scope",
    root=False,
    libraries=("/usr/lib/wsl/lib/libcuda.so.1",),
    hidden=("/sys/class/dmi",),
)
"""GeForce under Windows. Hyper-V shows neither its PCI device nor firmware."""
