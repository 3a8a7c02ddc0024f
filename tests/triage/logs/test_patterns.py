"""Tables of patterns: what their text means."""

import pytest

from nccltool.triage.logs.patterns import LogPattern, table


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("shm.full  `no space`", [("no space", None)]),
        ("shm.full  `a|b`", [("a", None), ("b", None)]),
        (r"shm.full  ^\d+ `a.b` (?P<path>\S+)", [("a.b", r"^\d+ a\.b (?P<path>\S+)")]),
        (r"shm.full  no `a|b`$", [("a", "no a$"), ("b", "no b$")]),
        (r"shm.full  `a` => \d+", [("a", r"\d+")]),
        ("shm.full  `a` and\n              [ ]{END}", [("a", "a and[ ]the end")]),
    ],
)
def test_a_row_is_patterns(row: str, expected: list[tuple[str, str | None]]) -> None:
    found = [*table(f"\ndoubt\n    {row}\n", before={"a": "xy"}, END="the end")]
    assert [(one.literal, one.expression and one.expression.pattern) for one in found] == expected
    assert {(one.kind, one.role, one.before) for one in found if one.literal == "a"} <= {
        ("shm.full", "doubt", "xy")
    }


def test_a_row_stands_under_its_role() -> None:
    text = "\nfailure\n    shm.full  `a`\n    shm.full  `b`\nstate\n    nccl.ib   `c`\n"
    assert [*table(text)] == [
        LogPattern("shm.full", "failure", "a"),
        LogPattern("shm.full", "failure", "b"),
        LogPattern("nccl.ib", "state", "c"),
    ]
