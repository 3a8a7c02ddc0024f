"""What a connection is made with: queue pairs, time-outs and retries, traffic classes and service levels."""

import re
from collections import Counter

from nccltool.core.findings import Severity
from nccltool.core.text import escaped
from nccltool.core.units import format_seconds
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_number, for_text, rule
from nccltool.doctor.rules.infiniband.base import only_infiniband, port_names, roce_ports
from nccltool.hosts.facts import known, or_none
from nccltool.hosts.nccl import ib_retries
from nccltool.hosts.nccl.adapters import Port

_QPS = "NCCL_IB_QPS_PER_CONNECTION"
_MOST_QPS, _MOST_MERGED = 128, 4
"""NCCL_IB_MAX_QPS of src/transport/net_ib/common.h, NCCL_NET_MAX_DEVS_PER_NIC."""
_OCI_TC = 41
"""DSCP 10 and an ECN bit, by design: oci-hpc."""
_CODE_POINTS = (10, 14, 18, 22, 26, 30, 34, 38, 46)
"""Assured and expedited forwarding (RFC 2597, RFC 3246), where the class of the same number has ECN bits."""
_LARGEST_TABLE = 128
"""Entries of partition tables of today's adapters."""
_FEWEST_RETRIES_SEEN = 5
"""What three bits hold of NCCL_IB_RETRY_CNT=13. 14 is published: NVIDIA/NeMo-Framework-Launcher
csp_tools/oci/nccl.sh, 26e42fa9 (2025-04-18)."""
_LOWEST_DEFAULT = 14
"""NCCL_IB_TIMEOUT of NCCL before 2.14, in hosts/nccl/ib_retries.py: no release waits for less."""


@rule("IB039", "info", needs=("rdma", "plugins"))
def roce_with_one_queue_pair(host: JudgedHost) -> Results:
    """RoCE between more than two nodes uses one queue pair per connection.

    Why: Each connection is then a single flow, which switches hash to one of several equal-cost paths.
    Example: NCCL_IB_QPS_PER_CONNECTION is not set on RoCE with ECMP
    Instead: set NCCL_IB_QPS_PER_CONNECTION=4 if that improves measurements
    Source: NCCL user guide, performance and tuning (RoCE considerations)
    """
    ports = roce_ports(host) if host.integer(_QPS) in (None, 1) else ()
    if ports and known(host.nodes) > 2 and not host.net_plugins:
        message = "each connection is one flow, which the fabric hashes to a single path"
        remedy = "measure with NCCL_IB_QPS_PER_CONNECTION=2, 4, and 8"
        lines = (f"RoCE on {port_names(ports)}, {host.nodes} nodes",)
        yield report.device(ports[0].name, message, remedy, evidence=lines)


@for_number("IB036", "error", _QPS, needs=("rdma",))
def impossible_queue_pairs(host: JudgedHost, variable: Variable, count: int) -> Results:
    """NCCL_IB_QPS_PER_CONNECTION is below 1 or exceeds 128 when multiplied by the number of an adapter's merged
    ports.

    Why: A connection has this many queue pairs per port. NCCL has room for 128 and does not check the number; with
    more, it overwrites its own memory. With 0 there are no queue pairs.
    Example: NCCL_IB_QPS_PER_CONNECTION=128 on adapters with two ports
    Instead: NCCL_IB_QPS_PER_CONNECTION=4
    Source: NCCL src/transport/net_ib/common.h, connect.cc (2.30.7)
    """
    if 1 <= count <= _MOST_QPS // _MOST_MERGED:
        return
    ports = 1 if count < 1 or count > _MOST_QPS else _merged(host)
    if isinstance(ports, Unknown):
        yield ports
    elif count < 1 or count * ports > _MOST_QPS:
        what = (
            "a connection has no queue pair"
            if count < 1
            else f"{count} x {ports} queue pairs; NCCL has room for 128"
        )
        yield report.better_unset(variable, what, "set a value from 1 to 8 or unset it")


