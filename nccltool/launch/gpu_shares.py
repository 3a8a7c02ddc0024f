"""How ranks share out the GPUs of their host: how many a node has, which one a rank takes, if they suffice."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.versions import Version
from nccltool.hosts.facts import HostFacts, NotKnown, or_none
from nccltool.hosts.nccl import settings, values
from nccltool.hosts.sources import files
from nccltool.hosts.sources.base import Tree

PERMISSION = "NCCL_MULTI_RANK_GPU_ENABLE"
"""Set to 1, it lets several ranks of a communicator use one GPU."""
PERMITTED_SINCE = Version(2, 30, 3)
"""The first release of NCCL that reads it: src/init.cc there, and the list of variables in the guide of 2.30."""
_FILE_S = 1.0
"""For a configuration file in a home whose file server hangs."""


def ranks_for(gpus: int | None, nodes: int, nodes_here: int = 1) -> int:
    """Ranks on each node where nobody says how many: one for each GPU, of which there is one at least where their
    number is not known (None); without any, one, or two on the only node, for one rank has nobody to talk to.
    `nodes_here`: how many nodes share out the GPUs of their host."""
    if gpus is None:
        return 1
    return gpus // nodes_here or (1 if nodes > 1 else 2)


def ranks_over_gloo(gpus: Iterable[int | None], nodes: int) -> int:
    """The same over Gloo, which needs no GPU: as many on each host as the one with the fewest would have."""
    return min(ranks_for(count, nodes) for count in gpus)


def gpu_of(gpus: int, node: int, nodes_here: int, local_rank: int, ranks_of_node: int) -> int:
    """The number of the GPU that a rank takes. Each node has as many, side by side. Where they are too few, some
    take the same: that is judged when all have said which.
    """
    if nodes_here * ranks_of_node > gpus:
        return (node * ranks_of_node + local_rank) % gpus
    return node * (gpus // nodes_here) + local_rank


def suffice(gpus: int | None, ranks_here: int, env: Mapping[str, str]) -> bool | None:
    """Whether NCCL would take so many ranks on the GPUs of a host; None = not known, like their number."""
    if gpus is None:
        return True if ranks_here == 1 else None
    return gpus >= ranks_here or (gpus > 0 and is_permitted(env))


def is_permitted(env: Mapping[str, str], version: Version | None = None) -> bool:
    """Whether NCCL is told here, by a variable or a file, to take several ranks on one GPU."""
    if not values.since(PERMITTED_SINCE, version):
        return False
    facts = HostFacts(host="", env=dict(env), conf_files=files.conf(Tree.at(Path("/")), env, _FILE_S))
    return permits(facts, version)


def permits(facts: HostFacts, version: Version | None = None) -> bool:
    """The same of a host that was looked at."""
    try:
        return bool(settings.of(facts, version).integer(PERMISSION))
    except NotKnown:
        return False


def are_enough(facts: HostFacts, ranks_here: int) -> bool:
    """Whether NCCL would take so many ranks on the GPUs of a host that was looked at, as far as is known."""
    gpus = or_none(facts.visible_gpus) or 0
    return gpus >= ranks_here or (gpus > 0 and permits(facts))


def require(gpus: int | None, ranks_here: int, env: Mapping[str, str]) -> None:
    """For --backend nccl, on a host whose GPUs were counted. Raises BadInput."""
    if gpus and not suffice(gpus, ranks_here, env):
        have = f"{gpus} GPU{'s' if gpus > 1 else ''}"
        raise BadInput(
            f"--backend nccl needs one GPU per rank, but a host has {have} for {ranks_here} ranks",
            f"start at most {gpus} (--nodes, --nproc-per-node) or measure on CPUs: --backend gloo; "
            f"to share GPUs, set {PERMISSION}=1 (NCCL {PERMITTED_SINCE} or later)",
        )
