"""What carries the bytes between ranks, and the largest bus bandwidth that this allows: worked out, or not known.

Bytes cross a boundary: that of a host (its network), or that of a GPU (its NVLink). Wires are full duplex, so
what counts is the larger of the bytes that must enter and those that must leave. Each collective says how much of
S bytes (nccl-tests' size) that is at least, with n ranks, of them g inside the boundary, and k boundaries.
Divided by the rate of the boundary this is the least time; bus bandwidth is S / time x the bus factor. For
equal hosts with a rate of B that gives, for all_reduce, all_gather and reduce_scatter, B k (n-1) / (n (k-1));
turned over, the rate that a host's network must have carried is busbw n (k-1) / (k (n-1)).

Only all_reduce can be faster, where a switch reduces (NVLS, SHARP): a side then sends and receives S once
however many sides there are. What an end must send or receive itself in the other operations, no switch saves.

Between hosts whose GPUs have NVLink a second boundary counts, that of each GPU: what enters the GPUs of a host
comes over NVLink or over the host's network. It is what limits a few hosts with fast networks.

Where NVLink connects the GPUs of several hosts (racks of GB200), these are one boundary, whose network is that of
all of them; inside of it only NVLink limits. So NCCL sees it too: ranks of a clique are one node (src/init.cc).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nccltool.core.plugins import PluginFailed
from nccltool.core.text import named
from nccltool.core.units import format_gb_per_s
from nccltool.core.unknown import Unknown
from nccltool.hosts.nvlink import NvLinkSpec, nvlink
from nccltool.hosts.usable_network import UsableNetwork
from nccltool.launch import rank_agreement
from nccltool.launch.events import RankFacts
from nccltool.probe import collectives

_NAMES = {"NVLink": "nvlink", "Infinity Fabric": "xgmi"}
_SHOWN = 8
"""Kinds of devices."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """The largest bus bandwidth of an operation that the wires of a world allow."""

    op: str
    busbw_bytes_per_s: float
    may_be_exceeded: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The limits of a world. Without a source and without a reason there is nothing to limit."""

    rows: tuple[Limit, ...] = ()
    source: str | None = None
    unknown_reason: str | None = None


def between_ranks(
    backend: str, ranks: Sequence[RankFacts], networks: Mapping[str, UsableNetwork]
) -> tuple[str | None, str | None]:
    """(what carries the bytes between these ranks, the network devices of each host); None = not known."""
    if rank_agreement.is_emulated(ranks):
        return "emulated", ""
    hosts = dict.fromkeys(facts.host_id for facts in ranks)
    links = [nvlink(facts.gpu_name) for facts in ranks] if backend == "nccl" else []
    if len(hosts) == 1:
        return _between_gpus(links) if links else "local" if backend == "gloo" else None, ""
    found = [networks.get(host) for host in hosts]
    kinds = {network.transport if network else None for network in found}
    devices = {network.devices if network else None for network in found}
    if any(link and link.between_hosts for link in links):
        homes = _domains(hosts, networks)
        kinds = {None} if isinstance(homes, Unknown) else {"nvlink"} if len(set(homes.values())) == 1 else kinds
    nics = None if None in devices else named(sorted(text for text in devices if text), _SHOWN, "; ")
    return kinds.pop() if len(kinds) == 1 else None, nics


def _between_gpus(links: Sequence[NvLinkSpec | None]) -> str | None:
    kinds = {link.kind if link else None for link in links}
    return _NAMES.get(kinds.pop() or "") if len(kinds) == 1 else None


def limits(
    ops: Sequence[str], backend: str, ranks: Sequence[RankFacts], wires: Mapping[str, UsableNetwork]
) -> Limits:
    """The limits of operations over these ranks, in rank order; `wires` by host id."""
    if rank_agreement.is_emulated(ranks):
        return Limits()
    if len({facts.host_id for facts in ranks}) > 1:
        return _between_hosts(ops, backend, ranks, wires)
    return _inside_a_host(ops, backend, ranks)


