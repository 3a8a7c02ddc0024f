"""The process whose environment was read: how many communicators of NCCL it has."""

import os

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Count
from nccltool.hosts.sources.base import CAPTURED, Tree

_SERVICE = "NCCL Service"
"""NCCL names the proxy thread of a communicator so: src/proxy.cc."""


def communicators(tree: Tree, source: str) -> Count:
    """Of this process, or of `pid N` when `source` says so; a file has no process."""
    pid = pid_of(source)
    if not tree.live or pid is None:
        return Unknown(f"{source} is no process" if tree.live else CAPTURED)
    tasks = tree.names(f"/proc/{pid}/task")
    if isinstance(tasks, Unknown):
        return tasks
    names = [tree.text(f"/proc/{pid}/task/{task}/comm") for task in tasks]
    found = sum(1 for name in names if isinstance(name, str) and name.startswith(_SERVICE))
    return found or Unknown("no thread is called NCCL Service; NCCL names its threads with NCCL_SET_THREAD_NAME=1")


def pid_of(source: str) -> str | None:
    """The process that `source` of an environment means; a child process looks, at its parent."""
    word, _, number = source.partition(" ")
    if source == "process":
        return str(os.getppid())
    return number if word == "pid" and number.isdecimal() else None
