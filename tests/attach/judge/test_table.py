"""The decision table."""

from typing import get_args

from nccltool.attach.judge.result import CauseName
from nccltool.attach.judge.table import BY_CAUSE, ROWS


def test_every_cause_has_one_row() -> None:
    assert sorted(row.cause for row in ROWS) == sorted(get_args(CauseName))
    assert set(BY_CAUSE) == set(get_args(CauseName))


def test_only_what_needs_no_second_sample_does_without() -> None:
    assert {row.number for row in ROWS if not row.needs_frozen} == {1, 2, 11}
