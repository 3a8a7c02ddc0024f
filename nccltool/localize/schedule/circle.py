"""The circle method: rounds of disjoint pairs in which everyone meets everyone once."""

from collections.abc import Sequence


def rounds_of(count: int) -> int:
    """How many rounds it takes for all pairs; an odd one out sits out one round each."""
    return count - 1 + count % 2 if count > 1 else 0


def pairs(order: Sequence[str], number: int) -> tuple[tuple[str, str], ...]:
    """The pairs of a round; the order decides who meets whom when."""
    seats: list[str | None] = [*order, *([None] if len(order) % 2 else [])]
    turned = len(seats) - 1
    if turned < 1:
        return ()
    shift = number % turned
    ring = [seats[0], *seats[1 + shift :], *seats[1 : 1 + shift]]
    met = zip(ring[: len(ring) // 2], reversed(ring[len(ring) // 2 :]), strict=True)
    return tuple((one, other) for one, other in met if one is not None and other is not None)
