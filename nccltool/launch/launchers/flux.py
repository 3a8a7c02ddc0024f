"""An instance of Flux (flux alloc, flux batch): its hosts from its brokers, reached by flux exec.

flux exec asks no scheduler: it works beside whatever runs on the hosts.
"""

from collections.abc import Mapping, Sequence

from nccltool.core import external_commands
from nccltool.core.errors import BadInput
from nccltool.core.host_lists import has_wide_range, unfold
from nccltool.core.unknown import Unknown
from nccltool.launch.launchers.base import MOST_NODES, LauncherTraits, LaunchPlan, NodeCommands, NotChosen
from nccltool.launch.options import StartOptions
from nccltool.launch.reach import allocated_hosts
from nccltool.launch.reach.allocated_hosts import AllocatedHosts

TRAITS = LauncherTraits(order=5, takes_hosts=True)
_FLUX = "flux"
_ANSWERS_S = 10.0
"""The broker on this host answers from its memory, in milliseconds."""


def allocation(env: Mapping[str, str]) -> AllocatedHosts | None:
    """The instance that we are in; None when in none. Raises BadInput when its broker does not answer."""
    if not env.get("FLUX_URI"):
        return None
    answer = external_commands.run((_FLUX, "getattr", "hostlist"), _ANSWERS_S, env)
    problem = answer.reason if isinstance(answer, Unknown) else answer.err.strip()[:200] if answer.code else ""
    if isinstance(answer, Unknown) or problem:
        raise BadInput(
            f"FLUX_URI is set, but the hosts of the instance are not known: {problem}",
            "check that `flux getattr hostlist` prints them",
        )
    return AllocatedHosts(
        scheduler="Flux",
        launcher="flux",
        job_id=env.get("FLUX_ENCLOSING_ID") or env["FLUX_URI"].rpartition("/")[2],
        hosts=expand(answer.out.strip()),
    )


def expand(hostlist: str) -> tuple[str, ...]:
    """The hosts of a list of RFC 29 (n[1-2],x3), in the order of the brokers' ranks. Raises BadInput."""
    problem = f"`flux getattr hostlist` printed {hostlist[:80]!r}, which is not a list of hosts"
    if has_wide_range(hostlist, MOST_NODES):
        raise BadInput(problem, "use --hosts")
    try:
        return tuple(unfold(hostlist, MOST_NODES))
    except ValueError as error:
        raise BadInput(f"{problem}: {error}", "use --hosts") from error


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan | NotChosen:
    """The hosts of the instance that we are in."""
    found = allocated_hosts.find("flux", allocation, options, env, "run it inside flux alloc -N 2")
    if isinstance(found, NotChosen):
        return found
    ranks = {host: str(rank) for rank, host in enumerate(found.hosts)}

    def commands(hosts: Sequence[str]) -> NodeCommands:
        return allocated_hosts.one_each(found, hosts, options, lambda host: (_FLUX, "exec", "--rank", ranks[host]))

    return allocated_hosts.plan(found, _FLUX, options, env, commands)
