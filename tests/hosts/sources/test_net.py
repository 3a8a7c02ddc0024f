"""The network as a host sees it; loopback is the one interface that every machine has."""

import socket
from pathlib import Path
from typing import Literal
from unittest.mock import Mock

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Address
from nccltool.hosts.sources import net

BOOT_ID = "0f0c4f2e-8d5b-4c59-8d2c-9f1de3a5f6a7"


def host(root: Path, boot_id: str, namespace: str) -> Path:
    (root / "proc/sys/kernel/random").mkdir(parents=True)
    (root / "proc/sys/kernel/random/boot_id").write_text(f"{boot_id}\n")
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/ns/net").symlink_to(namespace)
    return root


def test_a_host_is_its_boot_and_its_network_namespace(tmp_path: Path) -> None:
    assert net.host_id(host(tmp_path, BOOT_ID, "net:[4026531840]")) == f"{BOOT_ID} net:[4026531840]"


def test_two_namespaces_of_one_machine_are_two_hosts(tmp_path: Path) -> None:
    one = net.host_id(host(tmp_path / "one", BOOT_ID, "net:[4026531840]"))
    other = net.host_id(host(tmp_path / "other", BOOT_ID, "net:[4026532193]"))
    assert one != other


def test_a_host_that_does_not_say_is_its_name(tmp_path: Path) -> None:
    assert net.host_id(tmp_path) == socket.gethostname()


def test_this_host_says() -> None:
    assert " net:[" in net.host_id()


def test_loopback_has_its_address() -> None:
    assert "127.0.0.1" in net.addresses_of("lo")
    assert net.interface_with("127.0.0.1") == "lo"


@pytest.mark.parametrize("name", ["none0", "a-name-that-is-longer-than-any-interface-can-have"])
def test_an_interface_that_is_not_there_has_no_addresses(name: str) -> None:
    assert net.addresses_of(name) == ()


def test_an_address_of_another_host_is_on_no_interface() -> None:
    assert net.interface_with("192.0.2.1") is None


@pytest.mark.parametrize(
    ("host", "addresses"),
    [("127.0.0.1", ("127.0.0.1",)), ("192.0.2.9", ("192.0.2.9",)), ("::1", ("::1",)), ("no name", None)],
)
def test_resolving(host: str, addresses: tuple[str, ...] | None) -> None:
    assert net.resolve(host, timeout_s=30.0) == addresses


def test_a_name_that_does_not_resolve_in_time_is_not_known() -> None:
    assert net.resolve("no name", timeout_s=0.0) is None


def test_the_way_to_oneself() -> None:
    assert net.local_address_towards("127.0.0.1", 29500) == ("127.0.0.1", "127.0.0.1")


def test_no_way_to_a_name_that_does_not_resolve() -> None:
    assert net.local_address_towards("no name", 29500) is None


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.0.1.1", True),
        ("::1", True),
        ("192.0.2.1", False),
        ("2001:db8::1", False),
        ("fe80::1%eth0", False),
    ],
)
def test_loopback(address: str, loopback: bool) -> None:
    assert net.is_loopback(address) is loopback


def test_the_kernel_is_asked_once_about_all_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ("lo", 0x49, None),
        ("lo", 0x49, address("lo", "127.0.0.1", "AF_INET")),
        ("eth0", 0x1043, address("eth0", "10.0.0.5", "AF_INET")),
        ("eth0", 0x1043, address("eth0", "10.0.0.6", "AF_INET")),
        ("eth0:1", 0x1043, address("eth0:1", "10.0.0.7", "AF_INET")),
        ("docker0", 0x1003, address("docker0", "172.17.0.1", "AF_INET")),
        ("eth0", 0x1043, address("eth0", "fe80::1", "AF_INET6")),
        ("eth0", 0x1043, address("eth0", "2001:db8::5", "AF_INET6")),
    ]
    asked = Mock(return_value=rows)
    monkeypatch.setattr(net, "getifaddrs", asked)
    monkeypatch.setattr("socket.if_nameindex", lambda: [(1, "lo"), (2, "docker0"), (3, "eth0"), (4, "ib0")])
    assert net.outward_addresses() == ("10.0.0.5", "2001:db8::5", "172.17.0.1")
    assert net.interface_with("2001:db8::5") == "eth0"
    assert net.interface_with("10.0.0.6") is None
    assert asked.call_count == 3  # by three questions
    assert net.addresses_of("eth0") == ("10.0.0.5", "fe80::1", "2001:db8::5")


def address(interface: str, text: str, family: Literal["AF_INET", "AF_INET6"]) -> Address:
    return Address(interface=interface, address=text, prefix_len=24, family=family)


def test_addresses_that_cannot_be_read_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net, "getifaddrs", lambda: Unknown("getifaddrs failed: Operation not permitted"))
    assert net.addresses_of("lo") == ()
    assert net.outward_addresses() == ()
    assert net.interface_with("127.0.0.1") is None
