"""A job of LSF: its hosts from $LSB_MCPU_HOSTS, reached by blaunch, which LSF allows where it forbids ssh."""

import re
from collections.abc import Mapping, Sequence

from nccltool.core.errors import BadInput
from nccltool.launch.launchers.base import LauncherTraits, LaunchPlan, NodeCommands, NotChosen
from nccltool.launch.options import StartOptions
from nccltool.launch.reach import allocated_hosts
from nccltool.launch.reach.allocated_hosts import AllocatedHosts

TRAITS = LauncherTraits(order=4, takes_hosts=True)
_BLAUNCH = "blaunch"


def allocation(env: Mapping[str, str]) -> AllocatedHosts | None:
    """The job that we are in; None when in none. Raises BadInput when its variable is damaged.

    LSF counts job slots, which are cores at most sites: that is no wish for ranks.
    """
    job_id, text = env.get("LSB_JOBID", ""), env.get("LSB_MCPU_HOSTS", "")
    if not job_id or not text:
        return None
    if not re.fullmatch(r"\s*(?:\S+\s+\d{1,6}\s*)+", text, re.ASCII):
        raise BadInput(
            f"LSB_MCPU_HOSTS={text[:80]!r} is not a list of hosts and counts", "check that the job still exists"
        )
    hosts, _ = allocated_hosts.distinct(text.split()[::2], "LSB_MCPU_HOSTS")
    return AllocatedHosts(scheduler="LSF", launcher="lsf", job_id=job_id, hosts=hosts)


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan | NotChosen:
    """The hosts of the job that we are in."""
    found = allocated_hosts.find("lsf", allocation, options, env, "submit it with bsub -n 2 -R 'span[ptile=1]'")
    if isinstance(found, NotChosen):
        return found

    def commands(hosts: Sequence[str]) -> NodeCommands:
        return allocated_hosts.one_each(found, hosts, options, lambda host: (_BLAUNCH, host))

    return allocated_hosts.plan(found, _BLAUNCH, options, env, commands)
