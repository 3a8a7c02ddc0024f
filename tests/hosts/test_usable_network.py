"""What a backend can use of a host's network devices."""

from collections.abc import Callable, Collection
from pathlib import Path

import msgspec
import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts import link_rates, reader, usable_network
from nccltool.hosts.facts import Address, ConfFile, HostFacts, Library, Plugin, Rdma, known
from nccltool.hosts.nccl import settings
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.sources import interfaces, rdma
from nccltool.hosts.sources.base import Tree
from nccltool.hosts.usable_network import UsableNetwork
from tests.captured_hosts import KINDS, build, healthy
from tests.support.sysfs import Sysfs, container, ethernet_host, infiniband_host, roce_host

PORTS = "(/sys/class/infiniband/*/ports/*/rate)"
SPEEDS = "(/sys/class/net/*/speed)"
VIRTUAL = "eth0: virtual interface; the speed that it reports is not a link speed (/sys/class/net/eth0/speed)"


def facts(root: Path, plugins: tuple[str, ...] = ()) -> HostFacts:
    """What the tree shows, with an address on each interface that is up."""
    tree = Tree.at(root)
    found = interfaces.read(tree)
    names = [one.name for one in known(found.interfaces) if one.running is True] if (root / "sys").exists() else []
    own = (
        Address(interface=name, address=f"10.0.{at}.1", prefix_len=24, family="AF_INET")
        for at, name in enumerate(names)
    )
    return HostFacts(
        host="n1",
        network=msgspec.structs.replace(found, addresses=tuple(own)),
        rdma=Rdma(devices=rdma.devices(tree)),
        plugins=tuple(
            Plugin(library=Library(path=f"/opt/lib/{name}", origin="system"), name=name) for name in plugins
        ),
    )


def network(tree: Path, backend: str, **env: str) -> UsableNetwork:
    if backend == "gloo":
        return usable_network.of_gloo(env["GLOO_SOCKET_IFNAME"], link_rates.ethernet(tree))
    return nccl_network(tree, facts(tree), env)


