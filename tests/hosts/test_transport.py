"""What a backend can use of a host's network devices, and which GPUs have NVLink."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nccltool.hosts import transport as hosts_transport
from nccltool.hosts.sources import nic
from nccltool.hosts.transport import UsableNetwork
from tests.samples import world
from tests.support.sysfs import Sysfs, container, ethernet_host, infiniband_host, roce_host

PORTS = "(/sys/class/infiniband/*/ports/*/rate)"
SPEEDS = "(/sys/class/net/*/speed)"
VIRTUAL = "eth0: it is virtual, and a speed that it names is not that of a wire (/sys/class/net/eth0/speed)"


def network(tree: Path, backend: str, **env: str) -> UsableNetwork:
    return hosts_transport.network(backend, env, nic.ethernet(tree), nic.rdma(tree))


def two_interfaces(root: Path) -> Sysfs:
    tree = Sysfs(root)
    tree.nic("eth0", 10000)
    tree.nic("eth1", 100000)
    tree.virtual("docker0", kind="bridge")
    tree.bond("bond0", ("eth0", "eth1"))
    return tree


def with_an_unknown_port(root: Path) -> Sysfs:
    tree = Sysfs(root)
    tree.port("mlx5_0")
    tree.port("mlx5_1", rate=None)
    return tree


def all_ports_down(root: Path) -> Sysfs:
    tree = ethernet_host(root)
    tree.port("mlx5_0", state="1: DOWN")
    return tree


def efa_host(root: Path) -> Sysfs:
    tree = Sysfs(root)
    for number in range(16):
        tree.port(f"rdmap{number}s0", "200 Gb/sec (4X HDR)", layer="Unspecified", driver="efa")
    return tree


@pytest.mark.parametrize(
    ("made", "env", "gigabytes", "text"),
    [
        (infiniband_host, {}, 400, f"8 x 400 Gb/s InfiniBand {PORTS}"),
        (infiniband_host, {"NCCL_IB_HCA": "mlx5"}, 400, f"8 x 400 Gb/s InfiniBand {PORTS}"),
        (infiniband_host, {"NCCL_IB_HCA": "mlx5_1"}, 150, f"3 x 400 Gb/s InfiniBand {PORTS}"),  # and 10 and 11
        (infiniband_host, {"NCCL_IB_HCA": "=mlx5_1"}, 50, f"mlx5_1:1 400 Gb/s InfiniBand {PORTS}"),
        (infiniband_host, {"NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:2"}, 50, f"mlx5_0:1 400 Gb/s InfiniBand {PORTS}"),
        (infiniband_host, {"NCCL_IB_HCA": "^mlx5_1"}, 250, f"5 x 400 Gb/s InfiniBand {PORTS}"),
        (infiniband_host, {"NCCL_IB_HCA": "^=mlx5_1,mlx5_2"}, 300, f"6 x 400 Gb/s InfiniBand {PORTS}"),
        (infiniband_host, {"NCCL_IB_HCA": "eth0"}, 0.125, f"eno1 1 Gb/s Ethernet {SPEEDS}"),
        (infiniband_host, {"NCCL_IB_DISABLE": "1"}, 0.125, f"eno1 1 Gb/s Ethernet {SPEEDS}"),
        (infiniband_host, {"NCCL_NET": "Socket"}, 0.125, f"eno1 1 Gb/s Ethernet {SPEEDS}"),
        (roce_host, {}, 50, f"2 x 200 Gb/s Ethernet {PORTS}"),
        (efa_host, {}, 400, f"16 x 200 Gb/s {PORTS}"),
        (all_ports_down, {}, 3.125, f"eth0 25 Gb/s Ethernet {SPEEDS}"),
        (ethernet_host, {}, 3.125, f"eth0 25 Gb/s Ethernet {SPEEDS}"),
        (two_interfaces, {}, 13.75, f"1 x 10 Gb/s Ethernet, 1 x 100 Gb/s Ethernet {SPEEDS}"),
        (two_interfaces, {"NCCL_SOCKET_IFNAME": "eth1"}, 12.5, f"eth1 100 Gb/s Ethernet {SPEEDS}"),
        (two_interfaces, {"NCCL_SOCKET_IFNAME": "=bond0"}, 13.75, f"bond0 110 Gb/s Ethernet {SPEEDS}"),
        (two_interfaces, {"NCCL_SOCKET_IFNAME": "^eth0,docker"}, 12.5, f"eth1 100 Gb/s Ethernet {SPEEDS}"),
        (container, {"NCCL_SOCKET_IFNAME": "eth"}, None, VIRTUAL),
        (container, {}, None, "no interface with hardware behind it is up"),
        (
            with_an_unknown_port,
            {},
            None,
            "mlx5_1:1: its rate cannot be read (/sys/class/infiniband/mlx5_1/ports/1/rate)",
        ),
    ],
)
def test_nccl(
    tmp_path: Path, made: Callable[[Path], Sysfs], env: dict[str, str], gigabytes: float | None, text: str
) -> None:
    made(tmp_path)
    shown = network(tmp_path, "nccl", **env)
    assert shown.bytes_per_s == (None if gigabytes is None else gigabytes * 1e9)
    assert shown.text == text


def in_slots(root: Path, ports: int, width: int) -> None:
    """Two adapters of 200 Gb/s a port, in slots of 4th generation."""
    tree = Sysfs(root)
    tree.bare()
    for adapter in ("mlx5_0", "mlx5_1"):
        for number in range(1, ports + 1):
            port = tree.port(adapter, "200 Gb/sec (4X HDR)", number=number)
        tree.slot(port.parent.parent, "16.0 GT/s PCIe", width, above=("16.0 GT/s PCIe", width))


@pytest.mark.parametrize(
    ("ports", "width", "gigabytes", "text"),
    [
        (1, 16, 50.0, f"2 x 200 Gb/s InfiniBand {PORTS}"),
        (
            1,
            8,
            31.508,
            f"2 x 200 Gb/s InfiniBand {PORTS[:-1]}, in slots that allow less: 2 x PCIe 16 GT/s x8)",
        ),
        (
            2,
            16,
            63.015,
            f"4 x 200 Gb/s InfiniBand {PORTS[:-1]}, in slots that allow less: 2 x PCIe 16 GT/s x16)",
        ),
    ],
)
def test_ports_share_a_slot(tmp_path: Path, ports: int, width: int, gigabytes: float, text: str) -> None:
    in_slots(tmp_path, ports, width)
    shown = network(tmp_path, "nccl")
    assert shown.bytes_per_s == pytest.approx(gigabytes * 1e9, rel=1e-4)
    assert shown.text == text


@pytest.mark.parametrize(
    ("made", "interface", "gigabytes", "text"),
    [
        (ethernet_host, "eth0", 3.125, "eth0 25 Gb/s Ethernet (/sys/class/net/eth0/speed)"),
        (infiniband_host, "eno1", 0.125, "eno1 1 Gb/s Ethernet (/sys/class/net/eno1/speed)"),
        (two_interfaces, "bond0", 13.75, "bond0 110 Gb/s Ethernet (/sys/class/net/bond0/speed)"),
        (container, "eth0", None, VIRTUAL),
        (container, "", None, "Gloo chose its interface itself"),
        (two_interfaces, "eth0,eth1", None, "Gloo takes turns between eth0,eth1"),
        (container, "ib9", None, "Gloo uses ib9, which is not in /sys/class/net"),
    ],
)
def test_gloo(
    tmp_path: Path, made: Callable[[Path], Sysfs], interface: str, gigabytes: float | None, text: str
) -> None:
    made(tmp_path)
    bytes_per_s = None if gigabytes is None else gigabytes * 1e9
    shown = network(tmp_path, "gloo", GLOO_SOCKET_IFNAME=interface)
    assert (shown.bytes_per_s, shown.text, shown.transport) == (bytes_per_s, text, "socket")


@pytest.mark.parametrize(
    ("backend", "env", "text"),
    [
        ("gloo", {"GLOO_SOCKET_IFNAME": "eth0"}, "/sys/class/net cannot be read: No such file or directory"),
        ("nccl", {"NCCL_IB_DISABLE": "1"}, "/sys/class/net cannot be read: No such file or directory"),
        ("nccl", {}, "/sys/class cannot be read"),
    ],
)
def test_a_hidden_sys(tmp_path: Path, backend: str, env: dict[str, str], text: str) -> None:
    shown = network(tmp_path, backend, **env)
    assert (shown.bytes_per_s, shown.text, shown.devices) == (None, text, None)


@pytest.mark.parametrize(
    ("made", "env", "transport", "devices"),
    [
        (infiniband_host, {}, "ib", "8 x 400 Gb/s InfiniBand"),
        (infiniband_host, {"NCCL_IB_HCA": "=mlx5_1"}, "ib", "1 x 400 Gb/s InfiniBand"),
        (infiniband_host, {"NCCL_IB_DISABLE": "1"}, "socket", "1 x 1 Gb/s Ethernet"),
        (roce_host, {}, "roce", "2 x 200 Gb/s Ethernet"),
        (efa_host, {}, None, "16 x 200 Gb/s"),
        (two_interfaces, {}, "socket", "1 x 10 Gb/s Ethernet, 1 x 100 Gb/s Ethernet"),
        (container, {}, "socket", None),
        (with_an_unknown_port, {}, "ib", None),
        (lambda root: None, {}, None, None),
    ],
)
def test_what_carries_the_bytes(
    tmp_path: Path,
    made: Callable[[Path], Sysfs],
    env: dict[str, str],
    transport: str | None,
    devices: str | None,
) -> None:
    made(tmp_path)
    shown = network(tmp_path, "nccl", **env)
    assert (shown.transport, shown.devices) == (transport, devices)


IB = UsableNetwork(bytes_per_s=4e11, text="", transport="ib", devices="8 x 400 Gb/s InfiniBand")
SLOW = UsableNetwork(bytes_per_s=1e10, text="", transport="socket", devices="1 x 80 Gb/s Ethernet")
SILENT = UsableNetwork(bytes_per_s=None, text="hidden", transport="ib")
ONE_HOST = {"host_id": "a", "node_rank": 0}


@pytest.mark.parametrize(
    ("backend", "changes", "found", "expected"),
    [
        ("gloo", {"host_id": "a"}, (), ("emulated", "")),
        ("gloo", ONE_HOST, (), ("local", "")),
        ("nccl", ONE_HOST, (), ("nvlink", "")),
        ("nccl", ONE_HOST | {"gpu_name": "NVIDIA L40S"}, (), (None, "")),
        ("nccl", {}, (IB, IB), ("ib", "8 x 400 Gb/s InfiniBand")),
        ("nccl", {}, (IB, SLOW), (None, "1 x 80 Gb/s Ethernet; 8 x 400 Gb/s InfiniBand")),
        ("nccl", {}, (IB, SILENT), ("ib", None)),
        ("nccl", {}, (IB,), (None, None)),
        ("nccl", {"gpu_name": "NVIDIA GB200"}, (IB, IB), (None, "8 x 400 Gb/s InfiniBand")),
        ("gloo", {"gpu_name": "NVIDIA GB200"}, (SLOW, SLOW), ("socket", "1 x 80 Gb/s Ethernet")),
    ],
)
def test_the_transport_of_a_world(
    backend: str,
    changes: dict[str, Any],
    found: tuple[UsableNetwork, ...],
    expected: tuple[str | None, str | None],
) -> None:
    ranks = world(**changes)
    hosts = dict.fromkeys(facts.host_id for facts in ranks)
    assert hosts_transport.transport(backend, ranks, dict(zip(hosts, found, strict=False))) == expected


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("Tesla V100-SXM2-32GB", 150),
        ("Tesla V100-PCIE-32GB", None),
        ("NVIDIA A100-SXM4-80GB", 300),
        ("A100-SXM4-40GB", 300),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
        ("NVIDIA A100 80GB PCIe", None),
        ("NVIDIA A800-SXM4-80GB", None),
        ("NVIDIA H100 80GB HBM3", 450),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA H200", 450),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA GH200 480GB", 450),
        ("NVIDIA GH200 144G HBM3e", 450),
        ("NVIDIA B200", 900),
        ("NVIDIA B300 SXM6 AC", 900),
        ("NVIDIA GB200", 900),
        ("NVIDIA GB10", None),
        ("NVIDIA L40S", None),
        ("AMD Instinct MI300X", None),
        (None, None),
    ],
)
def test_nvlink(name: str | None, gigabytes: float | None) -> None:
    link = hosts_transport.nvlink(name)
    assert (link and link.bytes_per_s) == (None if gigabytes is None else gigabytes * 1e9)


def test_every_rate_has_a_source() -> None:
    assert all(link.source.startswith("https://") for link in hosts_transport.NVLINKS)
