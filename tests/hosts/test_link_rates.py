"""Rates of links out of trees like /sys: of real ones only."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts import link_rates
from nccltool.hosts.facts import known, or_none
from nccltool.hosts.link_rates import LinkRate
from nccltool.hosts.sources.base import Tree
from tests.support.sysfs import Sysfs, container, ethernet_host, infiniband_host, roce_host

VIRTUAL = "virtual interface; the speed that it reports is not a link speed"
HERE = Path("/sys/class/net/lo/speed")


def ethernet(name: str, gigabits: float | None, reason: str | None = None, **changes: object) -> LinkRate:
    fields: dict[str, object] = {
        "name": name,
        "up": True,
        "bytes_per_s": Unknown(reason or "") if gigabits is None else gigabits * 1e9 / 8,
        "source": f"/sys/class/net/{name}/speed",
    }
    return LinkRate(**{**fields, **changes})  # type: ignore[arg-type]


def port(adapter: str, gigabits: float | None, reason: str | None = None, **changes: object) -> LinkRate:
    source = f"/sys/class/infiniband/{adapter}/ports/1/rate"
    fields: dict[str, object] = {"link_layer": "InfiniBand", "source": source, **changes}
    return ethernet(f"{adapter}:1", gigabits, reason, **fields)


def interface(root: Path, name: str) -> LinkRate:
    return link_rates.interface(Tree.at(root), name)


def test_an_infiniband_host(tmp_path: Path) -> None:
    infiniband_host(tmp_path)
    assert link_rates.rdma(tmp_path) == (
        port("mlx5_0", 400),
        port("mlx5_1", 400),
        port("mlx5_2", 400),
        port("mlx5_3", 400),
        port("mlx5_4", 10, up=False),
        port("mlx5_8", 400),
        port("mlx5_9", 400),
        port("mlx5_10", 400),
        port("mlx5_11", 400),
    )
    assert link_rates.ethernet(tmp_path) == (
        ethernet("docker0", None, VIRTUAL, up=False, virtual=True),
        ethernet("eno1", 1),
    )


def test_a_roce_host(tmp_path: Path) -> None:
    roce_host(tmp_path)
    assert link_rates.rdma(tmp_path) == tuple(
        port(name, 200, link_layer="Ethernet") for name in ("mlx5_0", "mlx5_1")
    )
    assert link_rates.ethernet(tmp_path) == (ethernet("ens0", 200), ethernet("ens1", 200))


def test_a_host_with_one_cable(tmp_path: Path) -> None:
    ethernet_host(tmp_path)
    assert link_rates.rdma(tmp_path) == ()
    assert link_rates.ethernet(tmp_path) == (
        ethernet("eth0", 25),
        ethernet("eth1", None, "speed cannot be read: No such file or directory", up=False),
    )


def test_a_container(tmp_path: Path) -> None:
    container(tmp_path)
    assert link_rates.rdma(tmp_path) == ()
    assert link_rates.ethernet(tmp_path) == (ethernet("eth0", None, VIRTUAL, virtual=True),)


def test_no_sys_at_all(tmp_path: Path) -> None:
    assert link_rates.ethernet(tmp_path) == Unknown("/sys/class/net cannot be read: No such file or directory")
    assert link_rates.rdma(tmp_path) == Unknown("/sys/class cannot be read")


def test_links_into_what_is_hidden(tmp_path: Path) -> None:
    tree = Sysfs(tmp_path)
    tree.link("class/net/eth0", tmp_path / "sys/devices/hidden/net/eth0")
    tree.link("class/infiniband/mlx5_0", tmp_path / "sys/devices/hidden/infiniband/mlx5_0")
    assert link_rates.ethernet(tmp_path) == (
        ethernet("eth0", None, "/sys/class/net/eth0 cannot be read", up=None),
    )
    assert link_rates.rdma(tmp_path) == Unknown(
        "/sys/class/infiniband/mlx5_0/ports cannot be read: No such file or directory"
    )


@pytest.mark.parametrize(
    ("speed", "gigabits", "reason"),
    [
        (10, 0.01, None),
        (1000, 1, None),
        (800000, 800, None),
        (-1, None, "the driver does not report its speed"),
        (0, None, "the driver does not report its speed"),
        (2**32 - 1, None, "the driver does not report its speed"),
        ("fast", None, "speed is not a number"),
        ("", None, "speed is not a number"),
    ],
)
def test_speeds(tmp_path: Path, speed: object, gigabits: float | None, reason: str | None) -> None:
    Sysfs(tmp_path).nic("eth0", speed)
    assert interface(tmp_path, "eth0") == ethernet("eth0", gigabits, reason)


@pytest.mark.skipif(not HERE.exists(), reason="needs a /sys of the kernel: its file is one that cannot be read")
def test_the_kernel_refuses_the_speed_of_a_link_that_is_down(tmp_path: Path) -> None:
    folder = Sysfs(tmp_path).nic("eth0", speed=None, state="down")
    (folder / "speed").symlink_to(HERE)
    refused = f"speed cannot be read: {os.strerror(errno.EINVAL)}"
    assert interface(tmp_path, "eth0") == ethernet("eth0", None, refused, up=False)


@pytest.mark.parametrize("driver", ["virtio_net", "hv_netvsc", "vmxnet3", "e1000"])
def test_network_cards_of_virtual_machines(tmp_path: Path, driver: str) -> None:
    Sysfs(tmp_path).nic("eth0", 10000, driver=driver)
    reason = f"{driver} is a VM's virtual NIC; its speed is not a link speed"
    assert interface(tmp_path, "eth0") == ethernet("eth0", None, reason)


@pytest.mark.parametrize(("state", "up"), [("up", True), ("down", False), ("dormant", False), ("unknown", None)])
def test_whether_a_link_works(tmp_path: Path, state: str, up: bool | None) -> None:
    Sysfs(tmp_path).nic("eth0", state=state)
    assert interface(tmp_path, "eth0").up is up


def two_and_one_down(tree: Sysfs) -> None:
    tree.nic("eth0", 25000)
    tree.nic("eth1", 25000)
    tree.nic("eth2", None, state="down")


def one_unknown(tree: Sysfs) -> None:
    tree.nic("eth0", 25000)
    tree.nic("eth1", -1)
    tree.nic("eth2", 25000)


@pytest.mark.parametrize(
    ("made", "mode", "active", "gigabits", "reason"),
    [
        (two_and_one_down, "802.3ad 4", "", 50, None),
        (two_and_one_down, "balance-rr 0", "", 50, None),
        (two_and_one_down, "active-backup 1", "eth1", 25, None),
        (two_and_one_down, "active-backup 1", "", None, "a bond without an active link"),
        (two_and_one_down, "active-backup 1", "eth2", None, "a bond without an active link"),
        (two_and_one_down, "", "", None, "a bond without an active link"),
        (one_unknown, "802.3ad 4", "", None, "it is a bond; eth1: the driver does not report its speed"),
    ],
)
def test_bonds(
    tmp_path: Path,
    made: Callable[[Sysfs], None],
    mode: str,
    active: str,
    gigabits: float | None,
    reason: str | None,
) -> None:
    tree = Sysfs(tmp_path)
    made(tree)
    tree.bond("bond0", ("eth0", "eth1", "eth2"), mode, active)
    assert interface(tmp_path, "bond0") == ethernet("bond0", gigabits, reason, virtual=True)
    assert [device.name for device in known(link_rates.ethernet(tmp_path))] == [
        "bond0",
        "eth0",
        "eth1",
        "eth2",
    ]


def test_vlans(tmp_path: Path) -> None:
    tree = Sysfs(tmp_path)
    two_and_one_down(tree)
    tree.virtual("veth1")
    tree.bond("bond0", ("eth0", "eth1"))
    for name, under in (("eth0.7", "eth0"), ("bond0.7", "bond0"), ("veth1.7", "veth1"), ("lost.7", None)):
        tree.vlan(name, under)
    shown = {name: interface(tmp_path, name) for name in ("eth0.7", "bond0.7", "veth1.7", "lost.7")}
    assert shown == {
        "eth0.7": ethernet("eth0.7", 25, virtual=True),
        "bond0.7": ethernet("bond0.7", 50, virtual=True),
        "veth1.7": ethernet("veth1.7", None, f"it is a VLAN on veth1; {VIRTUAL}", virtual=True),
        "lost.7": ethernet("lost.7", None, "a VLAN whose parent interface is not visible", virtual=True),
    }


@pytest.mark.parametrize(
    ("rate", "gigabits", "reason"),
    [
        ("800 Gb/sec (4X XDR)", 800, None),
        ("100 Gb/sec (2X HDR)", 100, None),
        ("2.5 Gb/sec (1X SDR)", 2.5, None),
        (None, None, "rate cannot be read"),
        ("", None, "rate is ''"),
        ("very fast", None, "rate is 'very fast'"),
    ],
)
def test_rates_of_ports(tmp_path: Path, rate: str | None, gigabits: float | None, reason: str | None) -> None:
    Sysfs(tmp_path).port("mlx5_0", rate)
    assert link_rates.rdma(tmp_path) == (port("mlx5_0", gigabits, reason),)


@pytest.mark.parametrize(
    ("state", "up"),
    [("4: ACTIVE", True), ("1: DOWN", False), ("2: INIT", False), ("3: ARMED", False), (None, None)],
)
def test_states_of_ports(tmp_path: Path, state: str | None, up: bool | None) -> None:
    Sysfs(tmp_path).port("mlx5_0", state=state)
    assert link_rates.rdma(tmp_path) == (port("mlx5_0", 400, up=up),)


def test_an_adapter_with_two_ports(tmp_path: Path) -> None:
    tree = Sysfs(tmp_path)
    tree.port("mlx5_0", "100 Gb/sec (4X EDR)", number=2)
    tree.port("mlx5_0", "200 Gb/sec (4X HDR)", number=1)
    assert [(device.name, device.bytes_per_s) for device in known(link_rates.rdma(tmp_path))] == [
        ("mlx5_0:1", 25e9),
        ("mlx5_0:2", 12.5e9),
    ]


@pytest.mark.parametrize(
    ("rate", "gigabits", "reason"),
    [
        ("100 Gb/sec (4X EDR)", None, "an old efa driver reports 100 Gb/s for every device"),
        ("200 Gb/sec (4X HDR)", 200, None),
    ],
)
def test_efa(tmp_path: Path, rate: str, gigabits: float | None, reason: str | None) -> None:
    Sysfs(tmp_path).port("rdmap16s27", rate, layer="Unspecified", driver="efa")
    assert link_rates.rdma(tmp_path) == (port("rdmap16s27", gigabits, reason, link_layer="Unspecified"),)


def test_roce_over_a_bond(tmp_path: Path) -> None:
    tree = Sysfs(tmp_path)
    two_and_one_down(tree)
    tree.bond("bond0", ("eth0", "eth1"))
    roce = tree.port("mlx5_bond_0", "25 Gb/sec (1X EDR)", layer="Ethernet")
    tree.runs_over(roce, "bond0")
    assert link_rates.rdma(tmp_path) == (port("mlx5_bond_0", 50, link_layer="Ethernet"),)


GEN3, GEN4, GEN5 = "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"


@pytest.mark.parametrize(
    ("device", "above", "slot"),
    [
        ((GEN5, 16), (GEN5, 16), ("32 GT/s x16", 63.015)),
        ((GEN5, 16), (GEN4, 16), ("16 GT/s x16", 31.508)),  # the mainboard is older than the adapter
        ((GEN4, 16), (GEN4, 8), ("16 GT/s x8", 15.754)),
        ((GEN3, 8), (GEN5, 16), ("8 GT/s x8", 7.877)),
        (("5.0 GT/s PCIe", 8), (GEN3, 8), ("5 GT/s x8", 4.0)),
        (("2.5 GT/s", 1), (GEN3, 8), ("2.5 GT/s x1", 0.25)),  # older kernels say it so
        (("64.0 GT/s PCIe", 16), ("64.0 GT/s PCIe", 16), ("64 GT/s x16", 121.0)),
        (("Unknown", 16), (GEN4, 16), None),
        ((GEN4, 0), (GEN4, 16), None),
        ((GEN4, 255), (GEN4, 16), None),
        ((GEN4, 16), None, None),  # the bridge above does not say
    ],
)
def test_slots(
    tmp_path: Path, device: tuple[str, int], above: tuple[str, int] | None, slot: tuple[str, float] | None
) -> None:
    tree = Sysfs(tmp_path)
    tree.bare()
    adapter = tree.port("mlx5_0").parent.parent
    tree.slot(adapter, *device, above=above)
    (found,) = known(link_rates.rdma(tmp_path))
    assert (found.slot is None) == (slot is None)
    if found.slot and slot:
        assert (found.slot.address, found.slot.text) == ("0000:01:00", slot[0])
        assert found.slot.bytes_per_s == pytest.approx(slot[1] * 1e9, abs=1e6)


def test_slots_that_are_not_looked_at(tmp_path: Path) -> None:
    tree = Sysfs(tmp_path)
    tree.bare()
    function = tree.nic("eth0")
    tree.slot(function, GEN4, 8, above=(GEN4, 8))
    assert interface(tmp_path, "eth0").slot
    (function / "device/physfn").mkdir()
    assert interface(tmp_path, "eth0").slot is None, "a virtual function has no slot of its own"
    (function / "device/physfn").rmdir()
    tree.bare("fpu hypervisor")
    assert interface(tmp_path, "eth0").slot is None, "a hypervisor may make it up"
    (tmp_path / "proc/cpuinfo").write_text("processor: 0\nFeatures: fp\n")
    assert interface(tmp_path, "eth0").slot is None, "ARM does not say whether a hypervisor is below"


def test_this_host() -> None:
    """Whatever it has: nothing is raised, and a rate is a positive number or has its reason."""
    for links in (link_rates.ethernet(), link_rates.rdma()):
        for link in or_none(links) or ():
            assert isinstance(link.bytes_per_s, Unknown) or link.bytes_per_s > 0
