"""What carries the bytes between ranks."""

from typing import Any

import pytest

from nccltool.hosts.usable_network import UsableNetwork
from nccltool.probe import transport
from tests.samples import world

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
    assert transport.between_ranks(backend, ranks, dict(zip(hosts, found, strict=False))) == expected
