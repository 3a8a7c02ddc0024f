"""The nodes that this command starts itself: all of them on this host, or its own one with --node-rank."""

from collections.abc import Mapping

from nccltool.core.errors import BadInput
from nccltool.hosts import gpu
from nccltool.hosts.facts import or_none
from nccltool.launch import inside
from nccltool.launch.launchers.base import LauncherTraits, LaunchPlan, asked_nproc, ranks_for, worker_here
from nccltool.launch.options import StartOptions

TRAITS = LauncherTraits(order=10)


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan:
    """The nodes of this host, or ours among those that --node-rank joins."""
    nodes, node_rank, endpoint = options.nodes or 1, options.node_rank, options.rdzv_endpoint
    nproc = asked_nproc(options) or ranks_for(or_none(gpu.count(env)), nodes)
    if node_rank is None and not endpoint:
        asked = f"--launcher {options.launcher}" if options.launcher != "auto" else ""
        ours, why = tuple(range(nodes)), asked or "no hosts are named and no scheduler is around"
    elif node_rank is None or not endpoint:
        given, lacking = ("--node-rank", "--rdzv-endpoint") if not endpoint else ("--rdzv-endpoint", "--node-rank")
        raise BadInput(f"{given} needs {lacking} too", "on every host: --node-rank R --rdzv-endpoint HOST:PORT")
    else:
        inside.parse_endpoint(endpoint)
        if node_rank >= nodes:
            raise BadInput(f"--node-rank {node_rank} is not under --nodes {nodes}", "node ranks go from 0 to N-1")
        ours, why = (node_rank,), f"--node-rank {node_rank} joins {endpoint}"
    leads = 0 in ours
    return LaunchPlan(
        nodes=nodes,
        nproc=nproc,
        node_ranks=ours,
        emulated=len(ours) > 1,
        leads=leads,
        ranks_seen=nodes * nproc if leads else nproc,
        launch=worker_here(ours, why),
    )