def _inside_a_host(ops: Sequence[str], backend: str, ranks: Sequence[RankFacts]) -> Limits:
    if not any(facts.gpu for facts in ranks):
        return Limits()
    if len(ranks) == 1:
        return Limits(unknown_reason="one rank: no data crosses a link")
    if backend != "nccl":
        return Limits(unknown_reason=f"on one host, {backend} communicates through host memory")
    links = [nvlink(facts.gpu_name) for facts in ranks]
    known = [link for link in links if link]
    if len(known) < len(links):
        facts = ranks[links.index(None)]
        what = f"the links of {facts.gpu_name or 'the GPU'} of rank {facts.rank}"
        return Limits(unknown_reason=f"{what} are unknown")
    if why := _partitioned(len(ranks), known):
        return Limits(unknown_reason=why)
    others = {op: 1 if collectives.get(op).is_point_to_point else len(ranks) - 1 for op in ops}
    found = {op: largest_busbw(op, range(len(ranks)), [link.rate_to(others[op]) for link in known]) for op in ops}
    return Limits(rows=_rows(found, all(link.peers is None for link in known)), source=_of_gpus(ranks, known))


def _partitioned(ranks: int, links: Sequence[NvLinkSpec]) -> str:
    """Why the rate of a rank's links is not known, where more ranks are on a host than its GPUs have links to."""
    fewest = min((link.peers for link in links if link.peers), default=ranks)
    return (
        f"{ranks} ranks on {fewest + 1} GPUs: the ranks use partitions, which share links"
        if ranks > fewest + 1
        else ""
    )


def _between_hosts(
    ops: Sequence[str], backend: str, ranks: Sequence[RankFacts], wires: Mapping[str, UsableNetwork]
) -> Limits:
    hosts = {facts.host_id: facts.host for facts in ranks}
    links = [nvlink(facts.gpu_name) for facts in ranks] if backend == "nccl" else []
    nvlinks = [link for link in links if link]
    homes = dict.fromkeys(hosts, "")
    if any(link.between_hosts for link in nvlinks):
        domains = _domains(hosts, wires)
        if isinstance(domains, Unknown):
            return Limits(unknown_reason=domains.reason)
        homes = domains
        if len(set(homes.values())) == 1 and len(nvlinks) == len(ranks):
            return _inside_a_domain(ops, backend, ranks, nvlinks, homes[ranks[0].host_id])
    networks = [wires.get(host, _MISSING) for host in hosts]
    for host, network in zip(hosts, networks, strict=True):
        if network.bytes_per_s is None:
            return Limits(unknown_reason=f"the network of {hosts[host]}: {network.text}")
    rates = [network.bytes_per_s or 0.0 for network in networks]
    return _over_networks(ops, backend, ranks, homes, dict(zip(hosts, rates, strict=True)), networks, nvlinks)


_MISSING = UsableNetwork(bytes_per_s=None, text="it did not report its network")


def _domains(hosts: Iterable[str], wires: Mapping[str, UsableNetwork]) -> dict[str, str] | Unknown:
    """Of each host the NVLink domain that it is in, its own where it is alone; or why that is not known."""
    found: dict[str, str] = {}
    for host in hosts:
        domain = wires.get(host, _MISSING).domain
        if domain is None or domain.name is None:
            why = domain.text if domain else "it did not report its NVLink domain"
            return Unknown(f"NVLink may connect the GPUs of several hosts: {why}")
        found[host] = domain.name or host
    return found


def _inside_a_domain(
    ops: Sequence[str], backend: str, ranks: Sequence[RankFacts], links: Sequence[NvLinkSpec], domain: str
) -> Limits:
    rates = [link.bytes_per_s for link in links]
    found = {op: largest_busbw(op, range(len(ranks)), rates) for op in ops}
    source = f"{_of_gpus(ranks, links)}; all hosts are in NVLink domain {domain}"
    return Limits(rows=_rows(found, backend == "nccl"), source=source)


