"""Limits between hosts: from what /sys of each says of the interface that Gloo uses there."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.conftest import Start, join
from tests.lab.lab import Lab
from tests.support.sysfs import Sysfs

pytestmark = pytest.mark.lab

LIMIT_S = 120.0
QUICK = ("--op", "all_reduce,ping_pong", "--sizes", "64KiB", "-n", "4", "--timeout", "20")


def with_interface(folder: Path, megabits: int, argv: Sequence[str]) -> tuple[str, ...]:
    """A command that sees eth0 as a network card of this speed."""
    Sysfs(folder).nic("eth0", megabits)
    shown = folder / "sys/class/net"
    return ("sh", "-c", f'mount --bind "{shown}" /sys/class/net && exec "$@"', "sh", *argv)


def test_veth_has_no_wire(lab: Lab, start: Start) -> None:
    first, second = (start(host, join(rank, 2, *QUICK)) for rank, host in enumerate(lab.hosts))
    ended = first.wait(LIMIT_S)
    assert ended.code == 0, ended.said
    assert second.wait(LIMIT_S).code == 0
    reason = "the network of n1: eth0: virtual interface; the speed that it reports is not a link speed"
    assert ended.document["run"]["limit_unknown_reason"] == f"{reason} (/sys/class/net/eth0/speed)"
    assert [row["limit_busbw_bytes_per_s"] for row in ended.document["measurements"]] == [None, None]


@pytest.mark.slow
def test_the_slower_of_two_hosts_limits(lab: Lab, start: Start, tmp_path: Path) -> None:
    words = (*QUICK, "--format", "json", "--nproc-per-node", "2")
    first, second = (
        start(host, with_interface(tmp_path / f"tree-{host.name}", megabits, join(rank, 2, *words)))
        for rank, (host, megabits) in enumerate(zip(lab.hosts, (25000, 10000), strict=True))
    )
    ended = first.wait(LIMIT_S)
    assert ended.code == 0, ended.said
    assert second.wait(LIMIT_S).code == 0
    document = json.loads(ended.stdout)
    assert [(row["op"], row["limit_busbw_bytes_per_s"]) for row in document["measurements"]] == [
        ("all_reduce", pytest.approx(1.25e9 * 1.5)),
        ("ping_pong", pytest.approx(1.25e9)),
    ]
    source = "(/sys/class/net/eth0/speed)"
    assert document["run"]["limit_source"] == (
        f"network (different between hosts): 1.25 GB/s each way on n2, eth0 10 Gb/s Ethernet {source}; "
        f"up to 3.12 GB/s on n1, eth0 25 Gb/s Ethernet {source}"
    )
    assert document["run"]["limit_unknown_reason"] is None
