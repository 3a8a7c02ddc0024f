"""Where commands of the chaos bench run: on this machine, or over ssh on hosts of a laboratory."""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from benchmarks import chaos_network
from benchmarks.chaos_trials import Scene, Trial
from tests.lab import lab, sshd
from tests.support.commands import NCCLTOOL, Command

_SUITE = """\
schema = 1
title = "chaos"
about = "20 s"
[inventory]
[doctor]
select = ["PLG007"]
[{stage}]
ops = ["all_reduce"]
sizes = ["64 KiB"]
"""
_WORDS = {
    "probe": ("--op", "all_reduce,broadcast", "--sizes", "1KiB,64KiB", "-n", "200"),
    "train": ("ddp", "--steps", "8", "--time-steps", "8"),
    "preflight": (),
}
_HOSTS = 3


class Place(Protocol):
    """Starts commands, and knows their hosts."""

    def hosts(self, scene: Scene) -> tuple[str, ...]:
        """The name of each node's host."""

    def networks(self, scene: Scene) -> tuple[int, ...]:
        """The network namespace of each node."""

    def started(self, scene: Scene, folder: Path) -> AbstractContextManager[Command]:
        """The command of a scene, in folders of its own."""

    def temporary(self, folder: Path) -> tuple[Path, ...]:
        """Folders in which nothing may be left."""

    def disturb(self, trial: Trial) -> None:
        """Do to a network what the trial does."""

    def reconnect(self, trial: Trial) -> None:
        """End that."""


class Local:
    """All nodes are emulated on this machine."""

    def hosts(self, scene: Scene) -> tuple[str, ...]:
        return (socket.gethostname(),) * scene.nodes

    def networks(self, scene: Scene) -> tuple[int, ...]:
        return (Path("/proc/self/ns/net").stat().st_ino,) * scene.nodes

    @contextmanager
    def started(self, scene: Scene, folder: Path) -> Iterator[Command]:
        shm = folder / "shm"
        shm.mkdir(parents=True)
        argv = _argv(scene, folder, "--nodes", str(scene.nodes))
        with Command(argv, folder, prefix=_own_shm(shm)) as command:
            yield command

    def temporary(self, folder: Path) -> tuple[Path, ...]:
        return folder / "tmp", folder / "shm"

    def disturb(self, trial: Trial) -> None:
        raise AssertionError("no network is between emulated nodes")

    def reconnect(self, trial: Trial) -> None:
        """Nothing was cut."""


def _own_shm(folder: Path) -> tuple[str, ...]:
    """A /dev/shm of its own, in which nothing of others lies, where that may be made."""
    if os.geteuid():
        return ()
    script = 'mount --bind "$0" /dev/shm && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", script, str(folder))


class OverSsh:
    """Hosts of a laboratory, each with its sshd; the command runs on the first."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._lab = stack.enter_context(lab.Lab(_HOSTS))
        self._temporary = folder / "remote-tmp"
        self._temporary.mkdir(parents=True)
        self._servers = stack.enter_context(sshd.Sshd(self._lab, folder / "sshd", self._temporary))

    @staticmethod
    def missing() -> str:
        """Why there can be none here; empty when there can."""
        return lab.missing() or sshd.missing()

    def hosts(self, scene: Scene) -> tuple[str, ...]:
        return tuple(host.name for host in self._lab.hosts[: scene.nodes])

    def networks(self, scene: Scene) -> tuple[int, ...]:
        files = (Path("/run/netns") / host.namespace for host in self._lab.hosts[: scene.nodes])
        return tuple(file.stat().st_ino for file in files)

    @contextmanager
    def started(self, scene: Scene, folder: Path) -> Iterator[Command]:
        folder.mkdir(parents=True)
        where = ("--hosts", f"n[1-{scene.nodes}]", "--ssh", " ".join(self._servers.ssh))
        argv = _argv(scene, folder, *where)
        with Command(argv, folder, prefix=self._lab.hosts[0].inside) as command:
            yield command
        shutil.rmtree(self._temporary)
        self._temporary.mkdir()

    def temporary(self, folder: Path) -> tuple[Path, ...]:
        return folder / "tmp", self._temporary

    def disturb(self, trial: Trial) -> None:
        chaos_network.disturb(self._lab, trial)

    def reconnect(self, trial: Trial) -> None:
        chaos_network.restore(self._lab, trial)


def _argv(scene: Scene, folder: Path, *where: str) -> tuple[str, ...]:
    words = _WORDS[scene.product]
    if scene.product == "preflight":
        suite = folder / "suite.toml"
        suite.write_text(_SUITE.format(stage="across" if scene.nodes > 1 else "within"))
        words = ("--suite", str(suite))
    each = (
        "--nproc-per-node",
        str(scene.ranks),
        "--timeout",
        "4",
        "--join-timeout",
        "40",
        "--format",
        "json",
        "-q",
    )
    return (*NCCLTOOL, scene.product, *words, *where, *each)