def _merged(host: JudgedHost) -> int | Unknown:
    """How many ports NCCL makes one device of, at most. Raises NotKnown."""
    if host.integer("NCCL_IB_MERGE_NICS") == 0:
        return 1
    for name in ("NCCL_NET_MERGE_LEVEL", "NCCL_NET_FORCE_MERGE"):
        if host.get(name):
            return Unknown(f"{name} is set; merged ports unknown")
    cards = Counter(port.card for port in host.active_ports)
    return min(max(cards.values(), default=0), _MOST_MERGED)


@for_number("IB037", "info", _QPS)
def many_queue_pairs(_: JudgedHost, variable: Variable, count: int) -> Results:
    """NCCL_IB_QPS_PER_CONNECTION is above 16.

    Why: The adapter caches the state of only a few queue pairs; with more, the cost exceeds the gain from
    spreading traffic over several paths.
    Example: NCCL_IB_QPS_PER_CONNECTION=32
    Instead: NCCL_IB_QPS_PER_CONNECTION=4
    Source: NCCL user guide, NCCL_IB_QPS_PER_CONNECTION; 16 is the highest value that any platform publishes (IBM
    Cloud)
    """
    if count > 16:
        message = f"{count} queue pairs per connection"
        yield report.about(variable, message, "measure with 2, 4, and 8")


@for_number("IB038", "info", "NCCL_IB_SPLIT_DATA_ON_QPS")
def split_without_queue_pairs(host: JudgedHost, variable: Variable, split: int) -> Results:
    """NCCL_IB_SPLIT_DATA_ON_QPS is 1, but there is only one queue pair.

    Why: With one queue pair, NCCL cannot split the data.
    Example: NCCL_IB_SPLIT_DATA_ON_QPS=1
    Instead: set NCCL_IB_QPS_PER_CONNECTION=4 as well or unset NCCL_IB_SPLIT_DATA_ON_QPS
    Source: NCCL user guide, NCCL_IB_SPLIT_DATA_ON_QPS
    """
    if split and (host.integer(_QPS) or 0) <= 1:
        message = "a connection has only one queue pair: nothing is split"
        yield report.better_unset(variable, message, f"export {_QPS}=4 or unset {variable.name}", part="")


@for_number("IB046", "warning", "NCCL_IB_RESILIENCY_PORT_FAILOVER", needs=("rdma",))
def failover_to_nothing(host: JudgedHost, variable: Variable, is_on: int) -> Results:
    """NCCL_IB_RESILIENCY_PORT_FAILOVER is 1, but no ports are merged.

    Why: A connection can fail over only to another port of the same merged device, but no device is merged. NCCL
    warns about this.
    Example: NCCL_IB_RESILIENCY_PORT_FAILOVER=1 on adapters with one port
    Instead: unset NCCL_IB_RESILIENCY_PORT_FAILOVER or set NCCL_IB_MERGE_NICS=1 on adapters with two ports
    Source: NCCL src/transport/net_ib/p2p_resiliency.cc
    """
    merged = _merged(host) if is_on else 0
    if isinstance(merged, Unknown):
        yield merged
    elif merged == 1:
        yield report.better_unset(variable, "no ports are merged: failover has no target")


@for_number("IB048", "error", "NCCL_IB_PKEY", needs=("rdma",))
def empty_partition_key(host: JudgedHost, variable: Variable, index: int) -> Results:
    """NCCL_IB_PKEY points to an empty entry of the partition table.

    Why: A queue pair without a partition cannot communicate. The variable is an index into the table, not the key.
    Example: NCCL_IB_PKEY=0x8001
    Instead: find the index of the key in /sys/class/infiniband/mlx5_0/ports/1/pkeys
    Source: NCCL src/transport/net_ib/connect.cc (pkeyIndex)
    """
    if index >= _LARGEST_TABLE and isinstance(host.facts.rdma.devices, Unknown):
        message = f"{index:#x} looks like a partition key; NCCL expects the index of one"
        yield report.better_unset(variable, message, "set the index of the key", severity="warning")
    tables = {port.name: known(port.port.pkeys) for port in host.active_ports}
    wrong = {name: keys for name, keys in tables.items() if not 0 <= index < len(keys) or not keys[index]}
    if wrong:
        first = next(iter(wrong.values()))
        place = next((at for at, key in enumerate(first) if key and key in (index, index | 0x8000)), None)
        yield report.about(
            variable,
            f"{escaped(', '.join(list(wrong)[:8]))}: entry {index} of the partition table is empty",
            "set the index of a key or unset NCCL_IB_PKEY" if place is None else f"the key is at index {place}",
            evidence=tuple(f"{escaped(name)}: {_keys(keys)}" for name, keys in list(wrong.items())[:4]),
            fix=report.unset(variable) if place is None else report.export(variable.name, str(place)),
        )


