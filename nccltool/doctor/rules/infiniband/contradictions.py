"""Settings of RDMA that contradict each other or that no host can obey: nothing of the host need be known."""

import re

from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_names, for_number, for_text, rule
from nccltool.doctor.rules.infiniband.base import HCA

_MISSPELLED = re.compile(
    r"(mxl|mlxl|mlx[^45\d]|mlx\d*-|mlx[45][^_]|mlx5__|mlx5_[oO]|mlx[45]_\d+-\d|(all|auto|any|none|true|false|on|off|\d+|u(verbs|mad)\d*)$|MLX[45])"
)
"""What no driver calls a device: those of mlx4 and mlx5 are mlx5_0 or mlx5_bond_0."""
_LARGEST_TABLE = 256
"""The index of a GID is a byte: ibv_global_route.sgid_index."""


@for_names("IB061", "warning", HCA, covers=())
def misspelled_adapter(_: JudgedHost, variable: Variable, wanted: object) -> Results:
    """NCCL_IB_HCA contains a slip in the name of an mlx5 or mlx4 device, a range, or a word such as all.

    Why: NCCL ignores a name that no device has; if none is left, it uses TCP.
    Example: NCCL_IB_HCA=mlx5-0
    Instead: NCCL_IB_HCA=mlx5_0
    Source: NCCL user guide, NCCL_IB_HCA; rdma-core, rdma_rename
    """
    for word in dict.fromkeys(re.split(r"[,^=]+", variable.value)):
        if _MISSPELLED.match(word):
            message = f"no driver names a device {escaped(word[:60])}"
            yield report.about(variable, message, "compare the list with `rdma link`", part=word)


@rule("IB062", "warning", covers=(), needs=("rdma", "plugins"))
def tcp_between_nodes(host: JudgedHost) -> Results:
    """RDMA is disabled in a job of several nodes, or beside NCCL_IB_HCA; what the hosts have is not known.

    Why: NCCL_IB_DISABLE=1 and NCCL_NET=Socket send all traffic between nodes over TCP, at a fraction of the
    bandwidth of RDMA. They are usually left over from debugging.
    Example: NCCL_IB_DISABLE=1 and NCCL_IB_HCA=mlx5_0,mlx5_1
    Instead: unset NCCL_IB_DISABLE, unless the hosts have no RDMA
    Source: NCCL user guide, NCCL_IB_DISABLE and NCCL_NET
    """
    switch = _to_tcp(host)
    # of a host that is known, IB001 judges
    if switch is None or not isinstance(host.facts.rdma.devices, Unknown):
        return
    adapters = host.variable(HCA)
    if adapters and adapters.value and not adapters.value.startswith("^"):
        message = f"traffic between nodes uses TCP, although {HCA} names adapters"
        lines = (f"{escaped(adapters.origin)}: {HCA}={escaped(adapters.value[:80])}",)
    elif not isinstance(host.nodes, Unknown) and host.nodes > 1:
        message = "traffic between nodes uses TCP, even where they have RDMA"
        lines = (f"{host.nodes} nodes",)
    else:
        return
    remedy = f"unset {switch.name}, unless the hosts have no RDMA"
    yield report.better_unset(switch, message, remedy, evidence=lines, severity=host.if_several_nodes("warning"))


def _to_tcp(host: JudgedHost) -> Variable | None:
    """What makes NCCL use TCP; the network of a plugin does not look at NCCL_IB_DISABLE."""
    network = host.variable("NCCL_NET")
    if network and network.value:
        return network if network.value.lower() == "socket" else None
    if (host.get("NCCL_NET_PLUGIN") or "none").lower() != "none":
        return None
    if not isinstance(host.facts.plugins, Unknown) and host.net_plugins:
        return None
    return host.variable("NCCL_IB_DISABLE") if host.integer("NCCL_IB_DISABLE") else None


@for_text("IB063", "error", "NCCL_NET", covers=())
def demanded_network_disabled(host: JudgedHost, variable: Variable, name: str) -> Results:
    """NCCL_NET=IB allows only RDMA, and NCCL_IB_DISABLE=1 disables it.

    Why: No network is left, and initialization fails.
    Example: NCCL_NET=IB and NCCL_IB_DISABLE=1
    Instead: unset NCCL_IB_DISABLE
    Source: NCCL src/plugin/net.cc, src/transport/net_ib/init.cc
    """
    if name.lower() == "ib" and host.integer("NCCL_IB_DISABLE"):
        message = "NCCL_IB_DISABLE disables the only network that is allowed: initialization fails"
        yield report.about(variable, message, "unset NCCL_IB_DISABLE or NCCL_NET", part="")


@for_number("IB064", "error", "NCCL_IB_GID_INDEX", covers=(), needs=("rdma",))
def index_beyond_every_table(host: JudgedHost, variable: Variable, index: int) -> Results:
    """NCCL_IB_GID_INDEX is 256 or more.

    Why: No adapter has so many GIDs; the index is a byte, so that 256 means 0.
    Example: NCCL_IB_GID_INDEX=1000
    Instead: unset NCCL_IB_GID_INDEX
    Source: rdma-core libibverbs/verbs.h (ibv_global_route)
    """
    if index >= _LARGEST_TABLE and isinstance(host.facts.rdma.devices, Unknown):
        yield report.better_unset(variable, "no table of GIDs has this index")


@for_number("IB065", "warning", "NCCL_IB_ROCE_VERSION_NUM", covers=())
def old_roce_demanded(_: JudgedHost, variable: Variable, version: int) -> Results:
    """NCCL_IB_ROCE_VERSION_NUM makes NCCL look for GIDs of RoCE v1.

    Why: RoCE v1 does not cross routers, and switches often block it; the symptom is an error with status 12.
    Example: NCCL_IB_ROCE_VERSION_NUM=1
    Instead: unset NCCL_IB_ROCE_VERSION_NUM
    Source: NCCL user guide, NCCL_IB_ROCE_VERSION_NUM; https://github.com/NVIDIA/nccl/issues/426
    """
    if version == 1:
        yield report.better_unset(variable, "RoCE v1 does not cross routers")
