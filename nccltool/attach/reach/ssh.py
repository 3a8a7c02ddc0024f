"""Hosts that are reached by ssh."""

import shlex
import sys
from collections.abc import Sequence

from nccltool.attach.reach.asking import FarCommand
from nccltool.attach.reach.far_end import MODULE
from nccltool.launch.named_hosts import Host
from nccltool.launch.reach import ssh_client


def commands(hosts: Sequence[Host], program: Sequence[str], remote_python: str | None) -> tuple[FarCommand, ...]:
    """An ssh for each host. `program`: the words of --ssh."""
    remote = " ".join([shlex.quote(remote_python or sys.executable), *MODULE])
    return tuple(
        FarCommand(
            argv=ssh_client.argv(host, program, remote),
            name=host.name,
            remedy=f"{' '.join(program)} {host.word} true; nccltool must be installed there (--remote-python)",
        )
        for host in hosts
    )
