"""Two containers on this machine, each with PID, mount, network, UTS, IPC, and, in turns, user namespaces.

They are looked at from this machine as root, from this machine as another user, and from inside the first one.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.attach_far_job import FarJob
from benchmarks.attach_places import base
from benchmarks.attach_places.base import Sight
from benchmarks.attach_places.machines import machines
from tests.lab import lab
from tests.lab.lab import Lab

_CONTAINERS = 2
_AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


class InContainers:
    """The containers are up as long as the stack."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        plain = stack.enter_context(machines(_CONTAINERS, "--ipc"))
        with_user = stack.enter_context(machines(_CONTAINERS, "--ipc", "--user", "--map-root-user"))
        self._kinds = (plain, with_user)
        self._count = 0

    @staticmethod
    def missing() -> str:
        return lab.missing()

    @property
    def _lab(self) -> Lab:
        return self._kinds[self._count % len(self._kinds)]

    def hosts(self) -> tuple[str, ...]:
        return tuple(host.name for host in self._lab.hosts)

    @contextmanager
    def started(self, job: FarJob) -> Iterator[None]:
        first = self._lab.hosts[0].address
        with ExitStack() as stack:
            stack.callback(self._next)
            stack.callback(job.end)
            for node, host in enumerate(self._lab.hosts):
                if job.launcher == "torchrun":
                    job.start([*host.inside, *job.torchrun(str(node), first)])
                    continue
                for rank in range(node * job.per_host, (node + 1) * job.per_host):
                    env = [f"{key}={value}" for key, value in job.variables(rank, first).items()]
                    job.start([*host.inside, "env", *env, sys.executable, *job.words()])
            yield

    def _next(self) -> None:
        self._count += 1

    def act(self, job: FarJob) -> None:
        base.signalled(job)

    def sights(self, job: FarJob) -> Iterator[Sight]:
        """Other jobs may run on this machine: the name of the program chooses."""
        attach = (sys.executable, "-m", "nccltool", "attach", "--format", "json", "--program", job.program)
        here = socket.gethostname()
        yield base.looked(attach, "this machine, root", host=here)
        yield base.looked((*_AS_NOBODY, *attach), "this machine, another user", is_partial=True, host=here)
        yield base.looked((*self._lab.hosts[0].inside, *attach), "inside", is_partial=True)
