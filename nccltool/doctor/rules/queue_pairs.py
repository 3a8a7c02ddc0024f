"""How NCCL talks RDMA: time-outs, retries, queue pairs, routing, ordering, and rails."""

from collections import Counter

from nccltool.core.units import format_bytes, format_seconds
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.hosts.nccl import adapters

_TICK_S = 4.096e-6
"""The unit of the ACK timeout: section 12.7.34 of the InfiniBand specification."""
_TIMEOUTS = ((Version(2, 23, 4), 20), (Version(2, 14, 3), 18), (Version(0), 14))
"""Release from which NCCL_IB_TIMEOUT has this default, the newest first."""
_RETRIES = 7
_LEAST_TIMEOUT, _LARGE = 18, 8
_TORCH_SHORTER = Version(2, 2)
"""The release of torch from which its groups wait 10 minutes for NCCL; before it was 30."""
_MOST_QPS = 128
"""NCCL_IB_MAX_QPS of src/transport/net_ib/common.h."""
_MANY_QPS = 16
_MOST_MERGED = 4
"""NCCL_NET_MAX_DEVS_PER_NIC."""
_BUFFSIZE = 4 << 20
_OOO_SINCE = (2, 30, 3)


@rule("IB030", "service-level-out-of-range", "error")
def service_level_out_of_range(host: JudgedHost) -> Results:
    """NCCL_IB_SL is not in 0 to 15.

    Why: The field has four bits; the connection cannot be made. -1 is the default, which is 0.
    Example: NCCL_IB_SL=16
    Instead: NCCL_IB_SL=1, as the subnet manager has it
    Source: NCCL user guide, NCCL_IB_SL
    """
    given = host.number("NCCL_IB_SL")
    if given and not -1 <= given[1] <= 15:
        yield report.better_unset(
            given[0], "a service level is 0 to 15", remedy="write 0 to 15, or unset NCCL_IB_SL"
        )


@rule("IB031", "endless-ack-timeout", "error")
def endless_ack_timeout(host: JudgedHost) -> Results:
    """NCCL_IB_TIMEOUT is 0 or less, or 32 or more.

    Why: Such a timeout never ends, so a dead peer hangs the job. The field has five bits, and 0 means for ever.
    Example: NCCL_IB_TIMEOUT=0
    Instead: NCCL_IB_TIMEOUT=22
    Source: NCCL user guide, NCCL_IB_TIMEOUT
    """
    given = host.number("NCCL_IB_TIMEOUT")
    if given and not 0 < given[1] < 32:
        yield report.better_unset(
            given[0], "the adapter waits for ever for an answer", remedy="write 20 to 23, or unset NCCL_IB_TIMEOUT"
        )


@rule("IB032", "short-ack-timeout", "warning")
def short_ack_timeout(host: JudgedHost) -> Results:
    """NCCL_IB_TIMEOUT is below 18 in a job of more than 8 nodes.

    Why: A short congestion becomes an error with status 12. 17 is 0.5 s; the default is 20, 4.3 s.
    Example: NCCL_IB_TIMEOUT=14
    Instead: unset NCCL_IB_TIMEOUT, or 22 in large fabrics
    Source: NCCL user guide, NCCL_IB_TIMEOUT
    """
    given = host.number("NCCL_IB_TIMEOUT")
    if given and 0 < given[1] < _LEAST_TIMEOUT and known(host.nodes) > _LARGE:
        yield report.better_unset(
            given[0],
            f"the adapter waits {format_seconds(_TICK_S * 2 ** given[1])} for an answer; {host.nodes} nodes",
            remedy="unset NCCL_IB_TIMEOUT, or write 22",
        )


