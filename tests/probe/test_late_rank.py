"""Who the others waited for, from waiting times alone: in a row, and in a run."""

import random
from collections.abc import Mapping, Sequence

import pytest

from nccltool.probe.late_rank import (
    MOST_NAMED,
    ROUNDS,
    LateRank,
    RankLateness,
    Row,
    as_pairs,
    in_row,
    of_pairs,
    over_rows,
    throughout,
)

MS = 1_000_000


def waits(late_ms: Sequence[float], rounds: int = ROUNDS) -> list[list[int]]:
    """Each rank comes `late_ms` after the first one and waits for the last one, and 10 us for the network."""
    return [[round((max(late_ms) - own) * MS) + 10_000] * rounds for own in late_ms]


def named(waits_ns: Sequence[Sequence[int]]) -> tuple[tuple[int, float], ...]:
    return tuple((rank, round(late_s, 9)) for rank, late_s in as_pairs(in_row(waits_ns)))


@pytest.mark.parametrize(
    ("waits_ns", "late"),
    [
        (waits([0, 5, 0, 0]), ((1, 0.005),)),
        (waits([0, 0, 0, 200]), ((3, 0.2),)),
        (waits([3, 0]), ((0, 0.003),)),
        (waits([0, 4, 6, 1]), ((2, 0.005), (1, 0.003))),  # a slow host's, after the last of the others
        (waits([0, 0, 50, 51]), ((3, 0.051), (2, 0.05))),
        (waits([5, 0, 5, 5]), ()),  # one that comes early makes nobody late
        (waits([0, 5, 5]), ()),  # nor are most of the ranks late
        (waits([0, 0, 0, 0]), ()),
        (waits([0, 0.9, 0, 0]), ()),  # under a millisecond
        (waits([5]), ()),  # nobody waits for oneself
        (waits([0, 5], rounds=0), ()),
        ([], ()),
    ],
)
def test_who_is_late(waits_ns: Sequence[Sequence[int]], late: tuple[tuple[int, float], ...]) -> None:
    assert named(waits_ns) == late


@pytest.mark.parametrize(("rounds_late", "who"), [(ROUNDS, [1]), (12, [1]), (11, []), (4, []), (3, [0]), (0, [0])])
def test_once_is_not_always(rounds_late: int, who: list[int]) -> None:
    """Of 15 rounds rank 1 is late in some; in the others rank 0 is, by less."""
    late, other = waits([0, 5, 0]), waits([2, 0, 0])
    mixed = [late[rank][:rounds_late] + other[rank][rounds_late:] for rank in range(3)]
    assert [rank for rank, _ in named(mixed)] == who


@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 64])
def test_noise_names_nobody(ranks: int) -> None:
    """Arrivals that vary by 3 ms: nobody stands out in a run of 80 rows, for each of 20 runs."""
    source = random.Random(ranks)
    for _ in range(20):
        assert over_rows([in_row(noisy(source, 3, {}, ranks)) for _ in range(80)], ranks) == ()


def noisy(source: random.Random, mean_ms: float, late_ms: Mapping[int, float], ranks: int) -> list[list[int]]:
    """A row of ranks that come when they like, and some of them later."""
    arrivals = [
        [source.expovariate(1 / mean_ms) + late_ms.get(rank, 0) for _ in range(ROUNDS)] for rank in range(ranks)
    ]
    last = [max(times) for times in zip(*arrivals, strict=True)]
    return [[round((end - own) * MS) for end, own in zip(last, rank, strict=True)] for rank in arrivals]


def test_late_ranks_are_named_in_noise() -> None:
    source = random.Random(2)
    (late,) = in_row(noisy(source, 0.5, {2: 20}, 4))
    assert late.rank == 2
    assert late.late_s == pytest.approx(0.02, abs=0.002)
    assert {one.rank for one in in_row(noisy(source, 0.5, {2: 20, 3: 20}, 4))} == {2, 3}


