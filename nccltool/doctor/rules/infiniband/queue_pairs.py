"""Queue pairs of a connection, and what they ask of a port."""

from collections import Counter

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, escaped, known, rule
from nccltool.doctor.rules.infiniband.base import port_names, roce_ports
from nccltool.hosts.nccl import adapters


@rule("IB039", "info", needs=("rdma", "plugins"))
def roce_with_one_queue_pair(host: JudgedHost) -> Results:
    """RoCE between more than two nodes with one queue pair for each connection.

    Why: A connection is one flow, which the switches send over one of several equal paths.
    Example: NCCL_IB_QPS_PER_CONNECTION not set on RoCE with ECMP
    Instead: NCCL_IB_QPS_PER_CONNECTION=4, after a measurement
    Source: NCCL user guide, performance and tuning (RoCE considerations)
    """
    if host.integer("NCCL_IB_QPS_PER_CONNECTION") not in (None, 1):
        return
    ports = roce_ports(host)
    if ports and known(host.nodes) > 2 and not host.net_plugins:
        yield report.device(
            ports[0].name,
            "each connection is one flow, which hashes to one path of the fabric",
            "measure with NCCL_IB_QPS_PER_CONNECTION=2, 4 and 8",
            evidence=(f"RoCE on {port_names(ports)}, {host.nodes} nodes",),
        )


_MOST_QPS = 128
"""NCCL_IB_MAX_QPS of src/transport/net_ib/common.h."""

_MANY_QPS = 16

_MOST_MERGED = 4
"""NCCL_NET_MAX_DEVS_PER_NIC."""

_QPS = "NCCL_IB_QPS_PER_CONNECTION"


@rule("IB036", "error", needs=("rdma",))
def impossible_queue_pairs(host: JudgedHost) -> Results:
    """NCCL_IB_QPS_PER_CONNECTION is 0 or less, or more than 128 together with the merged ports of an adapter.

    Why: A connection has this many queue pairs for each of its ports. NCCL has room for 128, and does not check:
    it overwrites its own memory. With 0 there is none.
    Example: NCCL_IB_QPS_PER_CONNECTION=128 on adapters with two ports
    Instead: NCCL_IB_QPS_PER_CONNECTION=4
    Source: NCCL src/transport/net_ib/common.h, connect.cc (2.30.7)
    """
    given = host.number(_QPS)
    if given is None or 1 <= given[1] <= _MOST_QPS // _MOST_MERGED:
        return
    variable, count = given
    ports = 1 if count < 1 or count > _MOST_QPS else _merged(host)
    if isinstance(ports, Unknown):
        yield ports
    elif count < 1 or count * ports > _MOST_QPS:
        yield report.better_unset(
            variable,
            "there is no queue pair" if count < 1 else f"{count} x {ports} queue pairs; NCCL has room for 128",
            "write 1 to 8, or unset it",
        )


def _merged(host: JudgedHost) -> int | Unknown:
    """How many ports NCCL makes one device of, at most. Raises NotKnown."""
    if host.integer("NCCL_IB_MERGE_NICS") == 0:
        return 1
    for name in ("NCCL_NET_MERGE_LEVEL", "NCCL_NET_FORCE_MERGE"):
        if host.get(name):
            return Unknown(f"{name} is set; which ports NCCL then merges is not known")
    cards = Counter(adapters.card(port) for port in host.active_ports)
    return min(max(cards.values(), default=0), _MOST_MERGED)


@rule("IB037", "warning")
def many_queue_pairs(host: JudgedHost) -> Results:
    """NCCL_IB_QPS_PER_CONNECTION is more than 16.

    Why: The adapter keeps the state of few queue pairs in its own memory; more of them cost more than the spread
    over paths gains.
    Example: NCCL_IB_QPS_PER_CONNECTION=32
    Instead: NCCL_IB_QPS_PER_CONNECTION=4
    Source: NCCL user guide, NCCL_IB_QPS_PER_CONNECTION; IBM Cloud publishes 16, the most that any platform does
    """
    given = host.number(_QPS)
    if given and given[1] > _MANY_QPS:
        yield report.about(
            given[0], f"{given[1]} queue pairs for each connection", "write 2 to 8, after a measurement"
        )


@rule("IB038", "info")
def split_without_queue_pairs(host: JudgedHost) -> Results:
    """NCCL_IB_SPLIT_DATA_ON_QPS=1 with one queue pair.

    Why: There is nothing to split the data over.
    Example: NCCL_IB_SPLIT_DATA_ON_QPS=1
    Instead: NCCL_IB_QPS_PER_CONNECTION=4 as well, or neither
    Source: NCCL user guide, NCCL_IB_SPLIT_DATA_ON_QPS
    """
    given = host.number("NCCL_IB_SPLIT_DATA_ON_QPS")
    count = host.integer(_QPS)
    if given and given[1] and (count is None or count <= 1):
        yield report.better_unset(
            given[0],
            "a connection has one queue pair: there is nothing to split over",
            f"export {_QPS}=4, or unset NCCL_IB_SPLIT_DATA_ON_QPS",
            part="",
        )


@rule("IB046", "warning", needs=("rdma",))
def failover_to_nothing(host: JudgedHost) -> Results:
    """NCCL_IB_RESILIENCY_PORT_FAILOVER=1, and no ports are merged.

    Why: A connection fails over to another port of the same merged device; there is none. NCCL warns that this
    makes no sense.
    Example: NCCL_IB_RESILIENCY_PORT_FAILOVER=1 on adapters with one port
    Instead: without it; or NCCL_IB_MERGE_NICS=1 on adapters with two ports
    Source: NCCL src/transport/net_ib/p2p_resiliency.cc
    """
    given = host.number("NCCL_IB_RESILIENCY_PORT_FAILOVER")
    if given is None or not given[1]:
        return
    merged = _merged(host)
    if isinstance(merged, Unknown):
        yield merged
    elif merged == 1:
        yield report.better_unset(given[0], "no ports are merged: there is nothing to fail over to")


@rule("IB048", "error", needs=("rdma",))
def empty_partition_key(host: JudgedHost) -> Results:
    """NCCL_IB_PKEY points to an entry of the partition table that is empty.

    Why: A queue pair without a partition cannot talk. The variable is an index into the table, not the key.
    Example: NCCL_IB_PKEY=0x8001
    Instead: the index at which /sys/class/infiniband/mlx5_0/ports/1/pkeys shows the key
    Source: NCCL src/transport/net_ib/connect.cc (pkeyIndex)
    """
    given = host.number("NCCL_IB_PKEY")
    if given is None:
        return
    variable, index = given
    ports = host.active_ports
    wrong = [port for port in ports if not 0 <= index < len(keys := known(port.port.pkeys)) or not keys[index]]
    if wrong:
        where = {
            number
            for number, key in enumerate(known(wrong[0].port.pkeys))
            if key and key in (index, index | 0x8000)
        }
        yield report.about(
            variable,
            f"{escaped(', '.join(port.name for port in wrong[:8]))}: entry {index} of the table is empty",
            f"the key is at index {min(where)}" if where else "write the index of a key, or unset NCCL_IB_PKEY",
            evidence=tuple(f"{escaped(port.name)}: {_keys(known(port.port.pkeys))}" for port in wrong[:4]),
            fix=report.export("NCCL_IB_PKEY", str(min(where))) if where else report.unset(variable),
        )


def _keys(keys: tuple[int, ...]) -> str:
    return ", ".join(f"{index}: {key:#06x}" for index, key in enumerate(keys) if key) or "no key"