def _keys(keys: tuple[int, ...]) -> str:
    return ", ".join(f"{index}: {key:#06x}" for index, key in enumerate(keys) if key) or "no key"


@for_number("IB031", "warning", "NCCL_IB_TIMEOUT")
def endless_ack_timeout(_: JudgedHost, variable: Variable, timeout: int) -> Results:
    """NCCL_IB_TIMEOUT is below 1 or above 31.

    Why: The timeout never expires, so a dead peer hangs the job. The field has five bits, and 0 means infinite.
    Example: NCCL_IB_TIMEOUT=0
    Instead: NCCL_IB_TIMEOUT=22
    Source: NCCL user guide, NCCL_IB_TIMEOUT
    """
    if not 0 < timeout < 32:
        remedy = "set a value from 20 to 23 or unset NCCL_IB_TIMEOUT"
        yield report.better_unset(variable, "the adapter waits forever for an acknowledgment", remedy)


@for_number("IB032", "warning", "NCCL_IB_TIMEOUT")
def short_ack_timeout(host: JudgedHost, variable: Variable, timeout: int) -> Results:
    """NCCL_IB_TIMEOUT is below 14, or below 18 in a job of more than 8 nodes.

    Why: Brief congestion then causes an error with status 12. A value of 17 means 0.5 s; the default, 20, means
    4.3 s. No release has had a default below 14 (67 ms).
    Example: NCCL_IB_TIMEOUT=10
    Instead: unset NCCL_IB_TIMEOUT or set it to 22 in large fabrics
    Source: NCCL user guide, NCCL_IB_TIMEOUT
    """
    tiny = 0 < timeout < _LOWEST_DEFAULT and host.nodes != 1
    if tiny or (0 < timeout < 18 and known(host.nodes) > 8):
        wait = format_seconds(ib_retries.TICK_S * 2**timeout)
        message = f"the adapter waits only {wait} for an acknowledgment: brief congestion ends the job"
        yield report.better_unset(variable, message, "unset NCCL_IB_TIMEOUT or export NCCL_IB_TIMEOUT=22")


@rule("IB033", "warning", covers=("IB-033", "TRC-012"))
def timeout_beyond_torch(host: JudgedHost) -> Results:
    """The adapter retries for longer than torch waits.

    Why: torch ends the job before NCCL can report which link failed. The adapter retries NCCL_IB_RETRY_CNT times
    and waits 4.096 us x 2^NCCL_IB_TIMEOUT each time.
    Example: NCCL_IB_TIMEOUT=25 with 7 retries, which take 16 minutes
    Instead: set NCCL_IB_TIMEOUT=22 or a longer init_process_group timeout
    Source: NCCL user guide, NCCL_IB_TIMEOUT; pytorch, default_pg_nccl_timeout
    """
    timeout, retries = host.number("NCCL_IB_TIMEOUT"), host.number("NCCL_IB_RETRY_CNT")
    given = timeout or retries
    if given is None or (timeout and not 0 < timeout[1] < 32):
        return
    exponent = timeout[1] if timeout else ib_retries.default_timeout(known(host.nccl))
    seconds = ib_retries.TICK_S * 2**exponent * max(retries[1] if retries else ib_retries.RETRIES, 0)
    if seconds <= 600:  # no release of torch waits for less, and none for more than 1800
        return
    # before torch 2.2 its groups waited 30 minutes for NCCL, since then 10
    limit = 1800 if seconds > 1800 or known(host.torch) < Version(2, 2) else 600
    if seconds > limit:
        message = f"the adapter retries for {format_seconds(seconds)}, but torch waits only {limit} s by default"
        remedy = "set NCCL_IB_TIMEOUT to 22 or 23 or give init_process_group a longer timeout"
        # of a job without torch, this says little: other programs wait for ever
        severity: Severity | None = "info" if isinstance(host.torch, Unknown) else None
        yield report.about(given[0], message, remedy, severity=severity)


