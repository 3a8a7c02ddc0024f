"""Which interface NCCL would choose. tests/oracle holds the same against the library."""

import pytest

from nccltool.core.versions import Version
from nccltool.hosts.facts import Address, Interface, Network, NotKnown
from nccltool.hosts.nccl import interfaces, settings

ADDRESSES = (
    ("lo", "127.0.0.1", 8),
    ("docker0", "172.17.0.1", 16),
    ("eth0", "10.0.0.1", 24),
    ("eth1", "10.0.1.1", 24),
    ("virbr0", "192.168.122.1", 24),
    ("lo", "::1", 128),
    ("eth1", "fd77::1", 64),
    ("eth1", "fe80::1", 64),
)
OLD, NEW = Version(2, 27, 7), Version(2, 30, 7)


def network(*names: str, asleep: tuple[str, ...] = ()) -> Network:
    rows = [row for row in ADDRESSES if not names or row[0] in names]
    return Network(
        interfaces=tuple(Interface(name=name, running=name not in asleep) for name in {row[0] for row in rows}),
        addresses=tuple(
            Address(
                interface=name,
                address=address,
                prefix_len=length,
                family="AF_INET6" if ":" in address else "AF_INET",
            )
            for name, address, length in rows
        ),
    )


def chosen(where: Network, environment: dict[str, str] | None = None, version: Version | None = NEW) -> str:
    choice = interfaces.bootstrap(settings.build(environment or {}, version=version), where, lambda host: None)
    return f"{choice.bootstrap.name} {choice.bootstrap.address}" if choice.bootstrap else str(choice.failure)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "eth0 10.0.0.1"),
        ({"NCCL_SOCKET_IFNAME": "eth1,eth0"}, "eth0 10.0.0.1"),
        ({"NCCL_SOCKET_IFNAME": "=eth1,=eth0"}, "eth1 10.0.1.1"),
        ({"NCCL_SOCKET_IFNAME": "^eth"}, "lo 127.0.0.1"),
        ({"NCCL_SOCKET_IFNAME": "^lo"}, "docker0 172.17.0.1"),
        ({"NCCL_SOCKET_IFNAME": "nosuch"}, "no interface"),
        ({"NCCL_SOCKET_IFNAME": "e"}, "eth0 10.0.0.1"),
        ({"NCCL_SOCKET_IFNAME": ""}, "eth0 10.0.0.1"),
        ({"NCCL_SOCKET_IFNAME": "eth", "NCCL_SOCKET_FAMILY": "AF_INET6"}, "eth1 fd77::1"),
        ({"NCCL_SOCKET_IFNAME": "eth", "NCCL_SOCKET_FAMILY": "inet6"}, "eth0 10.0.0.1"),
        ({"NCCL_COMM_ID": "10.0.1.9:29500"}, "eth1 10.0.1.1"),
        ({"NCCL_COMM_ID": "[fd77::9]:29500"}, "eth1 fd77::1"),
        ({"NCCL_COMM_ID": "9.9.9.9:1"}, "no interface in the subnet"),
        ({"NCCL_COMM_ID": "x"}, "bad NCCL_COMM_ID"),
        ({"NCCL_COMM_ID": "[::1"}, "bad NCCL_COMM_ID"),
    ],
)
def test_bootstrap(environment: dict[str, str], expected: str) -> None:
    assert chosen(network(), environment) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("lo", "docker0", "virbr0"), "docker0 172.17.0.1"),
        (("lo", "virbr0"), "lo 127.0.0.1"),
        (("virbr0",), "virbr0 192.168.122.1"),
        ((), "eth0 10.0.0.1"),
    ],
)
def test_what_is_left_for_the_end(names: tuple[str, ...], expected: str) -> None:
    assert chosen(network(*names)) == expected


def test_releases_differ() -> None:
    assert chosen(network("virbr0", "lo"), version=OLD) == "virbr0 192.168.122.1"
    assert chosen(network(asleep=("eth0",))) == "eth1 10.0.1.1"
    assert chosen(network(asleep=("eth0",)), version=OLD) == "eth0 10.0.0.1"
    # 2.29 compares the wrong way round: the first interface that is not in the subnet
    assert chosen(network(), {"NCCL_COMM_ID": "10.0.0.9:1"}, Version(2, 29, 7)) == "lo 127.0.0.1"


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(NotKnown, match="cannot resolve head"):
        chosen(network(), {"NCCL_COMM_ID": "head:1"})
    with pytest.raises(NotKnown):
        chosen(Network())


def test_all_that_the_socket_transport_takes() -> None:
    choice = interfaces.choose(settings.build({"NCCL_SOCKET_IFNAME": "eth,docker"}), network())
    assert [one.name for one in choice.chosen] == ["docker0", "eth0", "eth1"]
    assert choice.why == "NCCL_SOCKET_IFNAME"
