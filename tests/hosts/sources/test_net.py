"""The network as a host sees it; loopback is the one interface that every machine has."""

import socket
from pathlib import Path

import pytest

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
