"""Nodes meet in a store, and who does not come is named: real stores, nodes of this process."""

import socket
from collections.abc import Iterator
from datetime import timedelta

import pytest
from torch.distributed import TCPStore

from nccltool.worker.node.rendezvous import CannotStart, FixedRendezvous, StoreAddress

pytestmark = [pytest.mark.torch, pytest.mark.quick]


@pytest.fixture
def address() -> Iterator[StoreAddress]:
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=10))
    yield StoreAddress("127.0.0.1", store.port)
    del store


def refusal(address: StoreAddress, node_rank: int, nodes: int) -> tuple[str, str]:
    with pytest.raises(CannotStart) as refused:
        FixedRendezvous(address, node_rank, nodes, "run", 0.3).next_rendezvous()
    return refused.value.finding.code, refused.value.finding.message


def test_all_are_there_or_one_is_missing_or_there_twice(address: StoreAddress) -> None:
    here = socket.gethostname()
    assert refusal(address, 0, 2) == ("node-missing", "node 1 of 2 did not come within 0 s")
    info = FixedRendezvous(address, 1, 2, "run", 10.0).next_rendezvous()
    assert (info.rank, info.world_size, info.bootstrap_store_info.master_port) == (1, 2, address.port)
    twice = f"two nodes say that they are node 1: {here} and {here}"
    assert refusal(address, 1, 2) == ("node-rank-twice", twice)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    code, message = refusal(StoreAddress("127.0.0.1", port), 3, 4)
    assert (code, message.partition(") ")[2]) == ("rdzv-unreachable", f"got no answer at 127.0.0.1:{port}")
