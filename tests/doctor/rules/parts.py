"""Parts of machines for the cases of rules: GPUs, PCI trees, adapters, interfaces, files."""

from typing import Any

from nccltool.hosts.facts import (
    Cloud,
    Container,
    Cpu,
    DeviceFile,
    FileFact,
    Gpu,
    HostNames,
    Interface,
    Library,
    Network,
    Nvidia,
    NvLink,
    Pci,
    PciDevice,
    Plugin,
    ProcessLimits,
    Rdma,
    RdmaDevice,
    RdmaPort,
    Setting,
    Shm,
)
from nccltool.hosts.facts.leaves import Texts

H100, B200, A100, L40S = "NVIDIA H100 80GB HBM3", "NVIDIA B200", "NVIDIA A100-SXM4-80GB", "NVIDIA L40S"
GB200 = "NVIDIA GB200"
_CAPABILITY = {H100: 9.0, B200: 10.0, A100: 8.0, L40S: 8.9, GB200: 10.0}
DOMAIN = "6f7d3b52-0000-4000-8000-0123456789ab"
ROCE, IB = "Ethernet", "InfiniBand"


def gpu(number: int, model: str = H100, **given: Any) -> Gpu:
    """The GPU of slot `number`."""
    linked = model != L40S
    links = (NvLink(number=0, active=True, remote="switch"),) if linked else ()
    facts = {
        "pci": f"0000:{16 * number + 3:02x}:00.0",
        "uuid": f"GPU-{number}",
        "name": model,
        "compute_capability": _CAPABILITY[model],
        "nvlinks": links,
        "fabric_state": "completed" if linked else "not supported",
        "fabric_status": "success",
        "cluster_uuid": DOMAIN if model == GB200 else "00000000-0000-0000-0000-000000000000",
        "clique_id": 0,
    }
    return Gpu(**{**facts, **given})


def nvidia(count: int = 8, model: str = H100, gpus: tuple[Gpu, ...] | None = None, **given: Any) -> Nvidia:
    """A driver with GPUs."""
    found = tuple(gpu(number, model) for number in range(count)) if gpus is None else gpus
    facts = {
        "driver": "570.124.06",
        "cuda": "12.8",
        "gpus": found,
        "visible_gpus": len(found),
        "imex_channels": (),
    }
    return Nvidia(**{**facts, **given})


NO_GPUS = Nvidia(driver="", gpus=(), visible_gpus=0)


def pci(count: int = 8, *, flat: bool = False, acs: Any = 0, kinds: Texts = (), adapters: int = 0) -> Pci:
    """GPUs, each behind a root port and a switch of its own; or all on one bus."""
    devices = []
    for number in range(count):
        near = f"{48 * (number * 2 // max(count, 2))}-{48 * (number * 2 // max(count, 2)) + 47}"
        above = () if flat else (f"0000:{16 * number:02x}:01.0", f"0000:{16 * number + 1:02x}:00.0")
        devices += [
            PciDevice(address=address, class_code=0x060400, upstream=above[:place], acs_control=acs)
            for place, address in enumerate(above)
        ]
        devices.append(
            PciDevice(
                address=f"0000:{16 * number + 3:02x}:00.0",
                class_code=0x030200,
                vendor="0x10de",
                local_cpus=near,
                upstream=above,
            )
        )
        if number < adapters:
            devices.append(
                PciDevice(address=f"0000:{16 * number + 5:02x}:00.0", class_code=0x020700, upstream=above)
            )
    return Pci(devices=tuple(devices), iommu_types=kinds, iommu_groups=0)


def rdma(
    count: int = 8, layer: str = IB, *, active: int | None = None, driver: str = "mlx5_core", guid: str = "a"
) -> Rdma:
    """Adapters with one port, of which the first `active` ones are active."""
    working = count if active is None else active
    return Rdma(
        devices=tuple(
            RdmaDevice(
                name=f"mlx5_{number}",
                driver=driver,
                pci=f"0000:{16 * number + 5:02x}:00.0",
                node_guid=f"{guid}{number}",
                netdevs=(f"ens{number}",) if layer == ROCE else (),
                ports=(
                    RdmaPort(
                        number=1,
                        link_layer=layer,
                        state="ACTIVE" if number < working else "DOWN",
                        rate_gbps=400.0,
                    ),
                ),
            )
            for number in range(count)
        )
    )


def network(*names: str, mtu: int = 9000, **given: Any) -> Network:
    """Interfaces that are up."""
    interfaces = tuple(Interface(name=name, up=True, virtual=False, mtu=mtu, driver="mlx5_core") for name in names)
    return Network(**{"interfaces": interfaces, **given})


def interfaces(driver: str, count: int) -> Network:
    """eth0, eth1, ... of one driver."""
    return Network(interfaces=tuple(Interface(name=f"eth{number}", driver=driver) for number in range(count)))


def file(asked_by: str, path: str = "/tmp/file", **given: Any) -> FileFact:
    """A file that is there, and can be read."""
    facts = {"exists": True, "readable": True, "writable": True, "parent_writable": True, "fstype": "ext4"}
    return FileFact(path=path, asked_by=asked_by, **{**facts, **given})


def plugin(
    name: str = "libnccl-net.so", origin: str = "LD_LIBRARY_PATH", symbols: Any = (), version: Any = ""
) -> Plugin:
    """A plugin on the path of the loader."""
    return Plugin(
        library=Library(path=f"/opt/p/{name}", origin=origin, version=version), name=name, symbols=symbols
    )


def shm(size: int = 64 << 30, **given: Any) -> Shm:
    """A tmpfs."""
    facts = {
        "exists": True,
        "fstype": "tmpfs",
        "size_bytes": size,
        "free_bytes": size,
        "writable": True,
        "device": 26,
        "nccl_files": (),
    }
    return Shm(**{**facts, **given})


def limits(**given: Any) -> ProcessLimits:
    """Limits of a healthy host."""
    facts = {
        "nofile_soft": 1048576,
        "nofile_hard": 1048576,
        "stack_soft_bytes": 8 << 20,
        "pids_max": None,
        "memory_max_bytes": None,
        "cpu_cores": None,
        "oom_events": 0,
        "cpuset": "0-95",
        "remove_ipc": False,
        "hugepages_total": 0,
    }
    return ProcessLimits(**{**facts, **given})


def container(*devices: str, inside: bool = False, uid: int = 1000, **given: Any) -> Container:
    """With device files that may be read and written."""
    found = tuple(DeviceFile(path=path, readable=True, writable=True) for path in devices)
    return Container(**{"inside": inside, "uid": uid, "devices": found, "mempolicy": True, **given})


def namespaces(**ids: str) -> tuple[Setting, ...]:
    """By name."""
    return tuple(Setting(name=name, value=value) for name, value in ids.items())


METAL, VM = Cpu(hypervisor=False, allowed="0-95"), Cpu(hypervisor=True, allowed="0-95")
AWS, GCP, AZURE, OCI = (Cloud(provider=name) for name in ("aws", "gcp", "azure", "oci"))
NO_CLOUD = Cloud(provider=None)


def named(hostname: str = "n1", **given: Any) -> HostNames:
    """A host whose name resolves."""
    facts = {"hostname": hostname, "addresses": ("10.0.0.1",), "hosts_lines": ("127.0.0.1 localhost",)}
    return HostNames(**{**facts, **given})
