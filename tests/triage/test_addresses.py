"""Interfaces and addresses that lead to no other host."""

import pytest

from nccltool.triage import addresses


@pytest.mark.parametrize(
    ("interface", "expected"),
    [("lo", True), ("docker0", True), ("br-4711", True), ("wlp2s0", True), ("eth0", False), ("bond0", False)],
)
def test_interfaces(interface: str, expected: bool) -> None:
    assert addresses.is_virtual(interface) == expected


@pytest.mark.parametrize(
    ("address", "unreachable", "of_containers"),
    [
        ("127.0.1.1", True, False),
        ("[::1]:5", True, False),
        ("fe80::1%eth0", True, False),
        ("169.254.3.4", True, False),
        ("172.17.0.2", False, True),
        ("192.168.122.1", False, True),
        ("10.0.0.1", False, False),
        ("172.16.0.2", False, False),
    ],
)
def test_addresses(address: str, unreachable: bool, of_containers: bool) -> None:
    assert (addresses.is_unreachable(address), addresses.is_of_containers(address)) == (unreachable, of_containers)
