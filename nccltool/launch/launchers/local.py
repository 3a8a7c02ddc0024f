"""The nodes that this command starts itself: all of them on this host, or its own one with --node-rank."""

import sys
from collections.abc import Mapping

from nccltool.core.errors import BadInput
from nccltool.hosts.sources import gpu
from nccltool.launch import inside
from nccltool.launch.launchers.base import (
    RANKS_WITHOUT_GPU,
    WORKER,
    Command,
    Launch,
    LauncherTraits,
    Where,
    parse_count,
)
from nccltool.launch.options import StartOptions

TRAITS = LauncherTraits(order=10)


def launch(node_ranks: tuple[int, ...], why: str) -> Launch:
    """One process imports torch and forks an agent for each of its nodes, or a supervisor inside a started job.

    The job goes in on standard input: nothing to quote, nothing for `ps` to show.
    """
    command = Command(argv=(sys.executable, *WORKER), nodes=node_ranks)
    return Launch(launcher="local", why=why, commands=(command,))


def start(options: StartOptions, env: Mapping[str, str]) -> Where:
    """The nodes of this host, or ours among those that --node-rank joins."""
    asked = options.launcher
    nodes = options.nodes or 1
    nproc = _nproc(options.nproc_per_node, nodes, env)
    node_rank, endpoint = options.node_rank, options.rdzv_endpoint
    if node_rank is None and not endpoint:
        every = tuple(range(nodes))
        why = f"--launcher {asked}" if asked != "auto" else "no hosts are named and no scheduler is around"
        return Where(
            nodes=nodes,
            nproc=nproc,
            node_ranks=every,
            emulated=nodes > 1,
            leads=True,
            ranks_seen=nodes * nproc,
            launch=launch(every, why),
        )
    if node_rank is None or not endpoint:
        given, lacking = ("--node-rank", "--rdzv-endpoint") if not endpoint else ("--rdzv-endpoint", "--node-rank")
        raise BadInput(f"{given} needs {lacking} too", "on every host: --node-rank R --rdzv-endpoint HOST:PORT")
    inside.parse_endpoint(endpoint)
    if node_rank >= nodes:
        raise BadInput(f"--node-rank {node_rank} is not under --nodes {nodes}", "node ranks go from 0 to N-1")
    leads = node_rank == 0
    return Where(
        nodes=nodes,
        nproc=nproc,
        node_ranks=(node_rank,),
        emulated=False,
        leads=leads,
        ranks_seen=nodes * nproc if leads else nproc,
        launch=launch((node_rank,), f"--node-rank {node_rank} joins {endpoint}"),
    )


def _nproc(text: str | None, nodes: int, env: Mapping[str, str]) -> int:
    if text not in (None, "auto"):
        assert text is not None
        return parse_count("--nproc-per-node", text)
    return gpu.count(env) or (1 if nodes > 1 else RANKS_WITHOUT_GPU)
