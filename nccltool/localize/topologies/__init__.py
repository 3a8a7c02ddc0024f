"""LOOK up which leaf switch each node hangs on: one format a file, found by listing this folder."""

from nccltool.core import members, user_files
from nccltool.core.errors import BadInput
from nccltool.localize.topologies.base import OPTION
from nccltool.localize.topology import Topology

BY_NAME = "host-names"
"""Not a file: the racks in the names of nodes."""
_FORMATS = members.names(__path__, first=("slurm-conf", "slurm-yaml", "nccl-dump", "nccl-log", "node-and-leaf"))


def read(word: str) -> Topology:
    """The topology in a file, or the order to take it from names. Raises BadInput that names the line."""
    if word == BY_NAME:
        return Topology(is_by_name=True)
    data = user_files.contents(word, OPTION)
    where = f"{OPTION} {word}"
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{where}: it is not UTF-8 text", "name a text file") from error
    for name in _FORMATS:
        module = members.module(__name__, name)
        if module.recognises(content):
            found: Topology = module.read(content, where)
            return found
    raise BadInput(f"{where}: it names no node", "write a line for each node: NODE LEAF")
