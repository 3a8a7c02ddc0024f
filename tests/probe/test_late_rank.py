"""Who the others waited for, from waiting times alone."""

import random
from collections.abc import Sequence

import pytest

from nccltool.probe.late_rank import ROUNDS, latest

MS = 1_000_000


def waits(late_ms: Sequence[float], rounds: int = ROUNDS) -> list[list[int]]:
    """Each rank comes `late_ms` after the first one and waits for the last one, and 10 us for the network."""
    return [[round((max(late_ms) - own) * MS) + 10_000] * rounds for own in late_ms]


@pytest.mark.parametrize(
    ("waits_ns", "late"),
    [
        (waits([0, 5, 0, 0]), (1, 0.005)),
        (waits([0, 0, 0, 200]), (3, 0.2)),
        (waits([3, 0]), (0, 0.003)),
        (waits([0, 4, 6, 1]), (2, 0.006)),
        (waits([0, 0, 0, 0]), None),
        (waits([0, 0.9, 0, 0]), None),  # under a millisecond
        (waits([5]), None),  # nobody waits for oneself
        (waits([0, 5], rounds=0), None),
        ([], None),
    ],
)
def test_who_is_late(waits_ns: Sequence[Sequence[int]], late: tuple[int, float] | None) -> None:
    assert latest(waits_ns) == late


@pytest.mark.parametrize(("rounds_late", "named"), [(ROUNDS, 1), (12, 1), (11, None), (4, None), (3, 0), (0, 0)])
def test_once_is_not_always(rounds_late: int, named: int | None) -> None:
    """Of 15 rounds rank 1 is late in some; in the others rank 0 is, by less."""
    late, other = waits([0, 5, 0]), waits([2, 0, 0])
    mixed = [late[rank][:rounds_late] + other[rank][rounds_late:] for rank in range(3)]
    late_rank = latest(mixed)
    assert (late_rank and late_rank[0]) == named


def test_noise_names_nobody() -> None:
    source = random.Random(1)
    for _ in range(100):
        arrivals = [[source.expovariate(1 / 3) for _ in range(ROUNDS)] for _ in range(4)]
        last = [max(times) for times in zip(*arrivals, strict=True)]
        assert (
            latest([[round((end - own) * MS) for end, own in zip(last, rank, strict=True)] for rank in arrivals])
            is None
        )


def test_a_late_rank_is_named_in_noise() -> None:
    source = random.Random(2)
    arrivals = [[source.expovariate(2) + (20 if rank == 2 else 0) for _ in range(ROUNDS)] for rank in range(4)]
    last = [max(times) for times in zip(*arrivals, strict=True)]
    late = latest([[round((end - own) * MS) for end, own in zip(last, rank, strict=True)] for rank in arrivals])
    assert late is not None
    assert late[0] == 2
    assert late[1] == pytest.approx(0.02, abs=0.002)
