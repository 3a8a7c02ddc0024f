"""A job of PBS (OpenPBS, PBS Pro, Torque): its hosts from $PBS_NODEFILE, reached by ssh.

PBS's own pbsdsh and pbs_tmrsh send what the nodes write to the files of the job, not to us.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nccltool.core.user_files import contents
from nccltool.launch.launchers.base import LauncherTraits, LaunchPlan, NodeCommands, NotChosen
from nccltool.launch.named_hosts import parse_hosts
from nccltool.launch.options import StartOptions
from nccltool.launch.reach import allocated_hosts, ssh_client
from nccltool.launch.reach.allocated_hosts import AllocatedHosts

TRAITS = LauncherTraits(order=3, takes_hosts=True)


def allocation(env: Mapping[str, str]) -> AllocatedHosts | None:
    """The job that we are in; None when in none. Raises BadInput when its file of hosts cannot be read.

    A host has a line for each of its processes (`mpiprocs` of OpenPBS). Torque, which sets PBS_NUM_PPN, writes a
    line for each core, and that is no wish for ranks.
    """
    job_id, file = env.get("PBS_JOBID", ""), env.get("PBS_NODEFILE", "")
    if not job_id or not file:
        return None
    text = contents(Path(file), "PBS_NODEFILE").decode(errors="replace")
    hosts, slots = allocated_hosts.distinct(text.split(), f"PBS_NODEFILE {file}")
    return AllocatedHosts(
        scheduler="PBS",
        launcher="pbs",
        job_id=job_id.split(".")[0],
        hosts=hosts,
        slots=() if "PBS_NUM_PPN" in env else slots,
    )


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan | NotChosen:
    """The hosts of the job that we are in."""
    found = allocated_hosts.find("pbs", allocation, options, env, "submit it with qsub -l select=2")
    if isinstance(found, NotChosen):
        return found

    def commands(hosts: Sequence[str]) -> NodeCommands:
        named = [host for name in hosts for host in parse_hosts(name)]
        why = allocated_hosts.why(found, len(hosts))
        launch = ssh_client.launch(named, ssh_client.program(options), allocated_hosts.python(options), why)
        return replace(launch, launcher="pbs")

    return allocated_hosts.plan(found, ssh_client.words(options.ssh)[0], options, env, commands)