def _over_networks(
    ops: Sequence[str],
    backend: str,
    ranks: Sequence[RankFacts],
    homes: Mapping[str, str],
    rates: Mapping[str, float],
    networks: Sequence[UsableNetwork],
    nvlinks: Sequence[NvLinkSpec],
) -> Limits:
    """`homes`: of each host the NVLink domain that it is in; '' = it is alone. `rates`: of its network."""
    names = {facts.host_id: facts.host for facts in ranks}
    sides = list(dict.fromkeys(homes[host] or host for host in names))
    at = [sides.index(homes[facts.host_id] or facts.host_id) for facts in ranks]
    together = [sum(rate for host, rate in rates.items() if (homes[host] or host) == side) for side in sides]
    gpus = _gpu_rates(at, together, nvlinks) if nvlinks and len(nvlinks) == len(ranks) else None
    found = {op: _smallest(op, at, together, gpus) for op in ops}
    still = [op for op, busbw in found.items() if busbw is None]
    source = _of_network(list(names.values()), networks, list(rates.values()))
    if len(sides) < len(names):
        source = f"{source}; {len(names)} hosts in {len(sides)} NVLink domains"
    return Limits(
        rows=_rows(found, backend == "nccl"),
        source=f"{source}; {_of_gpus(ranks, nvlinks)}" if gpus else source,
        unknown_reason=f"no data of {', '.join(still)} crosses the network" if still else None,
    )


def _smallest(op: str, homes: Sequence[int], rates: Sequence[float], gpus: Sequence[float] | None) -> float | None:
    network = largest_busbw(op, homes, rates)
    if network is None or gpus is None or not collectives.get(op).is_symmetric:
        return network
    return min(network, largest_busbw(op, range(len(homes)), gpus) or network)


def _gpu_rates(homes: Sequence[int], rates: Sequence[float], links: Sequence[NvLinkSpec]) -> list[float]:
    """What a GPU can take in: its NVLink, and its share of its host's network."""
    inside, total = Counter(homes), list(rates)
    for link, home in zip(links, homes, strict=True):
        total[home] += link.rate_to(inside[home] - 1)
    return [total[home] / inside[home] for home in homes]


def _rows(found: Mapping[str, float | None], has_switches: bool) -> tuple[Limit, ...]:
    by_switches = {op for op in found if has_switches and collectives.get(op).is_reduced_by_switches}
    return tuple(
        Limit(op=op, busbw_bytes_per_s=busbw, may_be_exceeded=op in by_switches)
        for op, busbw in found.items()
        if busbw is not None
    )


def largest_busbw(op: str, homes: Sequence[int], rates: Sequence[float]) -> float | None:
    """The limit of an operation; None when none of its bytes must cross a boundary.

    `homes` is the boundary of each rank, `rates` bytes per second of each boundary, each way.
    """
    collective = collectives.get(op)
    try:
        seconds = collective.least_seconds(homes, rates) if len(rates) > 1 else 0.0
        return collective.bus_factor(len(homes)) / seconds if seconds else None
    except PluginFailed:  # of an operation that is measured, or named elsewhere
        return None


def _of_gpus(ranks: Sequence[RankFacts], links: Sequence[NvLinkSpec]) -> str:
    names = named(sorted({str(facts.gpu_name) for facts in ranks}), _SHOWN)
    slowest = min(links, key=lambda link: link.bytes_per_s)
    rate = f"{format_gb_per_s(slowest.bytes_per_s)} GB/s each way across all links of a GPU"
    each = f", {format_gb_per_s(slowest.rate_to(1))} to each peer" if slowest.peers else ""
    return f"{slowest.kind} {slowest.generation} of {names}: {rate}{each} ({slowest.source})"


def _of_network(hosts: Sequence[str], wires: Sequence[UsableNetwork], rates: Sequence[float]) -> str:
    slow, fast = rates.index(min(rates)), rates.index(max(rates))
    low, high = format_gb_per_s(rates[slow]), format_gb_per_s(rates[fast])
    if low == high:
        return f"network: {low} GB/s per host each way, {wires[slow].text}"
    return (
        f"network (different between hosts): {low} GB/s each way on {hosts[slow]}, {wires[slow].text}; "
        f"up to {high} GB/s on {hosts[fast]}, {wires[fast].text}"
    )
