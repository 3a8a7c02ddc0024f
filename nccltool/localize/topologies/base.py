"""What readers of topologies share."""

from typing import NoReturn

from nccltool.core import host_lists
from nccltool.core.errors import BadInput
from nccltool.core.text import shortened

OPTION = "--topology"
_MOST = 100_000
"""Nodes of a list."""


def refuse(where: str, problem: str, remedy: str) -> NoReturn:
    """Raises BadInput."""
    raise BadInput(f"{where}: {problem}", remedy)


def unfolded(folded: str, where: str) -> list[str]:
    """The names in n[01-16]. Raises BadInput."""
    remedy = "write a list such as n[01-16]"
    if host_lists.has_wide_range(folded, _MOST):
        refuse(where, f"{shortened(folded, 60)!r} has too many nodes", remedy)
    try:
        names = host_lists.unfold(folded, _MOST)
    except ValueError as error:
        refuse(where, f"{shortened(folded, 60)!r} is not a list of nodes: {error}", remedy)
    if len(names) > _MOST:
        refuse(where, f"{shortened(folded, 60)!r} has too many nodes", remedy)
    return names
