"""Hosts of a laboratory with processes of their own: on one, no process of another is seen."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.lab.lab import Host, Lab
from tests.support.commands import until


class Machine(Host):
    """A host whose first process is `first`, as seen from outside."""

    def __init__(self, host: Host, lab: str, first: int, has_users: bool) -> None:
        super().__init__(lab, int(host.name.removeprefix("n")))
        self.first, self._has_users = first, has_users

    @property
    def inside(self) -> tuple[str, ...]:
        users = ("--user", "--preserve-credentials") if self._has_users else ()
        return ("nsenter", f"--target={self.first}", *users, "--pid", "--mount", "--net", "--uts", "--ipc", "--")


@contextmanager
def machines(count: int, *more: str) -> Iterator[Lab]:
    """A laboratory of such hosts. `more`: further words of unshare, such as --user."""
    with Lab(count) as lab, ExitStack() as stack:
        lab.hosts = [_machine(host, lab.id, stack, more) for host in lab.hosts]
        yield lab


def _machine(host: Host, lab: str, stack: ExitStack, more: tuple[str, ...]) -> Machine:
    argv = (*host.inside, "unshare", *more, "--pid", "--fork", "--kill-child", "--mount-proc", "sleep", "infinity")
    holder = stack.enter_context(subprocess.Popen(argv, start_new_session=True))
    stack.callback(holder.kill)
    children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children")
    assert until(lambda: bool(children.read_text().split()), 20.0), f"{host.name} has no first process"
    first = int(children.read_text().split()[0])
    assert until(lambda: Path(f"/proc/{first}/comm").read_text() == "sleep\n", 20.0), f"{host.name} is not up"
    return Machine(host, lab, first, "--user" in more)
