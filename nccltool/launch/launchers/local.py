"""The nodes that this command starts itself: all of them on this host, or its own one with --node-rank."""

import sys

from nccltool.launch.launchers.base import WORKER, Command, Launch


def launch(node_ranks: tuple[int, ...], why: str) -> Launch:
    """One process imports torch and forks an agent for each of its nodes, or a supervisor inside a started job.

    The job goes in on standard input: nothing to quote, nothing for `ps` to show.
    """
    command = Command(argv=(sys.executable, *WORKER), nodes=node_ranks)
    return Launch(launcher="local", why=why, commands=(command,))
