"""Slow rails."""

import pytest

from nccltool.localize.judge import judge
from tests.localize.judge.fabric import everyone, healthy, one

RAILS = ("rail0", "rail1", "rail2")


@pytest.mark.parametrize(
    ("node", "subject"), [("n04", ("n04", "rail1")), (None, ("rail1",))], ids=["of one node", "everywhere"]
)
def test_a_rail(node: str | None, subject: tuple[str, ...]) -> None:
    rows = [
        one(each.members, 0.5 if rail == "rail1" and node in (None, *each.members) else 1.0, each.round, rail=rail)
        for each in everyone(healthy)
        for rail in RAILS
    ]
    found = judge(rows)
    assert [(each.kind, each.subject) for each in found.suspects] == [("rail", subject)]