@rule("IB033", "timeout-beyond-torch", "warning", covers=("IB-033", "TRC-012"))
def timeout_beyond_torch(host: JudgedHost) -> Results:
    """The adapter goes on trying for longer than torch waits.

    Why: torch ends the job before NCCL can say which link failed. The adapter tries NCCL_IB_RETRY_CNT times, each
    time for 4.096 us x 2^NCCL_IB_TIMEOUT.
    Example: NCCL_IB_TIMEOUT=25 with 7 retries: 16 minutes
    Instead: NCCL_IB_TIMEOUT=22, or a longer timeout of init_process_group
    Source: NCCL user guide, NCCL_IB_TIMEOUT; pytorch, default_pg_nccl_timeout
    """
    timeout, retries = host.number("NCCL_IB_TIMEOUT"), host.number("NCCL_IB_RETRY_CNT")
    given = timeout or retries
    if given is None or (timeout and not 0 < timeout[1] < 32):
        return
    exponent = timeout[1] if timeout else _default_timeout(host)
    seconds = _TICK_S * 2**exponent * max(retries[1] if retries else _RETRIES, 0)
    if seconds <= 600:  # no release of torch waits for less, and none for more than 1800
        return
    limit = 1800 if seconds > 1800 or known(host.torch) < _TORCH_SHORTER else 600
    if seconds > limit:
        yield report.about(
            given[0],
            f"the adapter tries for {format_seconds(seconds)}, torch waits {limit} s at most by itself",
            part=given[0].value,
            remedy="write NCCL_IB_TIMEOUT=22 or 23, or give init_process_group a longer timeout",
        )


def _default_timeout(host: JudgedHost) -> int:
    version = known(host.nccl)
    return next(value for since, value in _TIMEOUTS if version >= since)


@rule("IB034", "retries-out-of-range", "error")
def retries_out_of_range(host: JudgedHost) -> Results:
    """NCCL_IB_RETRY_CNT is not in 0 to 7.

    Why: The field has three bits. What a larger number becomes is up to the adapter.
    Example: NCCL_IB_RETRY_CNT=10
    Instead: NCCL_IB_RETRY_CNT=7
    Source: NCCL user guide, NCCL_IB_RETRY_CNT
    """
    given = host.number("NCCL_IB_RETRY_CNT")
    if given and not 0 <= given[1] <= _RETRIES:
        yield report.better_unset(
            given[0], "a retry count is 0 to 7", remedy="unset NCCL_IB_RETRY_CNT, which is 7"
        )


@rule("IB035", "fewer-retries", "warning")
def fewer_retries(host: JudgedHost) -> Results:
    """NCCL_IB_RETRY_CNT is lower than 7.

    Why: With fewer retries a short loss of a link ends the job.
    Example: NCCL_IB_RETRY_CNT=3
    Instead: NCCL_IB_RETRY_CNT=7
    Source: NCCL user guide, NCCL_IB_RETRY_CNT
    """
    given = host.number("NCCL_IB_RETRY_CNT")
    if given and 0 <= given[1] < _RETRIES:
        yield report.better_unset(
            given[0],
            f"{given[1]} retries: a short loss of a link ends the job",
            remedy="unset NCCL_IB_RETRY_CNT, which is 7",
        )


_QPS = "NCCL_IB_QPS_PER_CONNECTION"


@rule("IB036", "impossible-queue-pairs", "error", needs=("rdma",))
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
            remedy="write 1 to 8, or unset it",
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


@rule("IB037", "many-queue-pairs", "warning")
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
            given[0],
            f"{given[1]} queue pairs for each connection",
            part=given[0].value,
            remedy="write 2 to 8, after a measurement",
        )


@rule("IB038", "split-without-queue-pairs", "info")
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
            remedy=f"export {_QPS}=4, or unset NCCL_IB_SPLIT_DATA_ON_QPS",
            part="",
        )


@rule("IB040", "threshold-above-every-message", "warning")
def threshold_above_every_message(host: JudgedHost) -> Results:
    """NCCL_IB_AR_THRESHOLD is not less than NCCL_BUFFSIZE.

    Why: No message is larger than the buffer, so adaptive routing is never used.
    Example: NCCL_IB_AR_THRESHOLD=8388608
    Instead: unset NCCL_IB_AR_THRESHOLD
    Source: NCCL user guide, NCCL_IB_AR_THRESHOLD
    """
    given, size = host.number("NCCL_IB_AR_THRESHOLD"), host.integer("NCCL_BUFFSIZE")
    size = _BUFFSIZE if size is None else size
    if given and given[1] >= size:
        yield report.better_unset(
            given[0], f"no message is larger than {format_bytes(size)}, the buffer: adaptive routing is never used"
        )


