"""Parts of hosts, in few words: interfaces, RDMA devices and their ports, GPUs behind switches."""

import ipaddress
import re
from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import (
    Address,
    Gid,
    Gpu,
    Interface,
    Library,
    Network,
    Nvidia,
    Pci,
    PciDevice,
    Plugin,
    Rdma,
    RdmaDevice,
    RdmaPort,
    Route,
    Setting,
)

DOWN = Unknown("not reported while the interface is down")
HIDDEN = Unknown("/sys/class cannot be read: Permission denied")


def nic(
    name: str, *addresses: str, speed: int | Unknown = 25000, **given: Any
) -> tuple[Interface, tuple[str, ...]]:
    """An interface and its addresses in CIDR notation."""
    running = given.pop("running", True)
    given = {"vendor": "0x15b3", "virtual": False, "loopback": name == "lo", **given}
    state = "up" if running is True else "down"
    return Interface(name=name, running=running, speed_mbps=speed, operstate=state, **given), addresses


LO = nic("lo", "127.0.0.1/8", "::1/128", speed=Unknown("virtual"), virtual=True)


def net(*nics: tuple[Interface, tuple[str, ...]], routes: tuple[str, ...] = (), lo: bool = True) -> Network:
    """A network: lo, and these; `routes`: `10.0.0.0/8 eth0`."""
    every = (LO, *nics) if lo else nics
    own = [(one.name, ipaddress.ip_interface(text)) for one, texts in every for text in texts]
    own.sort(key=lambda pair: pair[1].version)  # as getifaddrs has them
    return Network(
        interfaces=tuple(one for one, _ in every),
        addresses=tuple(
            Address(
                interface=name,
                address=str(one.ip),
                prefix_len=one.network.prefixlen,
                family="AF_INET" if one.version == 4 else "AF_INET6",
            )
            for name, one in own
        ),
        routes=tuple(Route(destination=text.split()[0], interface=text.split()[1]) for text in routes),
    )


def gids(*texts: str, netdev: str | Unknown = "eth0") -> tuple[Gid, ...]:
    """A GID table: `fe80::1 v1`, `10.0.0.1 v2`; '-' is an empty slot."""
    found = []
    for index, text in enumerate(texts):
        if text == "-":
            continue
        address, kind = text.split()
        mapped = f"::ffff:{address}" if "." in address else address
        name = {"v1": "IB/RoCE v1", "v2": "RoCE v2"}[kind]
        found.append(Gid(index=index, gid=ipaddress.IPv6Address(mapped).exploded, type=name, netdev=netdev))
    return tuple(found)


def table(address: str = "10.0.0.1", netdev: str | Unknown = "eth0") -> tuple[Gid, ...]:
    """What mlx5 has for an interface with one IPv4 address."""
    texts = ("fe80::1 v1", "fe80::1 v2", f"{address} v1", f"{address} v2")
    return gids(*texts, netdev=netdev)


def hca(name: str, *ports: RdmaPort, **given: Any) -> RdmaDevice:
    """An RDMA device; with no port given it has one of InfiniBand."""
    number = int(re.findall(r"\d+", name)[-1])
    given = {
        "pci": f"0000:{number + 16:02x}:00.0",
        "board_id": "MT_1",
        "uverbs": "uverbs0",
        "driver": "mlx5_core",
    } | given
    return RdmaDevice(name=name, ports=ports or (ib(),), **given)


def ib(number: int = 1, **given: Any) -> RdmaPort:
    """A port of InfiniBand."""
    words = {"state": "ACTIVE", "phys_state": "LinkUp", "rate_gbps": 400.0, "width": "4X", "pkeys": (0xFFFF,)}
    return RdmaPort(number=number, **{**words, "link_layer": "InfiniBand", **given})


def roce(number: int = 1, **given: Any) -> RdmaPort:
    """A port of RoCE, with an IPv4 address."""
    return ib(number, **{"link_layer": "Ethernet", "gids": table(), "gid_slots": 16, "traffic_class": "", **given})


def rdma(*devices: RdmaDevice | str, **given: Any) -> Rdma:
    """RDMA devices; a name is one with a port of InfiniBand."""
    made = tuple(hca(one) if isinstance(one, str) else one for one in devices)
    return Rdma(devices=made, **given)


ETHERNET = rdma(hca("mlx5_0", roce()))
EFA = rdma(hca("rdmap79s0", ib(link_layer="Unspecified")))
NONE = rdma()


def plugin(name: str = "libnccl-net.so", origin: str = "ldconfig") -> Plugin:
    """A plugin on the loader's path."""
    return Plugin(library=Library(path=f"/opt/{name}", origin=origin), name=name)


def pci(*lines: str, acs: int | Unknown | None = 0, **given: Any) -> Pci:
    """PCI devices: the address, and the bridges above it from the root port down. Bridges are added."""
    paths = [line.split() for line in lines]
    bridges = dict.fromkeys(bridge for _, *above in paths for bridge in above)
    devices = [PciDevice(address=one, class_code=0x060400, acs_control=acs) for one in bridges]
    devices += [PciDevice(address=one, class_code=0x020700, upstream=tuple(above)) for one, *above in paths]
    return Pci(devices=tuple(devices), **{"iommu_types": (), **given})


def gpus(*addresses: str, capability: float | Unknown = 9.0, **given: Any) -> Nvidia:
    """GPUs, by default Hopper with NVLink unknown."""
    made = tuple(Gpu(pci=one, compute_capability=capability, **given) for one in addresses)
    return Nvidia(gpus=made, driver="570.124.06", flavour="open", cuda="12.8", memory_peers=())


def settings(**values: str) -> tuple[Setting, ...]:
    """Sysctls, with _ for the dot and __ for _."""
    return tuple(
        Setting(name=name.replace("__", "\0").replace("_", ".").replace("\0", "_"), value=value)
        for name, value in values.items()
    )
