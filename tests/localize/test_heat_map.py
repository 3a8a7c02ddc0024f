"""The matrix: slowest rows first, folded columns, shares of the healthy speed."""

import pytest

from nccltool.localize import heat_map
from tests.support.pairs import OF_106, met


def test_issue_106() -> None:
    made = heat_map.of(OF_106, 87.6e9, 16, 48)
    assert made is not None
    assert made.rows[:3] == ("284", "644", "678")
    assert made.columns == tuple((name,) for name in made.rows)
    row = dict(zip(made.rows, made.cells[1], strict=True))
    assert {name: round(share, 2) for name, share in row.items() if share is not None} == {
        "699": 0.56,
        "641": 0.56,
    }
    assert made.more_rows == 0


def test_many_nodes_are_folded() -> None:
    pairs = [met(f"n{number}", f"n{number + 1}", 100.0) for number in range(100)]
    made = heat_map.of([*pairs, met("n7", "n50", 20.0)], 100e9, 4, 10)
    assert made is not None
    assert made.rows[:2] == ("n50", "n7")
    assert (len(made.rows), made.more_rows, len(made.columns)) == (4, 97, 10)
    assert min(share for share in made.cells[0] if share is not None) == 0.2


def test_senders_are_rows_and_receivers_columns() -> None:
    made = heat_map.of([met("a", "b", 50.0, is_directed=True)], 50e9, 4, 4)
    assert made is not None
    assert (made.rows, made.cells) == (("a",), ((None, 1.0),))


def test_without_a_measured_pair_or_a_healthy_speed_there_is_none() -> None:
    assert heat_map.of([met("a", "b", None)], 370e9, 4, 4) is None
    assert heat_map.of(OF_106, None, 4, 4) is None


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (0.5, 1), (0.84, 2), (0.94, 3), (0.95, 4), (1.2, 4)])
def test_shades_are_fixed(share: float, expected: int) -> None:
    assert heat_map.shade(share) == expected