@rule("IB042", "out-of-order-without-routing", "error", needs=("rdma",))
def out_of_order_without_routing(host: JudgedHost) -> Results:
    """NCCL_IB_OOO_RQ=1 and adaptive routing is off.

    Why: NCCL demands adaptive routing for it; making the connection fails. On RoCE it is off unless
    NCCL_IB_ADAPTIVE_ROUTING=1.
    Example: NCCL_IB_OOO_RQ=1 on RoCE
    Instead: NCCL_IB_ADAPTIVE_ROUTING=1 as well, or neither
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbSenderQpsCreate)
    """
    given = host.number("NCCL_IB_OOO_RQ")
    routing = host.integer("NCCL_IB_ADAPTIVE_ROUTING")
    if given is None or not given[1] or routing not in (None, -2, 0):
        return
    ports = [port for port in host.active_ports if known(port.device.driver) == "mlx5_core"]
    without = [port for port in ports if routing == 0 or port.roce]
    if without and host.nccl_is(since=_OOO_SINCE):
        names = escaped(", ".join(port.name for port in without[:8]))
        yield report.better_unset(
            given[0],
            f"adaptive routing is off on {names}: connecting fails",
            remedy="export NCCL_IB_ADAPTIVE_ROUTING=1, or unset NCCL_IB_OOO_RQ",
        )


@rule("IB043", "strict-ordering-in-vm", "warning", needs=("cpu",))
def strict_ordering_in_vm(host: JudgedHost) -> Results:
    """NCCL_IB_PCI_RELAXED_ORDERING=0 in a virtual machine.

    Why: Without relaxed ordering the IOMMU puts the writes of the adapter in a row, and bandwidth drops.
    Example: NCCL_IB_PCI_RELAXED_ORDERING=0 on Azure
    Instead: unset NCCL_IB_PCI_RELAXED_ORDERING
    Source: NCCL user guide, NCCL_IB_PCI_RELAXED_ORDERING
    """
    given = host.number("NCCL_IB_PCI_RELAXED_ORDERING")
    if given and given[1] == 0 and known(host.facts.cpu.hypervisor):
        yield report.better_unset(given[0], "relaxed ordering is off in a virtual machine")


@rule("IB044", "ordering-asked-for-in-vain", "warning", needs=("rdma",))
def ordering_asked_for_in_vain(host: JudgedHost) -> Results:
    """NCCL_IB_PCI_RELAXED_ORDERING=1, and libibverbs cannot do it.

    Why: It takes ibv_reg_mr_iova2, which came with rdma-core 28. NVIDIA's guide says that 1 fails without it; the
    sources of 2.12 to 2.30 go on without relaxed ordering, and only the mark [RO] is missing in the log.
    Example: NCCL_IB_PCI_RELAXED_ORDERING=1 in an image with rdma-core 22
    Instead: a newer rdma-core in the image
    Source: NCCL src/transport/net_ib/init.cc (ncclIbRelaxedOrderingCapable)
    """
    given = host.number("NCCL_IB_PCI_RELAXED_ORDERING")
    if given is None or given[1] != 1 or not host.active_ports:
        return
    if not known(host.facts.rdma.ibverbs_iova2):
        yield report.about(
            given[0],
            "libibverbs has no ibv_reg_mr_iova2: NCCL goes on without relaxed ordering",
            part=given[0].value,
            remedy="install rdma-core 28 or newer in the image",
        )


@rule("IB045", "rail-policy-without-rails", "warning")
def rail_policy_without_rails(host: JudgedHost) -> Results:
    """NCCL_NET_MERGE_POLICY=RAIL, and no entry of NCCL_IB_HCA has a rail.

    Why: Ports without a rail are never merged under this policy.
    Example: NCCL_NET_MERGE_POLICY=RAIL and NCCL_IB_HCA==mlx5_0,mlx5_1
    Instead: NCCL_IB_HCA==mlx5_0::0,mlx5_1::0
    Source: NCCL user guide, NCCL_NET_MERGE_POLICY; src/graph/topo.cc
    """
    variable = host.variable("NCCL_NET_MERGE_POLICY")
    if variable is None or variable.value.upper() != "RAIL":
        return
    wanted = host.settings.names("NCCL_IB_HCA")
    if not wanted or wanted.exclude or all(entry.rail == -1 for entry in wanted.entries):
        yield report.better_unset(
            variable,
            "no port has a rail, so none is merged",
            remedy="give rails in NCCL_IB_HCA (=mlx5_0::0,mlx5_1::0), or unset NCCL_NET_MERGE_POLICY",
        )


