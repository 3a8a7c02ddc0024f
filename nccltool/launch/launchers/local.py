"""The nodes that this command starts itself: all of them on this host, or its own one with --node-rank."""

import os
from collections.abc import Mapping
from dataclasses import replace

from nccltool.core.errors import BadInput
from nccltool.hosts import free_memory, gpu
from nccltool.hosts.facts import or_none
from nccltool.hosts.sources.base import Tree
from nccltool.launch import gpu_shares, inside, start_costs
from nccltool.launch.launchers.base import LauncherTraits, LaunchPlan, asked_nproc, worker_here
from nccltool.launch.options import StartOptions

TRAITS = LauncherTraits(order=10)


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan:
    """The nodes of this host, or ours among those that --node-rank joins."""
    plan = planned(options, env, or_none(gpu.count(env)))
    ranks, free_bytes = len(plan.node_ranks) * (plan.nproc or 1), or_none(free_memory.of_host(Tree()))
    told = start_costs.told_of_host(ranks, free_bytes, len(os.sched_getaffinity(0)))
    return replace(plan, launch=replace(plan.launch, why=f"{plan.launch.why}; {told}")) if told else plan


def planned(options: StartOptions, env: Mapping[str, str], gpus: int | None) -> LaunchPlan:
    """The same on a host with so many GPUs; None = some. Raises BadInput."""
    nodes = options.nodes or 1
    ours, why = _ours(options, nodes)
    nproc = asked_nproc(options) or gpu_shares.ranks_for(gpus, nodes, len(ours))
    if options.backend == "nccl":
        gpu_shares.require(gpus, len(ours) * nproc, env)
    leads = 0 in ours
    return LaunchPlan(
        nodes=nodes,
        nproc=nproc,
        node_ranks=ours,
        emulated=len(ours) > 1,
        leads=leads,
        ranks_seen=nodes * nproc if leads else nproc,
        launch=worker_here(ours, why),
        on_gpus=gpu_shares.suffice(gpus, len(ours) * nproc, env),
    )


def _ours(options: StartOptions, nodes: int) -> tuple[tuple[int, ...], str]:
    """The nodes that this command starts, and why these."""
    node_rank, endpoint = options.node_rank, options.rdzv_endpoint
    if node_rank is None and not endpoint:
        asked = f"--launcher {options.launcher}" if options.launcher != "auto" else ""
        return tuple(range(nodes)), asked or "no --hosts, no scheduler detected"
    if node_rank is None or not endpoint:
        given, lacking = ("--node-rank", "--rdzv-endpoint") if not endpoint else ("--rdzv-endpoint", "--node-rank")
        raise BadInput(
            f"{given} also needs {lacking}", "use on every host: --node-rank R --rdzv-endpoint HOST:PORT"
        )
    inside.parse_endpoint(endpoint)
    if node_rank >= nodes:
        raise BadInput(
            f"--node-rank {node_rank} must be less than --nodes {nodes}", "node ranks run from 0 to N-1"
        )
    return (node_rank,), f"--node-rank {node_rank} joins {endpoint}"
