"""The bus as torch sees it: the calls of torch's stores, also from its C++, and a process group over it."""

import socket
from collections.abc import Iterator
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.distributed import DistError, DistStoreError, PrefixStore

from nccltool.worker.bus import store
from nccltool.worker.bus.client import BusAddress
from nccltool.worker.bus.seal import RunSecret
from nccltool.worker.bus.server import Server

pytestmark = [pytest.mark.torch, pytest.mark.quick]

SECRET = RunSecret(b"of this run", "run")


@pytest.fixture
def server() -> Iterator[tuple[Server, BusAddress]]:
    listener = socket.create_server(("127.0.0.1", 0))
    served = Server([listener], SECRET, lambda count, addresses: None)
    served.start()
    yield served, BusAddress("127.0.0.1", listener.getsockname()[1], SECRET)
    served.stop()


@pytest.fixture
def stores(server: tuple[Server, BusAddress]) -> Iterator[tuple[store.BusStore, PrefixStore]]:
    """Called by Python, and by torch's C++."""
    plain = store.connect(server[1], 10.0)
    yield plain, PrefixStore("p", plain)
    plain._connection.close()


@pytest.mark.parametrize("which", [0, 1])
def test_the_calls_of_a_store(stores: tuple[store.BusStore, PrefixStore], which: int) -> None:
    one = stores[which]
    one.set("k", "v")
    one.set("raw", b"\xff\x00")
    assert (one.get("k"), one.get("raw")) == (b"v", b"\xff\x00")
    assert [one.add("n", number) for number in (2, 3)] == [2, 5]
    assert (one.get("n"), one.check(["k", "n"]), one.check(["k", "x"])) == (b"5", True, False)
    one.multi_set(["a", "b"], ["1", "2"])
    assert one.multi_get(["b", "a"]) == [b"2", b"1"]
    one.append("a", "0")
    assert (one.get("a"), one.has_extended_api()) == (b"10", True)
    assert (one.compare_set("a", "x", "y"), one.compare_set("a", "10", "y")) == (b"10", b"y")
    assert (one.delete_key("a"), one.delete_key("a"), one.num_keys()) == (True, False, 4)
    one.wait(["k"])
    one.wait(["k", "n"], timedelta(seconds=1))


@pytest.mark.parametrize("which", [0, 1])
def test_what_does_not_come(stores: tuple[store.BusStore, PrefixStore], which: int) -> None:
    one = stores[which]
    with pytest.raises(DistStoreError, match="waiting for"):
        one.wait(["x"], timedelta(seconds=0.05))
    one.set_timeout(timedelta(seconds=0.05))
    for call in (lambda: one.get("x"), lambda: one.multi_get(["x"])):
        with pytest.raises(DistStoreError, match="waiting for"):
            call()


def test_a_clone_has_a_connection_of_its_own(stores: tuple[store.BusStore, PrefixStore]) -> None:
    plain, prefixed = stores
    prefixed.set("k", "v")
    again = prefixed.clone()
    assert again.get("k") == b"v"
    assert plain.clone()._connection is not plain._connection


def test_a_process_group(stores: tuple[store.BusStore, PrefixStore]) -> None:
    dist.init_process_group("gloo", store=PrefixStore("group", stores[1]), rank=0, world_size=1)
    try:
        tensor = torch.ones(3)
        dist.all_reduce(tensor)
        dist.new_group([0])
        assert tensor.tolist() == [1.0] * 3
    finally:
        dist.destroy_process_group()


def test_the_bus_is_gone(server: tuple[Server, BusAddress], stores: tuple[store.BusStore, PrefixStore]) -> None:
    server[0].stop()
    for one in stores:
        with pytest.raises(DistError, match="the bus of the run"):
            one.add("n", 1)
