"""CollNet: reductions in switches of the network."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, escaped, known, rule
from nccltool.hosts.facts import or_none


@rule("NV014", "warning", needs=("plugins",))
def collnet_without_plugin(host: JudgedHost) -> Results:
    """NCCL_COLLNET_ENABLE=1, and no plugin on the path of the loader offers CollNet.

    Why: Nothing happens, apart from a line at the level INFO.
    Example: NCCL_COLLNET_ENABLE=1 without HPC-X
    Instead: the SHARP plugin of HPC-X on LD_LIBRARY_PATH, or unset NCCL_COLLNET_ENABLE
    Source: NCCL user guide, NCCL_COLLNET_ENABLE
    """
    variable = host.variable("NCCL_COLLNET_ENABLE")
    if variable is None or host.integer("NCCL_COLLNET_ENABLE") != 1 or _no_plugin(host):
        return
    nets = [one for one in known(host.facts.plugins) if "net" in one.name and one.library.origin != "vendor"]
    tables = [or_none(one.symbols) for one in nets]
    if any("ncclCollNetPlugin" in symbol for symbols in tables for symbol in symbols or ()):
        return
    unread = next((one.symbols for one in nets if isinstance(one.symbols, Unknown)), None)
    if unread is not None:
        yield unread
        return
    yield report.better_unset(
        variable,
        "no plugin on the path of the loader offers CollNet",
        "put nccl-rdma-sharp-plugin on LD_LIBRARY_PATH, or unset NCCL_COLLNET_ENABLE",
        evidence=tuple(escaped(one.library.path[:160]) for one in nets[:4]),
    )


def _no_plugin(host: JudgedHost) -> bool:
    """Then CollNet is off for another reason, which has a rule of its own."""
    return (host.get("NCCL_NET_PLUGIN") or "").lower() == "none"


@rule("NV015", "info")
def collnet_for_few_nodes(host: JudgedHost) -> Results:
    """NCCL_COLLNET_ENABLE=1 in a job with fewer nodes than NCCL_COLLNET_NODE_THRESHOLD.

    Why: CollNet stays off. That is as it should be; only the variable promises something else.
    Example: NCCL_COLLNET_ENABLE=1 on one node
    Instead: two nodes or more
    Source: NCCL src/init.cc (NCCL_COLLNET_NODE_THRESHOLD, default 2)
    """
    variable = host.variable("NCCL_COLLNET_ENABLE")
    if variable is None or host.integer("NCCL_COLLNET_ENABLE") != 1:
        return
    threshold = host.integer("NCCL_COLLNET_NODE_THRESHOLD")
    least = 2 if threshold is None else threshold
    if known(host.nodes) < least:
        yield report.about(
            variable,
            f"CollNet stays off: {host.nodes} nodes are fewer than {least}",
            "nothing, or unset NCCL_COLLNET_ENABLE",
        )