@rule("IB046", "failover-to-nothing", "warning", needs=("rdma",))
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


@rule("IB047", "fatal-events-ignored", "warning")
def fatal_events_ignored(host: JudgedHost) -> Results:
    """NCCL_IB_RETURN_ASYNC_EVENTS=0.

    Why: A fatal event of the adapter no longer ends communication: the job hangs until a watchdog ends it.
    Example: NCCL_IB_RETURN_ASYNC_EVENTS=0
    Instead: unset NCCL_IB_RETURN_ASYNC_EVENTS
    Source: NCCL user guide, NCCL_IB_RETURN_ASYNC_EVENTS
    """
    given = host.number("NCCL_IB_RETURN_ASYNC_EVENTS")
    if given and given[1] == 0:
        yield report.better_unset(given[0], "a fatal event of an adapter does not end the job")


@rule("IB048", "empty-partition-key", "error", needs=("rdma",))
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
            part=variable.value,
            evidence=tuple(f"{escaped(port.name)}: {_keys(known(port.port.pkeys))}" for port in wrong[:4]),
            remedy=f"the key is at index {min(where)}"
            if where
            else "write the index of a key, or unset NCCL_IB_PKEY",
            fix=report.export("NCCL_IB_PKEY", str(min(where))) if where else report.unset(variable),
        )


def _keys(keys: tuple[int, ...]) -> str:
    return ", ".join(f"{index}: {key:#06x}" for index, key in enumerate(keys) if key) or "no key"


@rule("IB050", "cross-nic-with-one-nic", "info", needs=("rdma", "network", "plugins"))
def cross_nic_with_one_nic(host: JudgedHost) -> Results:
    """NCCL_CROSS_NIC is set, and there is one adapter.

    Why: It concerns hosts with several.
    Example: NCCL_CROSS_NIC=1 on a host with mlx5_0 alone
    Instead: unset NCCL_CROSS_NIC
    Source: NCCL user guide, NCCL_CROSS_NIC
    """
    given = host.number("NCCL_CROSS_NIC")
    if given is None:
        return
    network = adapters.network(host.settings, host.facts.rdma, host.facts.plugins)
    if network == "plugin":
        return
    if network == "IB":
        names = [port.name for port in host.active_ports]
    else:
        names = [one.name for one in host.interfaces.chosen]
    if len(names) == 1:
        yield report.better_unset(given[0], f"it has no effect with one adapter, {escaped(names[0])}", part="")


@rule("IB051", "cross-nic-out-of-range", "warning")
def cross_nic_out_of_range(host: JudgedHost) -> Results:
    """NCCL_CROSS_NIC is none of 0, 1 and 2.

    Why: Other values have no meaning.
    Example: NCCL_CROSS_NIC=3
    Instead: unset NCCL_CROSS_NIC, which is 2
    Source: NCCL user guide, NCCL_CROSS_NIC
    """
    given = host.number("NCCL_CROSS_NIC")
    if given and given[1] not in (0, 1, 2):
        yield report.better_unset(given[0], "it is 0, 1 or 2", remedy="unset NCCL_CROSS_NIC, which is 2")


@rule("IB058", "subnet-length-out-of-range", "error")
def subnet_length_out_of_range(host: JudgedHost) -> Results:
    """NCCL_IB_SUBNET_AWARE_ROUTING=1, and NCCL_IB_SUBNET_PREFIX_LEN is not in 1 to 32.

    Why: Making a connection fails with an invalid argument.
    Example: NCCL_IB_SUBNET_PREFIX_LEN=64
    Instead: NCCL_IB_SUBNET_PREFIX_LEN=24, the length of the rails' networks
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbFindDevBySubnet)
    """
    given = host.number("NCCL_IB_SUBNET_PREFIX_LEN")
    if given and host.integer("NCCL_IB_SUBNET_AWARE_ROUTING") and not 1 <= given[1] <= 32:
        yield report.better_unset(
            given[0],
            "a prefix is 1 to 32 bits long: making a connection fails",
            remedy="write the length of the rails' networks, or unset it (24)",
        )
