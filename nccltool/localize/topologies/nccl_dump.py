"""What NCCL_TOPO_DUMP_FILE writes: one host from inside, without its name; it says nothing about switches."""

import re

from nccltool.localize.topologies.base import refuse
from nccltool.localize.topology import Topology

_MARK = re.compile(r"\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:system|graphs)\b")


def recognises(content: str) -> bool:
    return _MARK.match(content) is not None


def read(content: str, where: str) -> Topology:
    """Raises BadInput."""
    refuse(
        where,
        "a topology dump of NCCL describes the inside of one host and no leaf switch",
        "pass a log of NCCL_DEBUG=INFO, Slurm's topology.conf, or lines of NODE LEAF",
    )