@for_number("IB034", "warning", "NCCL_IB_RETRY_CNT")
def retries_out_of_range(_: JudgedHost, variable: Variable, count: int) -> Results:
    """NCCL_IB_RETRY_CNT is outside the range 0 to 7.

    Why: The field has three bits, so an adapter may read 10 as 2. If it reads at least 5, the finding is only a
    hint: NVIDIA's launcher for Oracle sets 14.
    Example: NCCL_IB_RETRY_CNT=10
    Instead: NCCL_IB_RETRY_CNT=7
    Source: NCCL user guide, NCCL_IB_RETRY_CNT
    """
    if not 0 <= count <= ib_retries.RETRIES:
        kept = count % (ib_retries.RETRIES + 1)
        hint = 0 < count <= 2 * ib_retries.RETRIES + 1 and kept >= _FEWEST_RETRIES_SEEN
        message = f"a retry count must be 0 to 7; an adapter that reads three bits retries {kept} times"
        remedy = "unset NCCL_IB_RETRY_CNT (default: 7)"
        yield report.better_unset(variable, message, remedy, severity="info" if hint else "warning")


@for_number("IB035", "warning", "NCCL_IB_RETRY_CNT")
def fewer_retries(_: JudgedHost, variable: Variable, count: int) -> Results:
    """NCCL_IB_RETRY_CNT is below 7.

    Why: With fewer retries, a brief link loss ends the job.
    Example: NCCL_IB_RETRY_CNT=3
    Instead: NCCL_IB_RETRY_CNT=7
    Source: NCCL user guide, NCCL_IB_RETRY_CNT
    """
    if 0 <= count < ib_retries.RETRIES:
        message = f"fewer than {ib_retries.RETRIES} retries: a brief link loss ends the job"
        yield report.better_unset(variable, message, "unset NCCL_IB_RETRY_CNT (default: 7)")


@for_number("IB047", "warning", "NCCL_IB_RETURN_ASYNC_EVENTS")
def fatal_events_ignored(_: JudgedHost, variable: Variable, returned: int) -> Results:
    """NCCL_IB_RETURN_ASYNC_EVENTS is 0.

    Why: A fatal adapter event then does not abort communication: the job hangs until a watchdog ends it.
    Example: NCCL_IB_RETURN_ASYNC_EVENTS=0
    Instead: unset NCCL_IB_RETURN_ASYNC_EVENTS
    Source: NCCL user guide, NCCL_IB_RETURN_ASYNC_EVENTS
    """
    if not returned:
        yield report.better_unset(variable, "a fatal adapter event does not end the job")


@for_number("IB027", "warning", "NCCL_IB_TC", "NCCL_IB_FIFO_TC", needs=("rdma", "cloud"))
def odd_traffic_class(host: JudgedHost, variable: Variable, value: int) -> Results:
    """A traffic class is outside the range 0 to 255, sets ECN bits, or looks like a DSCP.

    Why: The field has 8 bits, and the two low ones are ECN bits. Write DSCP d as 4*d: DSCP 26 becomes 104.
    Example: NCCL_IB_TC=26
    Instead: NCCL_IB_TC=104
    Source: RFC 3168 (the IP header field); NCCL user guide, NCCL_IB_TC
    """
    if value == -1:
        return
    if not 0 <= value <= 255:
        yield report.about(variable, "a traffic class must be 0 to 255", "set 4 x DSCP")
    elif value and not (value == _OCI_TC and host.facts.cloud.provider == "oci"):
        yield from _like_dscp(host, variable, value)


