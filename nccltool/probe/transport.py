"""What carries the bytes between the ranks of a run: NVLink, RDMA, sockets, or the memory of one host."""

from collections.abc import Mapping, Sequence

from nccltool.hosts.nvlink import nvlink
from nccltool.hosts.usable_network import UsableNetwork
from nccltool.launch.rank_facts import RankFacts


def between_ranks(
    backend: str, ranks: Sequence[RankFacts], networks: Mapping[str, UsableNetwork]
) -> tuple[str | None, str | None]:
    """(what carries the bytes between these ranks, the network devices of each host); None = not known."""
    hosts = {facts.host_id for facts in ranks}
    if len({facts.node_rank for facts in ranks}) > len(hosts):
        return "emulated", ""
    links = [nvlink(facts.gpu_name) for facts in ranks] if backend == "nccl" else []
    if len(hosts) == 1:
        return "nvlink" if links and all(links) else "local" if backend == "gloo" else None, ""
    found = [networks.get(host) for host in hosts]
    kinds = {network.transport if network else None for network in found}
    devices = {network.devices if network else None for network in found}
    if any(link and link.between_hosts for link in links):
        kinds = {None}  # NVLink may connect the hosts
    nics = None if None in devices else "; ".join(sorted(text for text in devices if text))
    return kinds.pop() if len(kinds) == 1 else None, nics
