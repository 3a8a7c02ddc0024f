"""What a timeline shows of hosts and communicators, as tables, and what differs between hosts."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from nccltool.core.host_lists import fold
from nccltool.triage.incident import Overview, OverviewTable
from nccltool.triage.timeline.model import Timeline
from nccltool.triage.timeline.observed import ObservedCommunicator, ObservedHost

_ASPECTS: Mapping[str, Callable[[ObservedHost], str]] = {
    "NCCL": lambda host: ", ".join(host.versions),
    "driver": lambda host: ", ".join(host.driver),
    "network": lambda host: ", ".join(host.networks),
    "interface": lambda host: ", ".join(host.interfaces),
    "HCAs": lambda host: fold(host.hcas) if host.hcas else "",
    "GPUDirect RDMA": lambda host: _gdr(host),
    "channels": lambda host: ", ".join(host.channels),
    "transports": lambda host: ", ".join(sorted(host.transports)),
}
_MOST_RANKS = 8


def overview(timeline: Timeline) -> Overview:
    hosts = list(timeline.hosts.values())
    if not hosts and not timeline.communicators:
        return Overview()
    tables = [_hosts(hosts), _settings(hosts), _communicators(timeline.communicators)]
    return Overview(tables=tuple(table for table in tables if table.rows), differences=tuple(_differences(hosts)))


def _hosts(hosts: list[ObservedHost]) -> OverviewTable:
    used = [name for name, of in _ASPECTS.items() if any(map(of, hosts))]
    rows = tuple((host.name, *(_ASPECTS[name](host) or "?" for name in used)) for host in hosts)
    return OverviewTable(title="hosts", headers=("host", *used), rows=rows)


def _gdr(host: ObservedHost) -> str:
    """Of the connections over HCAs, as far as they are logged; else what NCCL says of the HCAs."""
    over = [name for name in host.transports if name.startswith("NET/") and "Socket" not in name]
    if over:
        direct = sum(host.transports[name] for name in over if name.endswith("GDRDMA"))
        return f"{direct} of {sum(host.transports[name] for name in over)} connections"
    if host.gdr_hcas_off:
        return f"off for {fold(host.gdr_hcas_off)}" if all(host.gdr_hcas_off) else "off"
    return "on" if host.gdr_hcas else ""


def _settings(hosts: list[ObservedHost]) -> OverviewTable:
    """Variables that NCCL echoed; one row where all hosts have the same value."""
    rows = []
    for name in sorted({name for host in hosts for name in host.environment}):
        values: dict[str, list[str]] = {}
        for host in hosts:
            values.setdefault(host.environment.get(name, "(not logged)"), []).append(host.name)
        rows += [(name, value, "all" if len(values) == 1 else fold(where)) for value, where in values.items()]
    return OverviewTable(title="variables", headers=("variable", "value", "hosts"), rows=tuple(rows))


def _communicators(known: tuple[ObservedCommunicator, ...]) -> OverviewTable:
    rows = []
    for one in known:
        counts = (one.size, "?" if one.nodes is None else one.nodes, len(one.started), len(one.completed))
        rows.append((one.id, *map(str, counts), _ranks(one.started - one.completed)))
    headers = ("communicator", "ranks", "nodes", "began", "complete", "never complete")
    return OverviewTable(title="communicators", headers=headers, rows=tuple(rows))


def _ranks(ranks: set[int]) -> str:
    listed = [str(rank) for rank in sorted(ranks)]
    more = f" and {len(listed) - _MOST_RANKS} more" if len(listed) > _MOST_RANKS else ""
    return " ".join(listed[:_MOST_RANKS]) + more


def _differences(hosts: list[ObservedHost]) -> Iterator[str]:
    """Aspects in which hosts differ that should be alike."""
    for name, of in _ASPECTS.items():
        values = {host.name: of(host) for host in hosts if of(host)}
        if name in ("GPUDirect RDMA", "transports") or len(set(values.values())) < 2:
            continue
        groups = {one: f"{one} on {fold([h for h in values if values[h] == one])}" for one in values.values()}
        common, count = Counter(values.values()).most_common(1)[0]
        if count * 2 > len(values):
            del groups[common]
            groups[common] = f"{common} on the other {count}"
        yield f"{name}: {'; '.join(groups.values())}"
    silent = [host.name for host in hosts if not host.networks]
    if silent and len(silent) < len(hosts):
        yield f"network: {fold(silent)} did not log which network it uses"
