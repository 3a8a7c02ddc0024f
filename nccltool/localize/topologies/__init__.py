"""LOOK up which leaf switch each node hangs on: one format a file, found by listing this folder."""

from nccltool.core import members, user_files
from nccltool.core.errors import BadInput
from nccltool.localize.topologies.base import OPTION
from nccltool.localize.topology import Topology

_FORMATS = members.names(__path__, first=("slurm-conf", "node-and-leaf"))


def read(file: str) -> Topology:
    """The topology in a file. Raises BadInput that names the line."""
    data = user_files.contents(file, OPTION)
    where = f"{OPTION} {file}"
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