def _like_dscp(host: JudgedHost, variable: Variable, value: int) -> Results:
    """Whether a traffic class was meant as a DSCP: its ports have the class 4*d, or it has ECN bits."""
    if value >= 64 and value % 4 == 0:
        return
    if value in _CODE_POINTS and isinstance(host.facts.rdma.devices, Unknown):
        message = f"{value} is a usual DSCP; as a traffic class, it means DSCP {value // 4} with ECN bits"
        yield report.about(variable, message, f"export {variable.name}={value * 4}")
    ports = roce_ports(host)
    named = [number for port in ports if (number := _default_class(port)) is not None]
    if value * 4 in (number & ~3 for number in named):
        message = f"{value} is the DSCP of these ports; the traffic class is {value * 4}"
        lines = tuple(f"{escaped(port.name)}: {_default_class(port)}" for port in ports[:4])
        yield report.about(variable, message, f"export {variable.name}={value * 4}", evidence=lines)
    elif ports and value % 4:
        message = f"the two low bits of {value} are ECN bits: DSCP {value // 4}"
        remedy = f"set 4 x DSCP; for DSCP {value}, {(value * 4) % 256}"
        yield report.about(variable, message, remedy, severity="info")


def _default_class(port: Port) -> int | None:
    """The traffic class in `Global tclass=106`; None = there is none, or it is not known."""
    match = re.search(r"tclass=(\d{1,3})", or_none(port.port.traffic_class) or "")
    return int(match[1]) if match else None


@rule("IB028", "info", needs=("rdma",))
def roce_without_traffic_class(host: JudgedHost) -> Results:
    """No traffic class is set for RoCE.

    Why: RoCE packets use the switches' default queue, which may drop them, unless the fabric classifies traffic by
    port.
    Example: RoCE between more than two nodes without NCCL_IB_TC
    Instead: set NCCL_IB_TC to the fabric's lossless class
    Source: NCCL user guide, troubleshooting, networking (RoCE)
    """
    ports = roce_ports(host) if host.integer("NCCL_IB_TC") is None else ()
    bare = [port for port in ports if not known(port.port.traffic_class)]
    if bare and known(host.nodes) > 2:
        message = f"RoCE without a traffic class on {port_names(bare)}"
        remedy = "export NCCL_IB_TC=<4 x DSCP of the fabric's lossless class>"
        lines = (f"NCCL_IB_TC is not set; no default class in /sys on {len(bare)} ports",)
        yield report.device(bare[0].name, message, remedy, evidence=lines)


@for_text("IB029", "info", "NCCL_IB_FIFO_TC", needs=("rdma",))
def fifo_class_on_infiniband(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_IB_FIFO_TC is set, but all ports are InfiniBand.

    Why: Only Ethernet ports have a traffic class.
    Example: NCCL_IB_FIFO_TC=84 on a host with InfiniBand
    Instead: unset NCCL_IB_FIFO_TC
    Source: NCCL src/transport/net_ib/connect.cc
    """
    if only_infiniband(host):
        yield report.better_unset(variable, "it has no effect on InfiniBand", part="")


@for_number("IB030", "error", "NCCL_IB_SL")
def service_level_out_of_range(_: JudgedHost, variable: Variable, level: int) -> Results:
    """NCCL_IB_SL is outside the range 0 to 15.

    Why: The field has four bits; with a larger value, the connection fails. -1 means the default, 0.
    Example: NCCL_IB_SL=16
    Instead: set NCCL_IB_SL to a service level that the subnet manager defines
    Source: NCCL user guide, NCCL_IB_SL
    """
    if not -1 <= level <= 15:
        yield report.better_unset(
            variable, "a service level must be 0 to 15", "set a value from 0 to 15 or unset NCCL_IB_SL"
        )