def nccl_network(
    tree: Path, facts: HostFacts, env: dict[str, str], uuids: Collection[str] | None = None
) -> UsableNetwork:
    host = NcclHost(settings=settings.build(env, facts.conf_files), facts=facts)
    return usable_network.of_nccl(host, link_rates.ethernet(tree), link_rates.rdma(tree), uuids)


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
        (efa_host, {}, None, "no physical interface is up"),  # which takes a plugin
        (infiniband_host, {"NCCL_IB_DISABLE": "2"}, 0.125, f"eno1 1 Gb/s Ethernet {SPEEDS}"),
        (infiniband_host, {"NCCL_IB_DISABLE": "1", "NCCL_NET": "IB"}, 400, f"8 x 400 Gb/s InfiniBand {PORTS}"),
        (ethernet_host, {"NCCL_NET": "IB"}, None, "no RDMA port that NCCL may use is active"),
        (all_ports_down, {}, 3.125, f"eth0 25 Gb/s Ethernet {SPEEDS}"),
        (ethernet_host, {}, 3.125, f"eth0 25 Gb/s Ethernet {SPEEDS}"),
        (two_interfaces, {}, 12.5, f"eth1 100 Gb/s Ethernet {SPEEDS}"),
        (two_interfaces, {"NCCL_SOCKET_IFNAME": "eth1"}, 12.5, f"eth1 100 Gb/s Ethernet {SPEEDS}"),
        (two_interfaces, {"NCCL_SOCKET_IFNAME": "=bond0"}, 13.75, f"bond0 110 Gb/s Ethernet {SPEEDS}"),
        (two_interfaces, {"NCCL_SOCKET_IFNAME": "^eth0,docker"}, 12.5, f"eth1 100 Gb/s Ethernet {SPEEDS}"),
        (container, {"NCCL_SOCKET_IFNAME": "eth"}, None, VIRTUAL),
        (container, {}, None, "no physical interface is up"),
        (
            with_an_unknown_port,
            {},
            None,
            "mlx5_1:1: rate cannot be read (/sys/class/infiniband/mlx5_1/ports/1/rate)",
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
            f"2 x 200 Gb/s InfiniBand {PORTS[:-1]}, in slower slots: 2 x PCIe 16 GT/s x8)",
        ),
        (
            2,
            16,
            63.015,
            f"4 x 200 Gb/s InfiniBand {PORTS[:-1]}, in slower slots: 2 x PCIe 16 GT/s x16)",
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
        (two_interfaces, "eth0,eth1", None, "Gloo alternates between eth0,eth1"),
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
        ("nccl", {}, "/sys/class cannot be read: No such file or directory"),
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
        (efa_host, {}, "socket", None),
        (two_interfaces, {}, "socket", "1 x 100 Gb/s Ethernet"),
        (container, {}, "socket", None),
        (with_an_unknown_port, {}, "ib", None),
        (infiniband_host, {"NCCL_IB_DISABLE": "2"}, "socket", "1 x 1 Gb/s Ethernet"),
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


def test_a_plugin_takes_ports_that_are_not_for_nccl(tmp_path: Path) -> None:
    efa_host(tmp_path)
    shown = nccl_network(tmp_path, facts(tmp_path, plugins=("libnccl-net.so",)), {})
    assert (shown.bytes_per_s, shown.text, shown.transport) == (400e9, f"16 x 200 Gb/s {PORTS}", None)


@pytest.mark.parametrize(
    ("line", "transport", "devices"),
    [
        ("NCCL_IB_DISABLE=1", "socket", "1 x 1 Gb/s Ethernet"),
        ("NCCL_IB_HCA==mlx5_1", "ib", "1 x 400 Gb/s InfiniBand"),
    ],
)
def test_configuration_files_count(tmp_path: Path, line: str, transport: str, devices: str) -> None:
    infiniband_host(tmp_path)
    file = ConfFile(role="system", path="/etc/nccl.conf", exists=True, text=line)
    shown = nccl_network(tmp_path, msgspec.structs.replace(facts(tmp_path), conf_files=(file,)), {})
    assert (shown.transport, shown.devices) == (transport, devices)


def test_an_interface_without_an_address_carries_nothing(tmp_path: Path) -> None:
    two_interfaces(tmp_path)
    found = facts(tmp_path)
    addresses = tuple(one for one in known(found.network.addresses) if one.interface == "bond0")
    found = msgspec.structs.replace(found, network=msgspec.structs.replace(found.network, addresses=addresses))
    assert nccl_network(tmp_path, found, {}).text == f"bond0 110 Gb/s Ethernet {SPEEDS}"


def test_where_plugins_are_not_known_nothing_is_claimed(tmp_path: Path) -> None:
    infiniband_host(tmp_path)
    found = msgspec.structs.replace(facts(tmp_path), plugins=Unknown("/opt cannot be read"))
    shown = nccl_network(tmp_path, found, {})
    assert (shown.bytes_per_s, shown.transport, shown.text) == (None, None, "/opt cannot be read")


AWS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html, 2026-11"
GCP = "https://cloud.google.com/compute/docs/gpus/gpu-network-bandwidth, 2026-11"
AZURE = "https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/ndh100v5-series, 2026-11"
OF_P5 = f"32 x 100 Gb/s published for p5.48xlarge, p5e.48xlarge: {AWS}"
IB_8 = f"8 x 400 Gb/s InfiniBand {PORTS}"


def machine(root: Path, kind: str, gpus: int | None = None, **env: str) -> UsableNetwork:
    """The network of a captured machine, as a rank there looks at it; `gpus` of them have ranks, None = all."""
    described = KINDS[kind]
    build(root, described)
    found = reader.network_facts({**described.env, **env}, root)
    found = msgspec.structs.replace(found, network=healthy(kind).network)  # a tree does not tell all addresses
    uuids = None if gpus is None else [described.uuid(number) for number in range(gpus)]
    return nccl_network(root, found, {**described.env, **env}, uuids)


@pytest.mark.parametrize(
    ("kind", "env", "gigabytes", "text"),
    [
        ("dgx", {}, 400, IB_8),  # without the two of storage over Ethernet
        ("dgx-ib-storage", {}, 400, IB_8),  # nor those over InfiniBand
        ("dgx", {"NCCL_IB_HCA": "=mlx5_1,mlx5_7"}, 50, f"2 x 200 Gb/s Ethernet {PORTS}"),  # as one is told
        ("dgx", {"NCCL_IB_HCA": "^=mlx5_1,mlx5_7"}, 400, IB_8),
        (
            "dgx",
            {"NCCL_IB_HCA": "=mlx5_0,mlx5_1"},
            None,
            "ports differ (400 Gb/s InfiniBand, 200 Gb/s Ethernet), and some GPUs are not close to any of "
            "the fastest; set NCCL_IB_HCA to the right ports",
        ),
        ("p5", {"NCCL_IB_HCA": "mlx5"}, 400, f"32 x 100 Gb/s ({OF_P5})"),  # which EFA's plugin does not read
        ("p5", {}, 400, f"32 x 100 Gb/s ({OF_P5})"),
        ("aws", {}, 100, f"8 x 100 Gb/s ({OF_P5})"),  # of which 8 are attached
        ("gcp", {}, 400, f"8 x 400 Gb/s Ethernet (8 x 400 Gb/s published for A3 Ultra: {GCP})"),
        ("a4", {}, 400, f"8 x 400 Gb/s Ethernet (8 x 400 Gb/s published for A4: {GCP})"),
        ("a3-mega", {}, 200, f"8 x 200 Gb/s (8 x 200 Gb/s published for A3 Mega: {GCP})"),
        (
            "a3-mega",
            {"NCCL_FASTRAK_IFNAME": "eth1,eth2,eth3,eth4"},
            100,
            f"4 x 200 Gb/s (8 x 200 Gb/s published for A3 Mega: {GCP})",
        ),
        (
            "a3-mega",
            {"NCCL_FASTRAK_IFNAME": "eth1,eth9"},
            None,
            f"not up: eth9; 8 x 200 Gb/s published for A3 Mega: {GCP}",
        ),
        ("azure", {}, 400, f"8 x 400 Gb/s InfiniBand (8 x 400 Gb/s published for ND H100 v5: {AZURE})"),
        ("gb200", {}, 200, f"4 x 400 Gb/s InfiniBand {PORTS}"),
        ("mi300x", {}, 400, f"8 x 400 Gb/s Ethernet {PORTS}"),
    ],
)
def test_machines(tmp_path: Path, kind: str, env: dict[str, str], gigabytes: float | None, text: str) -> None:
    shown = machine(tmp_path, kind, None, **env)
    assert shown.bytes_per_s == (None if gigabytes is None else gigabytes * 1e9)
    assert shown.text == text


@pytest.mark.parametrize(
    ("rates", "gigabytes", "devices"),
    [
        (("200 Gb/sec (4X HDR)",) * 8, 200, "8 x 200 Gb/s InfiniBand"),  # the ports report less
        (("800 Gb/sec (4X XDR)",) * 8, 400, "8 x 400 Gb/s InfiniBand"),  # and more
        (("400 Gb/sec (4X NDR)",) * 8 + ("100 Gb/sec (4X EDR)",), 400, "8 x 400 Gb/s InfiniBand"),
        (("400 Gb/sec (4X NDR)",) * 7, 350, "7 x 400 Gb/s InfiniBand"),
    ],
)
def test_of_what_is_published_and_what_ports_say_the_lower_counts(
    tmp_path: Path, rates: tuple[str, ...], gigabytes: float, devices: str
) -> None:
    tree = Sysfs(tmp_path)
    for number, rate in enumerate(rates):
        tree.port(f"mlx5_{number}", rate)
    like = healthy("azure")
    found = msgspec.structs.replace(facts(tmp_path), cloud=like.cloud, nvidia=like.nvidia)
    shown = nccl_network(tmp_path, found, {})
    assert (shown.bytes_per_s, shown.devices) == (gigabytes * 1e9, devices)
    differs = rates[0].startswith(("200", "800")) or len(rates) > 8
    assert ("the ports report" in shown.text) == differs
    assert "8 x 400 Gb/s published for ND H100 v5" in shown.text


@pytest.mark.parametrize(
    ("kind", "gpus", "env", "gigabytes", "devices"),
    [
        ("dgx", 8, {}, 400, "8 x 400 Gb/s InfiniBand"),
        ("dgx", 2, {}, 100, "2 x 400 Gb/s InfiniBand"),
        ("dgx", 2, {"NCCL_IB_HCA": "=mlx5_10,mlx5_11,mlx5_9"}, 150, "3 x 400 Gb/s InfiniBand"),  # far, and meant
        ("p5", 2, {}, 100, "8 x 100 Gb/s"),
        ("a3-mega", 2, {}, 50, "2 x 200 Gb/s"),
        ("azure", 1, {}, 50, "1 x 400 Gb/s InfiniBand"),
        ("gb200", 4, {}, 200, "4 x 400 Gb/s InfiniBand"),
    ],
)
def test_gpus_without_ranks_bring_no_network(
    tmp_path: Path, kind: str, gpus: int, env: dict[str, str], gigabytes: float | None, devices: str | None
) -> None:
    shown = machine(tmp_path, kind, gpus, **env)
    assert (shown.bytes_per_s, shown.devices) == (None if gigabytes is None else gigabytes * 1e9, devices)
