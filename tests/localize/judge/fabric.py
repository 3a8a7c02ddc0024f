"""Encounters of a small fabric with known faults."""

import math
import random
from collections.abc import Callable, Sequence

from nccltool.localize.encounter import Encounter
from nccltool.localize.schedule import circle

HEALTHY = 100e9
NODES = tuple(f"n{number:02}" for number in range(16))
Speed = Callable[[tuple[str, ...]], float | None]


def everyone(speed: Speed, rounds: int = 8, noise: float = 0.02, nodes: Sequence[str] = NODES) -> list[Encounter]:
    """Pairs of the circle method; `speed` is the share of the healthy bandwidth, None: no result."""
    chance = random.Random(5)
    return [
        one(pair, speed(pair), number, chance.gauss(0, noise))
        for number in range(rounds)
        for pair in circle.pairs(nodes, number)
    ]


def one(
    members: Sequence[str],
    share: float | None = 1.0,
    number: int = 0,
    noise: float = 0.0,
    *,
    is_directed: bool = False,
    rail: str | None = None,
) -> Encounter:
    return Encounter(
        members=tuple(members),
        busbw_bytes_per_s=None if share is None else share * HEALTHY * math.exp(noise),
        round=number,
        is_directed=is_directed,
        rail=rail,
    )


def healthy(pair: tuple[str, ...]) -> float:
    return 1.0


def slow_nodes(**shares: float | None) -> Speed:
    def speed(pair: tuple[str, ...]) -> float | None:
        found = [shares[name] for name in pair if name in shares]
        known = [share for share in found if share is not None]
        return None if len(known) < len(found) else min(known, default=1.0)

    return speed
