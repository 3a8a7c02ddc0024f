"""Hosts that --hosts or --hostfile names, reached by ssh."""

import sys
from collections.abc import Mapping

from nccltool.core.errors import BadInput
from nccltool.launch import inside
from nccltool.launch.launchers.base import LauncherTraits, LaunchPlan, NotChosen, asked_nproc
from nccltool.launch.named_hosts import named_hosts
from nccltool.launch.options import StartOptions
from nccltool.launch.reach import ssh_client
from nccltool.launch.remote_variables import forwarded

TRAITS = LauncherTraits(order=1, takes_hosts=True, needs_hosts=True)


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan | NotChosen:
    """All hosts that are named, or the first of them."""
    if not options.has_hosts:
        return NotChosen()
    hosts = named_hosts(options)
    nodes = options.nodes or len(hosts)
    if nodes > len(hosts):
        raise BadInput(f"--nodes {nodes} exceeds the number of hosts named: {len(hosts)}", "name more hosts")
    if options.node_rank is not None:
        raise BadInput("--node-rank cannot be combined with --hosts", "ssh starts all nodes from here")
    if options.rdzv_endpoint:
        inside.parse_endpoint(options.rdzv_endpoint)
    client = ssh_client.program(options)
    named = "1 host" if len(hosts) == 1 else f"{len(hosts)} hosts"
    why = f"{'--hosts' if options.hosts is not None else '--hostfile'} names {named}"
    if nodes < len(hosts):
        why += f"; --nodes {nodes} uses the first"
    return LaunchPlan(
        nodes=nodes,
        nproc=asked_nproc(options),
        node_ranks=tuple(range(nodes)),
        launch=ssh_client.launch(hosts[:nodes], client, options.remote_python or sys.executable, why),
        env=forwarded(options.remote_env, env),
        targets=tuple(host.word for host in hosts[:nodes]),
    )
