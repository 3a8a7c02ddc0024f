"""Nodes meet in a store, and who does not come is named: real stores, nodes of this process."""

import socket
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from torch.distributed import PrefixStore, TCPStore

from nccltool.worker.node.rendezvous import CannotStart, FixedRendezvous, StoreAddress, connect

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
    assert refusal(address, 0, 2) == ("node-missing", "node 1 of 2 did not join within 0 s")
    info = FixedRendezvous(address, 1, 2, "run", 10.0).next_rendezvous()
    assert (info.rank, info.world_size, info.bootstrap_store_info.master_port) == (1, 2, address.port)
    twice = f"two nodes have --node-rank 1: {here} and {here}"
    assert refusal(address, 1, 2) == ("node-rank-twice", twice)


def test_the_first_says_who_it_is_a_moment_after_it_took_the_number(address: StoreAddress) -> None:
    store = PrefixStore("nccltool/run", connect(address, 5.0))
    store.add("nodes/claimed/1", 1)
    later = threading.Timer(0.2, lambda: store.set("nodes/1", '{"host": "n7"}'))
    later.start()
    _, message = refusal(address, 1, 2)
    later.join()
    assert message == f"two nodes have --node-rank 1: n7 and {socket.gethostname()}"


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    code, message = refusal(StoreAddress("127.0.0.1", port), 3, 4)
    assert (code, message.partition(") ")[2]) == ("rdzv-unreachable", f"got no answer at 127.0.0.1:{port}")
