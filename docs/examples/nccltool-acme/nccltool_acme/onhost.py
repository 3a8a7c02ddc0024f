"""Hosts that this site's own program reaches: onhost HOST COMMAND."""

import sys
from collections.abc import Mapping

from nccltool.launch.launchers.base import (
    WORKER,
    Command,
    LauncherTraits,
    LaunchPlan,
    NodeCommands,
    NotChosen,
    asked_nproc,
)
from nccltool.launch.named_hosts import named_hosts
from nccltool.launch.options import StartOptions
from nccltool.launch.remote_variables import forwarded

NCCLTOOL_PLUGIN = 1

TRAITS = LauncherTraits(order=3, takes_hosts=True, needs_hosts=True)


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan | NotChosen:
    """Only where --launcher asks for it: else hosts are reached by ssh."""
    if options.launcher != "onhost":
        return NotChosen()
    names = [host.name for host in named_hosts(options)][: options.nodes]
    worker = " ".join([options.remote_python or sys.executable, *WORKER])
    commands = tuple(
        Command(argv=("onhost", name, worker), nodes=(number,), host=name) for number, name in enumerate(names)
    )
    return LaunchPlan(
        nodes=len(names),
        nproc=asked_nproc(options),
        node_ranks=tuple(range(len(names))),
        launch=NodeCommands(launcher="onhost", why="--launcher onhost", commands=commands, remote=True),
        env=forwarded(options.remote_env, env),
        targets=tuple(names),
    )