def test_a_network_that_delays_one_direction_makes_nobody_late() -> None:
    """Over a link of 20 ms from rank 0 to rank 1, and of none back, whose turn it is to wait alternates."""
    begin, took = [0.0, 0.0], []
    for _ in range(ROUNDS):
        ends = [max(begin[0], begin[1]), max(begin[1], begin[0] + 20)]
        took.append([end - start for end, start in zip(ends, begin, strict=True)])
        begin = ends
    assert in_row([[round(row[rank] * MS) for row in took] for rank in range(2)]) == ()


def test_what_fits_an_event() -> None:
    late = in_row(waits([0] * 100 + [10 + rank for rank in range(60)]))
    assert [one.rank for one in late] == [159 - at for at in range(MOST_NAMED)]
    assert of_pairs(as_pairs(late)) == late


@pytest.mark.parametrize(
    ("rounds_late", "late"),
    [
        ((15, 15, 15), True),
        ((15, 12, 9), True),  # 36 of 45, and most of each third
        ((15, 15, 8), False),
        ((15, 11, 9), False),  # 35 of 45
        ((15, 15, 0), False),  # what disturbed it is over
    ],
)
def test_throughout_a_long_row(rounds_late: Sequence[int], late: bool) -> None:
    row: list[list[int]] = [[], []]
    for count in rounds_late:
        for rank, (slow, quick) in enumerate(zip(waits([0, 5]), waits([2, 0]), strict=True)):
            row[rank] += [*slow[:count], *quick[count:]]
    assert throughout(row, 3) == ((RankLateness(rank=1, late_s=0.005),) if late else ())
    assert throughout([], 3) == throughout([[], []], 3) == ()


def rows(*late: tuple[int, float]) -> Row:
    return of_pairs(late)


NONE, LATE = rows(), rows((1, 0.05))


@pytest.mark.parametrize(
    ("of_run", "ranks", "late"),
    [
        ([LATE] * 80, 2, (80, 80, True)),
        ([LATE] * 78 + [NONE] * 2, 2, (78, 80, True)),
        ([LATE] * 8 + [NONE] * 72, 2, (8, 80, False)),  # one operation of ten
        ([LATE] * 7 + [NONE] * 73, 2, None),  # too few to matter
        ([LATE] * 2 + [NONE] * 8, 2, (2, 10, False)),
        ([LATE] + [NONE] * 9, 2, (1, 10, False)),
        ([LATE] + [NONE] * 9, 8, None),  # too few to be sure
        ([LATE], 2, (1, 1, True)),
        ([LATE], 49, (1, 1, True)),
        ([LATE], 51, None),  # one of so many ranks is late in the only row by chance
        ([LATE] * 2, 10_000, (2, 2, True)),
        ([LATE, NONE], 2, (1, 2, True)),
        ([None] * 5, 2, None),  # not measured
        ([None] * 50 + [LATE] * 2, 2, (2, 2, True)),
        ([], 2, None),
        ([LATE] * 5000 + [NONE] * 5000, 2, (5000, 10_000, True)),
    ],
)
def test_in_how_many_rows(of_run: Sequence[Row], ranks: int, late: tuple[int, int, bool] | None) -> None:
    found = over_rows(of_run, ranks)
    assert [(one.rows, one.of, one.fails) for one in found] == ([late] if late else [])


def test_what_is_known_of_a_late_rank() -> None:
    row = (RankLateness(rank=3, late_s=0.008), RankLateness(rank=2, late_s=0.006))
    later = (RankLateness(rank=3, late_s=0.009), RankLateness(rank=2, late_s=0.005))
    two, three = over_rows([row, later, (), row], 4)
    assert (two.rank, three.rank) == (2, 3)
    assert three == LateRank(rank=3, late_s=0.008, least_s=0.008, most_s=0.009, rows=3, of=4, chance=three.chance)
    assert three.chance == pytest.approx(4 * (4 * 0.001**3 * 0.999 + 0.001**4))
    assert not three.fails  # under 10 ms


@pytest.mark.parametrize(
    ("rows_late", "of", "text"), [(1, 1, "the only row"), (4, 4, "all 4 rows"), (78, 80, "78 of 80 rows")]
)
def test_how_it_is_said(rows_late: int, of: int, text: str) -> None:
    late = LateRank(rank=0, late_s=1, least_s=1, most_s=1, rows=rows_late, of=of, chance=0)
    assert late.share_text("the only row", "rows") == text
