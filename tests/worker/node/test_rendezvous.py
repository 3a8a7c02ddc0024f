"""Nodes meet in a store, and who does not come is named: real stores, nodes of this process."""

import socket
import threading
from collections.abc import Iterator

import pytest
from torch.distributed import PrefixStore

from nccltool.worker.bus.client import BusAddress
from nccltool.worker.bus.seal import RunSecret
from nccltool.worker.bus.server import Server
from nccltool.worker.node.rendezvous import CannotStart, FixedRendezvous, connect

pytestmark = [pytest.mark.torch, pytest.mark.quick]

SECRET = RunSecret(b"of this run", "run")


@pytest.fixture
def address() -> Iterator[BusAddress]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server([listener], SECRET, lambda count, addresses: None)
    server.start()
    yield BusAddress("127.0.0.1", listener.getsockname()[1], SECRET)
    server.stop()


def refusal(address: BusAddress, node_rank: int, nodes: int) -> tuple[str, str]:
    with pytest.raises(CannotStart) as refused:
        FixedRendezvous(address, node_rank, nodes, "run", 0.3).next_rendezvous()
    return refused.value.finding.code, refused.value.finding.message


def test_all_are_there_or_one_is_missing_or_there_twice(address: BusAddress) -> None:
    here = socket.gethostname()
    assert refusal(address, 0, 2) == ("node-missing", "node 1 of 2 did not join within 0 s")
    info = FixedRendezvous(address, 1, 2, "run", 10.0).next_rendezvous()
    assert (info.rank, info.world_size, info.bootstrap_store_info.master_port) == (1, 2, address.port)
    twice = f"two nodes have --node-rank 1: {here} and {here}"
    assert refusal(address, 1, 2) == ("node-rank-twice", twice)


def test_the_first_says_who_it_is_a_moment_after_it_took_the_number(address: BusAddress) -> None:
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
    code, message = refusal(BusAddress("127.0.0.1", port, SECRET), 3, 4)
    assert (code, message.partition(") ")[2]) == ("rdzv-unreachable", f"got no answer at 127.0.0.1:{port}")


def test_another_secret(address: BusAddress) -> None:
    other = BusAddress(address.host, address.port, RunSecret(b"of another run", "run"))
    code, message = refusal(other, 1, 2)
    assert (code, message.partition(" and ")[2]) == (
        "rdzv-secret",
        f"node 0 at 127.0.0.1:{address.port} have different secrets",
    )
