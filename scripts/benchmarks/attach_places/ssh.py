"""Three hosts, each with its sshd; `attach --hosts` runs on the first one, which is always reached."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.attach_far_job import FarJob
from benchmarks.attach_places import base
from benchmarks.attach_places.base import Sight
from benchmarks.attach_places.machines import machines
from tests.lab import lab, sshd
from tests.lab.lab import Host

_HOSTS = 3


class OverSsh:
    """The laboratory is up as long as the stack."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._lab = stack.enter_context(machines(_HOSTS))
        self._servers = stack.enter_context(sshd.Sshd(self._lab, folder / "sshd"))

    @staticmethod
    def missing() -> str:
        return lab.missing() or sshd.missing()

    def hosts(self) -> tuple[str, ...]:
        return tuple(host.name for host in self._lab.hosts)

    def _host(self, name: str) -> Host:
        return next(host for host in self._lab.hosts if host.name == name)

    @contextmanager
    def started(self, job: FarJob) -> Iterator[None]:
        first = self._lab.hosts[0].address
        with ExitStack() as stack:
            stack.callback(job.end)
            for node, name in enumerate(job.hosts):
                inside = self._host(name).inside
                if job.launcher == "torchrun":
                    job.start([*inside, *job.torchrun(str(node), first)])
                    continue
                for rank in range(node * job.per_host, (node + 1) * job.per_host):
                    env = [f"{key}={value}" for key, value in job.variables(rank, first).items()]
                    job.start([*inside, "env", *env, sys.executable, *job.words()])
            yield
            if job.state.act.startswith("drop"):
                base.undrop(self._host(self._dropped(job)))
            if hidden := hidden_host(job):
                base.undrop(self._host(hidden))

    def _dropped(self, job: FarJob) -> str:
        return job.hosts[0] if job.state.act == "drop-store" else job.host_of(job.rank)

    def act(self, job: FarJob) -> None:
        base.signalled(job)
        if job.state.act.startswith("drop"):
            base.drop(self._host(self._dropped(job)), job.state.act)
        if hidden := hidden_host(job):
            base.refuse_ssh(self._host(hidden), "reject with tcp reset" if job.rank % 2 else "drop")

    def sights(self, job: FarJob) -> Iterator[Sight]:
        ssh = " ".join((*self._servers.ssh, "-o", "ConnectTimeout=5"))
        argv = (*self._lab.hosts[0].inside, sys.executable, "-m", "nccltool", "attach", "--hosts")
        argv += (",".join(job.hosts), "--ssh", ssh, "--program", job.program, "--format", "json")
        yield base.looked(argv, "n1", is_partial=bool(job.state.hidden))


def hidden_host(job: FarJob) -> str:
    """The host that ssh does not reach; never the first one, where the store is."""
    own = job.host_of(job.rank)
    others = [name for name in job.hosts[1:] if name != own]
    return {"": "", "fault": own, "other": others[-1] if others else ""}[job.state.hidden]
