"""The longest that one call can take over a network that is slow and whole."""

import math

from nccltool.probe import collectives

SLOWEST_RATE = 0.118e9
"""Bytes per second each way, where nothing slower was seen: what 1 GbE carries of 125 MB/s in packets of 1500
bytes, and the slowest link that hosts of a cluster have between them."""
_PAGE_RATE = 0.25e9
"""Bytes per second at which a rank writes new memory: alone it wrote 2.9 GB/s here, and ranks share cores and
memory."""
_WASTE = 2.0
"""How many times the least bytes an algorithm may send: Gloo's reduce-scatter reduces all and keeps a part. Its
trees send everything log2(ranks) times from the root."""


def inside_s(op: str, size: int, world_size: int, ranks_per_host: int, rate: float) -> float:
    """Seconds of `op` at `size` bytes over links of `rate` bytes per second, where so many ranks share one."""
    if world_size == 1:
        return 0.0
    collective = collectives.get(op)
    least = collective.least_seconds
    by_host = [rank // ranks_per_host for rank in range(world_size)]
    alone = list(range(world_size))
    seconds = max(least(homes, [rate] * len(set(homes))) for homes in (by_host, alone) if homes[-1])
    return size * seconds * (max(_WASTE, math.log2(world_size)) if collective.is_rooted else _WASTE)


def outside_s(allocated: int) -> float:
    """Seconds to fill buffers of so many bytes."""
    return allocated / _PAGE_RATE
