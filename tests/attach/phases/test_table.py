"""The table of frames."""

from typing import get_args

from nccltool.attach.phases.result import STARTS, WAITS_FOR_RANKS, WAITS_FOR_STORE, PhaseKind
from nccltool.attach.phases.table import ROWS, TEXTS

MADE_ELSEWHERE = {"computing", "gil", "code", "unknown"}
"""By `match`, from more than frames; gradients also there."""


def test_every_kind_has_a_row() -> None:
    made = {row.kind for row in ROWS} | {row.kind for _, row in TEXTS}
    assert made | MADE_ELSEWHERE == set(get_args(PhaseKind))


def test_rows_have_numbers_of_the_table() -> None:
    """15 is made from CPU time, 2 is 1 with another operation, 24, 25, and 28 are no phases of a main thread."""
    assert {row.number for row in ROWS if row.number} == set(range(1, 28)) - {2, 15, 24, 25}


def test_every_row_matches_something_definite() -> None:
    assert all(row.name or row.file for row in ROWS)
    assert all(row.name for row in ROWS if row.native)


def test_sets_of_kinds_do_not_overlap() -> None:
    assert not WAITS_FOR_RANKS & WAITS_FOR_STORE
    assert set(get_args(PhaseKind)) >= STARTS
