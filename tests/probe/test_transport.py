"""Limits against a count of the bytes that must cross, message by message."""

import heapq
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import pytest

from nccltool.hosts.nvlink import NvLinkDomain
from nccltool.hosts.usable_network import UsableNetwork
from nccltool.launch import events
from nccltool.launch.events import EventReader, RankFacts
from nccltool.probe import collectives, transport
from nccltool.probe.collectives.base import Layout
from nccltool.probe.events import MeasuredWorld
from nccltool.probe.state import measurement
from nccltool.probe.transport import Limit, Limits
from tests.probe.test_state import result
from tests.samples import facts, world

GB = 1e9
ELEMENT = 16
"""Bytes; parts of ranks are then not rounded."""

BLOCKS = {  # ranks numbered host by host
    f"{k}x{g}": tuple(rank // g for rank in range(k * g)) for k in (2, 3) for g in (1, 2, 3)
}
DEALT = {  # and dealt out in turn
    f"{k}x{g} dealt": tuple(rank % k for rank in range(k * g)) for k in (2, 3) for g in (2, 3)
}
UNEQUAL = {"2 and 1": (0, 0, 1), "1 and 3": (0, 1, 1, 1)}
WORLDS = BLOCKS | DEALT | UNEQUAL
RATES = {
    "the same": (7.0, 7.0, 7.0),
    "the first slow": (2.0, 7.0, 7.0),
    "the first fast": (7.0, 1.0, 1.0),
    "each its own": (5.0, 7.0, 3.0),
}


@cache
def fewest_messages(hosts: int, wanted_at: frozenset[int], into: int | None, out_of: int | None) -> int:
    """How few messages of one element let `wanted_at` know what all hosts contribute: all messages, or only those
    into, or only those out of one host. Tried out over every order of messages."""
    start = tuple(1 << host for host in range(hosts))
    best, queue = {start: 0}, [(0, start)]
    while queue:
        spent, known = heapq.heappop(queue)
        if all(known[host] == 2**hosts - 1 for host in wanted_at):
            return spent
        for source, target in permutations(range(hosts), 2):
            counts = (into is None and out_of is None) or into == target or out_of == source
            after = list(known)
            after[target] |= known[source]
            state, cost = tuple(after), spent + counts
            if cost < best.get(state, cost + 1):
                best[state] = cost
                heapq.heappush(queue, (cost, state))
    raise AssertionError("it cannot be known")


def counted_busbw(op: str, homes: Sequence[int], rates: Sequence[float]) -> float:
    """S / (the least time) x the bus factor, by looking at each element that a rank must end with."""
    layout = collectives.get(op).layout(len(homes), len(homes), ELEMENT)
    hosts = sorted(set(homes))
    if collectives.get(op).reduces:
        seconds = seconds_of_reduction(op, homes, rates, layout)
    else:
        seconds = 0.0
        needs = {host: elements_for(op, homes, host, layout) for host in hosts}
        for host in hosts:
            enter = {element for element in needs[host] if homes[element[0]] != host}
            everywhere = set().union(*(needs[other] for other in hosts if other != host))
            leave = {element for element in everywhere if homes[element[0]] == host}
            seconds = max(seconds, max(len(enter), len(leave)) / rates[host])
    if op == "ping_pong":
        seconds /= 2  # all that was counted crosses in one call, which is two times
        for rank, home in enumerate(homes):  # and the two directions of a pair wait for each other
            for part in collectives.get(op).expected(rank, len(homes), layout):
                if part.source is not None and homes[part.source] != home:
                    seconds = max(seconds, layout.count / min(rates[home], rates[homes[part.source]]))
    return layout.bytes / ELEMENT / seconds * collectives.get(op).bus_factor(len(homes)) if seconds else 0.0


def elements_for(op: str, homes: Sequence[int], host: int, layout: Layout) -> set[tuple[int, int]]:
    """(rank, index in its send buffer) of all that the ranks of a host must end with."""
    found = set()
    for rank, home in enumerate(homes):
        for part in collectives.get(op).expected(rank, len(homes), layout) if home == host else ():
            assert part.source is not None
            found |= {(part.source, part.source_start + i) for i in range(part.length)}
    return found


def seconds_of_reduction(op: str, homes: Sequence[int], rates: Sequence[float], layout: Layout) -> float:
    hosts = sorted(set(homes))
    wanted_at: list[set[int]] = [set() for _ in range(layout.send)]
    for rank, home in enumerate(homes):
        for part in collectives.get(op).expected(rank, len(homes), layout):
            for i in range(part.length):
                wanted_at[part.source_start + i].add(home)
    sets = [frozenset(at) for at in wanted_at]

    def messages(into: int | None = None, out_of: int | None = None) -> int:
        return sum(fewest_messages(len(hosts), at, into, out_of) for at in sets)

    crossing = [max(messages(into=host), messages(out_of=host)) / rates[host] for host in hosts]
    return max(*crossing, messages() / sum(rates[host] for host in hosts))


@pytest.mark.parametrize("rates", RATES.values(), ids=RATES)
@pytest.mark.parametrize("homes", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("op", [*collectives.NAMES, "all_to_all_v:one-hot"])
def test_a_limit_is_what_counting_gives(op: str, homes: tuple[int, ...], rates: tuple[float, ...]) -> None:
    used = rates[: len(set(homes))]
    assert (transport.largest_busbw(op, homes, used) or 0.0) == pytest.approx(counted_busbw(op, homes, used))


@pytest.mark.parametrize(
    ("op", "busbw"),
    [
        ("all_reduce", 400 * 15 * 2 / (16 * 1)),
        ("all_gather", 400 * 15 * 2 / (16 * 1)),
        ("reduce_scatter", 400 * 15 * 2 / (16 * 1)),
        ("all_to_all", 400 * 15 / (8 * 8)),
        ("all_to_all_v:one-hot", 400 * 15 / 8),
        # the host of rank 0 receives 8 (1 + 1/2 + ... + 1/8) of these parts
        ("all_to_all_v:zipf:1", 400 * 15 / (8 * sum(1 / rank for rank in range(1, 9)))),
        ("gather", 400 * 15 / 8),
        ("scatter", 400 * 15 / 8),
        ("broadcast", 400),
        ("reduce", 400),
        ("send_recv", 400),
        ("ping_pong", 2 * 400 / 8),
    ],
)
def test_two_hosts_of_eight_ranks(op: str, busbw: float) -> None:
    homes = [rank // 8 for rank in range(16)]
    assert transport.largest_busbw(op, homes, (400.0, 400.0)) == pytest.approx(busbw)


@pytest.mark.parametrize("op", collectives.NAMES)
def test_with_a_rank_behind_each_wire_every_limit_is_the_wire(op: str) -> None:
    """The reason of the bus factors: busbw compares with the rate of a link whatever the operation."""
    assert transport.largest_busbw(op, range(8), [450.0] * 8) == pytest.approx(450.0)


@pytest.mark.parametrize("op", collectives.NAMES)
def test_nothing_crosses_around_a_single_host(op: str) -> None:
    assert transport.largest_busbw(op, (0, 0, 0), (1.0,)) is None


def test_all_reduce_over_many_hosts_comes_near_the_rate_of_one() -> None:
    homes = [rank // 8 for rank in range(8 * 128)]
    assert transport.largest_busbw("all_reduce", homes, [400.0] * 128) == pytest.approx(
        400 * 1023 / 1024 * 128 / 127
    )


def wire(gigabytes: float | None, text: str = "8 x 400 Gb/s InfiniBand (/sys/x)") -> UsableNetwork:
    return UsableNetwork(bytes_per_s=None if gigabytes is None else gigabytes * GB, text=text)


SAME = {"boot-a net:[1]": wire(50), "boot-b net:[1]": wire(50)}
NETWORK = "network: 50.00 GB/s per host each way, 8 x 400 Gb/s InfiniBand (/sys/x)"
H200 = (
    "NVLink 4 of NVIDIA H200: 450.0 GB/s each way across all links of a GPU (https://github.com/stas00/"
    "ml-engineering/blob/0030e63f5275afee38233676690ce10478647cca/network/README.md#nvlink)"
)


MAY = "NVLink may connect the GPUs of several hosts: "


def within(*names: str | None, network: UsableNetwork | None = None) -> dict[str, UsableNetwork]:
    """The networks of hosts whose NVLink has these domains."""
    network = network or wire(50)
    domains = [NvLinkDomain(name=name, text="only NVML reports it" if name is None else "") for name in names]
    hosts = ("boot-a net:[1]", "boot-b net:[1]", "boot-c", "boot-d")
    return {host: replace(network, domain=domain) for host, domain in zip(hosts, domains, strict=False)}


def on_one_host(**changes: Any) -> list[RankFacts]:
    return [facts(rank, **{"node_rank": 0, "host": "alpha", "host_id": "a", **changes}) for rank in range(4)]


def of(ranks: Sequence[RankFacts], backend: str = "nccl", wires: dict[str, UsableNetwork] | None = None) -> Limits:
    return transport.limits(("all_reduce", "all_gather"), backend, ranks, SAME if wires is None else wires)


def rows(all_reduce: float, all_gather: float, may_be_exceeded: bool = True) -> tuple[Limit, ...]:
    return (
        Limit(op="all_reduce", busbw_bytes_per_s=all_reduce * GB, may_be_exceeded=may_be_exceeded),
        Limit(op="all_gather", busbw_bytes_per_s=all_gather * GB),
    )


def test_the_network_limits() -> None:
    assert of(world()) == Limits(rows=rows(75, 75), source=f"{NETWORK}; {H200}")


def test_without_nvlink_only_the_network_is_known() -> None:
    assert of(world(gpu_name="NVIDIA L40S")) == Limits(rows=rows(75, 75), source=NETWORK)


def test_gloo_has_no_switch_that_reduces_and_no_nvlink() -> None:
    assert of(world(), "gloo") == Limits(rows=rows(75, 75, may_be_exceeded=False), source=NETWORK)


def test_with_a_fast_network_a_gpu_takes_in_its_nvlink_and_its_share_of_the_network() -> None:
    fast = of(world(), wires={host: wire(800) for host in SAME})
    assert fast.rows == rows(850, 850)


def test_a_slow_host_is_named() -> None:
    slow = of(
        world(gpu_name=None),
        wires={"boot-a net:[1]": wire(50), "boot-b net:[1]": wire(40, "7 x 400 Gb/s (/sys/y)")},
    )
    assert slow == Limits(
        rows=rows(60, 60),
        source="network (different between hosts): 40.00 GB/s each way on beta, 7 x 400 Gb/s (/sys/y); "
        "up to 50.00 GB/s on alpha, 8 x 400 Gb/s InfiniBand (/sys/x)",
    )


@pytest.mark.parametrize(
    ("ranks", "backend", "wires", "reason"),
    [
        (
            world(),
            "nccl",
            {"boot-a net:[1]": wire(50), "boot-b net:[1]": wire(None, "eth0: virtual")},
            "the network of beta: eth0: virtual",
        ),
        (world(), "gloo", {}, "the network of alpha: it did not report its network"),
        (world(gpu_name="NVIDIA GB200"), "nccl", SAME, f"{MAY}it did not report its NVLink domain"),
        (world(gpu_name="NVIDIA GB200"), "nccl", within(None, "x"), f"{MAY}only NVML reports it"),
        (world(gpu_name="NVIDIA GB200"), "nccl", within("x", None), f"{MAY}only NVML reports it"),
        (
            world(gpu_name="NVIDIA GB200"),
            "nccl",
            within("x", "y", network=wire(None, "hidden")),
            "the network of alpha: hidden",
        ),
        (on_one_host(), "gloo", {}, "on one host, gloo communicates through host memory"),
        (on_one_host()[:1], "nccl", {}, "one rank: no data crosses a link"),
        (
            on_one_host(gpu_name="NVIDIA L40S"),
            "nccl",
            {},
            "the links of NVIDIA L40S of rank 0 are unknown",
        ),
        (
            [*on_one_host()[:3], facts(3, node_rank=0, host_id="a", gpu_name="NVIDIA H100 PCIe")],
            "nccl",
            {},
            "the links of NVIDIA H100 PCIe of rank 3 are unknown",
        ),
    ],
)
def test_what_is_not_known_has_a_reason(
    ranks: list[RankFacts], backend: str, wires: dict[str, UsableNetwork], reason: str
) -> None:
    assert of(ranks, backend, wires) == Limits(unknown_reason=reason)


GB200 = (
    "NVLink 5 of NVIDIA GB200: 900.0 GB/s each way across all links of a GPU (https://github.com/stas00/"
    "ml-engineering/blob/0030e63f5275afee38233676690ce10478647cca/network/README.md#nvlink)"
)


def test_hosts_of_one_nvlink_domain_are_limited_by_nvlink() -> None:
    found = of(world(gpu_name="NVIDIA GB200"), wires=within("u/1", "u/1"))
    assert found == Limits(rows=rows(900, 900), source=f"{GB200}; all hosts are in NVLink domain u/1")


@pytest.mark.parametrize("names", [("u/1", "u/2"), ("", ""), ("u/1", "")])
def test_hosts_of_different_domains_are_limited_by_their_networks(names: tuple[str, str]) -> None:
    found = of(world(gpu_name="NVIDIA GB200"), wires=within(*names))
    assert found == Limits(rows=rows(75, 75), source=f"{NETWORK}; {GB200}")


def test_a_domain_of_several_hosts_has_the_networks_of_all_of_them() -> None:
    """Two racks with two trays each, of four GPUs: 8 ranks behind 2 x 50 GB/s."""
    hosts = ("boot-a net:[1]", "boot-b net:[1]", "boot-c", "boot-d")
    tray = facts(0, gpu_name="NVIDIA GB200")
    ranks = [replace(tray, rank=n, node_rank=n // 4, host=hosts[n // 4], host_id=hosts[n // 4]) for n in range(16)]
    found = of(ranks, wires=within("u/1", "u/1", "u/2", "u/2"))
    assert found.rows == rows(100 * 15 * 2 / 16, 100 * 15 * 2 / 16)
    assert found.source == f"{NETWORK}; 4 hosts in 2 NVLink domains; {GB200}"


def test_gb200_over_gloo_is_limited_by_its_network() -> None:
    assert of(world(gpu_name="NVIDIA GB200"), "gloo").rows == rows(75, 75, may_be_exceeded=False)


def test_inside_a_host_nvlink_limits() -> None:
    assert of(on_one_host(), wires={}) == Limits(rows=rows(450, 450), source=H200)


MI300X = "AMD Instinct MI300X"


@pytest.mark.parametrize(
    ("ranks", "all_gather", "send_recv"), [(2, 64, 64), (4, 192, 64), (8, 448, 64), (9, None, None)]
)
def test_without_a_switch_the_links_to_those_that_take_part_count(
    ranks: int, all_gather: float | None, send_recv: float | None
) -> None:
    """Seven links, one to each other GPU. Nothing on the way reduces."""
    one = on_one_host(gpu_name=MI300X)[0]
    some = [replace(one, rank=rank, local_rank=rank, gpu=f"GPU-{rank}") for rank in range(ranks)]
    found = transport.limits(("all_reduce", "all_gather", "send_recv"), "nccl", some, {})
    if all_gather is None or send_recv is None:
        assert found == Limits(unknown_reason="9 ranks on 8 GPUs: the ranks use partitions, which share links")
        return
    assert [(row.op, round(row.busbw_bytes_per_s / GB, 6), row.may_be_exceeded) for row in found.rows] == [
        ("all_reduce", all_gather, False),
        ("all_gather", all_gather, False),
        ("send_recv", send_recv, False),
    ]
    assert found.source is not None
    assert found.source.startswith(
        f"Infinity Fabric 4 of {MI300X}: 448.0 GB/s each way across all links of a GPU, 64"
    )


@pytest.mark.parametrize(
    "ranks",
    [
        world(host="alpha", host_id="a"),  # emulated nodes
        on_one_host(gpu=None, gpu_name=None, nccl=None),  # memory of one host
        on_one_host(gpu=None, gpu_name=None, nccl=None)[:1],
    ],
)
def test_where_no_link_is_measured_there_is_nothing_to_say(ranks: list[RankFacts]) -> None:
    assert of(ranks, "gloo", {}) == Limits()


def test_an_operation_that_stays_inside_hosts_is_named() -> None:
    """Four ranks dealt out over two hosts: the partners of ping_pong sit side by side."""
    dealt = [facts(rank, host=f"n{rank % 2}", host_id=f"{rank % 2}", node_rank=rank % 2) for rank in range(4)]
    shown = transport.limits(("ping_pong", "send_recv"), "gloo", dealt, {"0": wire(50), "1": wire(50)})
    assert [row.op for row in shown.rows] == ["send_recv"]
    assert shown.unknown_reason == "no data of ping_pong crosses the network"


def test_limits_fit_an_event_whole() -> None:
    most = transport.limits(collectives.NAMES, "nccl", world(), SAME)
    event = MeasuredWorld(
        world_size=10**5,
        emulated=False,
        backend="nccl",
        backend_version="2.29.7",
        backend_reason="every rank has a GPU and NCCL",
        steps=10**4,
        limits=most.rows,
        limit_source=f"{most.source}; {most.source}",
    )
    assert len(most.rows) == len(collectives.NAMES)
    assert EventReader(MeasuredWorld).decode(events.encode(event)) == event


def test_a_measurement_takes_its_limit_along() -> None:
    row = measurement(result(), (1000,), 4, Limit(op="all_reduce", busbw_bytes_per_s=9.0, may_be_exceeded=True))
    assert (row.limit_busbw_bytes_per_s, row.limit_may_be_exceeded) == (9.0, True)
    row = measurement(result(), (1000,), 4)
    assert (row.limit_busbw_bytes_per_s, row.limit_may_be_exceeded) == (None, False)


IB = UsableNetwork(bytes_per_s=4e11, text="", transport="ib", devices="8 x 400 Gb/s InfiniBand")
RACK = replace(IB, domain=NvLinkDomain(name="u/1", text=""))
ALONE = replace(IB, domain=NvLinkDomain(name="", text=""))
SLOW = UsableNetwork(bytes_per_s=1e10, text="", transport="socket", devices="1 x 80 Gb/s Ethernet")
SILENT = UsableNetwork(bytes_per_s=None, text="hidden", transport="ib")
ONE_HOST = {"host_id": "a", "node_rank": 0}


@pytest.mark.parametrize(
    ("backend", "changes", "found", "expected"),
    [
        ("gloo", {"host_id": "a"}, (), ("emulated", "")),
        ("gloo", ONE_HOST, (), ("local", "")),
        ("nccl", ONE_HOST, (), ("nvlink", "")),
        ("nccl", ONE_HOST | {"gpu_name": MI300X}, (), ("xgmi", "")),
        ("nccl", ONE_HOST | {"gpu_name": "NVIDIA L40S"}, (), (None, "")),
        ("nccl", {}, (IB, IB), ("ib", "8 x 400 Gb/s InfiniBand")),
        ("nccl", {}, (IB, SLOW), (None, "1 x 80 Gb/s Ethernet; 8 x 400 Gb/s InfiniBand")),
        ("nccl", {}, (IB, SILENT), ("ib", None)),
        ("nccl", {}, (IB,), (None, None)),
        ("nccl", {"gpu_name": "NVIDIA GB200"}, (IB, IB), (None, "8 x 400 Gb/s InfiniBand")),
        ("nccl", {"gpu_name": "NVIDIA GB200"}, (RACK, RACK), ("nvlink", "8 x 400 Gb/s InfiniBand")),
        ("nccl", {"gpu_name": "NVIDIA GB200"}, (RACK, ALONE), ("ib", "8 x 400 Gb/s InfiniBand")),
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
