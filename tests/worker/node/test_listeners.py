"""Where nodes listen: on the addresses that others are to use, and on no others."""

import socket
from collections.abc import Iterator, Sequence

import pytest

from nccltool.hosts.sources import net
from nccltool.worker.node import listeners

pytestmark = pytest.mark.quick

Listening = list[socket.socket]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that others reach at 127.0.0.2 and 127.0.0.3; its loopback is 127.0.0.1 and 127.0.1.1."""
    names = {"n1": ("127.0.0.2",), "debian": ("127.0.1.1",), "elsewhere": ("192.0.2.1",)}
    names["localhost"] = ("127.0.0.1",)
    monkeypatch.setattr(net, "outward_addresses", lambda: ("127.0.0.2", "127.0.0.3"))
    monkeypatch.setattr(net, "is_loopback", lambda address: address in ("127.0.0.1", "127.0.1.1"))
    monkeypatch.setattr(net, "resolve", lambda host, timeout_s: names.get(host, (host,)))


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("", 0)) as free:
        return int(free.getsockname()[1])


def addresses(listening: Sequence[socket.socket]) -> list[str]:
    """Where they listen, all at one port; they are closed."""
    (port,) = {one.getsockname()[1] for one in listening}
    assert listeners.own_way(listening) == (listening[0].getsockname()[0], port)
    where = [one.getsockname()[0] for one in listening]
    for one in listening:
        one.close()
    return where


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("host", "where"),
    [
        ("n1", ["127.0.0.2"]),
        ("127.0.0.3", ["127.0.0.3"]),
        ("localhost", ["127.0.0.1"]),
        ("127.0.1.1", ["127.0.1.1"]),
        pytest.param("debian", ["127.0.1.1", "127.0.0.2", "127.0.0.3"], id="its own name leads to loopback"),
        pytest.param("elsewhere", ["127.0.0.2", "127.0.0.3"], id="a Service, or NAT"),
    ],
)
def test_where_the_name_of_node_0_leads(host: str, where: list[str], free_port: int) -> None:
    assert addresses(listeners.named(host, free_port)) == where


@pytest.mark.usefixtures("here")
def test_what_others_are_told() -> None:
    assert addresses(listeners.outward(0)) == ["127.0.0.2", "127.0.0.3"]
    assert addresses(listeners.loopback()) == ["127.0.0.1"]


@pytest.mark.usefixtures("here")
def test_a_port_that_another_has(free_port: int) -> None:
    with socket.create_server(("127.0.0.3", free_port)), pytest.raises(OSError, match="in use"):
        listeners.outward(free_port)


@pytest.fixture
def listening() -> Iterator[Listening]:
    there = listeners._on(("127.0.0.2", "127.0.0.3", "127.0.0.4"), 0)
    yield there
    for one in there:
        one.close()


@pytest.mark.parametrize(
    ("used", "kept"),
    [
        (("127.0.0.3",), [1]),
        (("127.0.0.4", "127.0.0.2"), [0, 2]),
        pytest.param((), [0], id="no other host: the way of its own ranks"),
        pytest.param(("n1",), [0, 1, 2], id="others know a name"),
        pytest.param(("192.0.2.1",), [0], id="others know an address that is not here"),
    ],
)
def test_those_that_nobody_uses_are_closed(listening: Listening, used: tuple[str, ...], kept: list[int]) -> None:
    before = list(listening)
    assert listeners.narrowed(listening, used) == [before[number] for number in kept]
    assert [number for number, one in enumerate(before) if one.fileno() >= 0] == kept


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("where", "is_open"), [(("127.0.0.1",), False), (("127.0.0.1", "127.0.0.2"), True)])
def test_whether_others_may_come(where: tuple[str, ...], is_open: bool) -> None:
    there = listeners._on(where, 0)
    assert listeners.is_open_to_others(there) is is_open
    addresses(there)
