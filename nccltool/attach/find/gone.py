"""Ranks that should be on a host and are not: zombies, numbers that are missing, and what they left behind."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nccltool.attach.find.processes import ProcessRow
from nccltool.attach.seen.ranks import AgentFound, RankFound, RankGone
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree

_ERROR_FILE = re.compile(r"(?P<before>.*/attempt_\d{1,4}/)(?P<local>\d{1,5})(?P<after>/error\.json)")
_LONGEST = 300


def gone(
    rows: Mapping[int, ProcessRow], ranks: Sequence[RankFound], agents: Sequence[AgentFound], host: str, tree: Tree
) -> Iterator[RankGone]:
    """Ranks of this host that ended while others of the same agent run."""
    for agent in agents:
        of = [rank for rank in ranks if rank.agent_pid == agent.pid]
        missing = list(_missing(agent, of))
        zombies = [pid for pid in agent.children if pid in rows and rows[pid].state == "Z"]
        is_clear = len(zombies) == len(missing) == 1
        for local, rank in missing:
            left = _left(of[0], local, tree)
            pid = zombies[0] if is_clear else None
            yield replace(left, host=host, rank=rank, pid=pid, how=left.how or ("zombie" if pid else "ended"))
        if not is_clear:  # which of them is which rank is not known
            yield from (RankGone(host=host, pid=pid, how="zombie") for pid in zombies)


def _missing(agent: AgentFound, of: Sequence[RankFound]) -> Iterator[tuple[int, int]]:
    """(local rank, rank) of those that an agent started and that are gone. It numbers its ranks without gaps."""
    here = {rank.local_rank: rank.rank for rank in of if rank.local_rank is not None and rank.rank is not None}
    offsets = {rank - local for local, rank in here.items() if rank is not None and local is not None}
    if agent.local_world_size is None or len(offsets) != 1:
        return
    (offset,) = offsets
    for local in range(min(agent.local_world_size, 4096)):
        if local not in here:
            yield local, local + offset


def _left(neighbor: RankFound, local: int, tree: Tree) -> RankGone:
    """What the error file of a rank says: it lies beside that of its neighbor."""
    nothing = RankGone(host="", how="")
    path = _ERROR_FILE.fullmatch(neighbor.setting("TORCHELASTIC_ERROR_FILE"))
    if path is None:
        return nothing
    raw = tree.raw(f"/proc/{neighbor.pid}/root{path['before']}{local}{path['after']}")
    if isinstance(raw, Unknown):
        return nothing
    try:
        text, at_s = _message(json.loads(raw))
    except (ValueError, RecursionError, AttributeError, TypeError):
        return nothing
    return replace(nothing, how="error file", text=text, at_s=at_s)


def _message(document: Any) -> tuple[str, float | None]:
    """Of a file that torch's `record` writes: {"message": {"message": ..., "extraInfo": {"timestamp": ...}}}."""
    about = document["message"] if isinstance(document, dict) and "message" in document else document
    if isinstance(about, dict):
        when = about.get("extraInfo", {}).get("timestamp")
        seconds = float(when) if when is not None and str(when).isdecimal() else None
        return str(about.get("message", ""))[:_LONGEST], seconds
    return str(about)[:_LONGEST], None
