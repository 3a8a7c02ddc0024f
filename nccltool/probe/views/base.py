"""What people are shown of every run: where it ran, and what was found."""

from nccltool.core.documents import RunInfo
from nccltool.core.text import escaped, named

_HOSTS_NAMED = 8


def circumstances(info: RunInfo) -> str:
    where = f" on {escaped(named(info.hosts, _HOSTS_NAMED))}" if info.hosts else "; no host answered"
    nodes = f"{info.nodes or '?'} node{'' if info.nodes == 1 else 's'}"
    lines = [
        f"nccltool {info.nccltool}, torch {info.torch or 'unknown'}, run {info.id}",
        f"{nodes}, {info.world_size or '?'} rank{'' if info.world_size == 1 else 's'}{where}",
    ]
    if info.backend:
        lines.append(f"backend {info.backend}: {info.backend_reason}")
    if info.set_in_ranks:
        lines.append(f"set in the ranks by nccltool: {escaped(', '.join(info.set_in_ranks))}")
    if info.emulated:
        lines.append("EMULATED: the nodes are processes of one host; no network between nodes was measured")
    return "\n".join(lines)
