"""Logs of NCCL_DEBUG=INFO: which hosts are in one NVLink domain. They name no other switch."""

import re

from nccltool.core.text import escaped
from nccltool.localize.topologies.base import refuse
from nccltool.localize.topology import Topology

_MARK = re.compile(r":\d{1,9}:\d{1,9} \[-?\d{1,9}\] (?:\S{1,200} )?NCCL (?:INFO|WARN) ")
_DOMAIN = re.compile(
    r"(?<![\w.-])([A-Za-z0-9][\w.-]{0,79}):\d{1,9}:\d{1,9} \[-?\d{1,9}\] [^\n]{0,300}?NCCL INFO MNNVL "
    r"busId \S{1,40} fabric UUID ([0-9a-f]{1,16})\.([0-9a-f]{1,16}) cliqueId (?:0x)?([0-9a-f]{1,8}) state 3\b"
)
"""State 3: the GPU has joined its domain. Without a fabric manager for several hosts, the UUID is 0.0."""
_REMEDY = "pass Slurm's topology.conf or topology.yaml, or lines of NODE LEAF"


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str) -> Topology:
    """The hosts with their NVLink domains. Raises BadInput where the log names none."""
    leaf_of: dict[str, str] = {}
    for host, one, other, clique in _DOMAIN.findall(content):
        if one.strip("0") or other.strip("0"):
            domain = f"{one}.{other}/{clique}"
            if leaf_of.setdefault(host, domain) != domain:
                refuse(where, f"{escaped(host)} is in {leaf_of[host]} and in {domain}", "pass the log of one job")
    if not leaf_of:
        refuse(where, "this NCCL log names no NVLink domain (MNNVL), and NCCL logs no other switches", _REMEDY)
    return Topology(leaf_of=leaf_of)
