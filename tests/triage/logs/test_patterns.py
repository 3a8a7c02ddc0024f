"""Tables of patterns: what their text means."""

import re

import pytest

from nccltool.triage.logs.base import LONGEST_TEXT, SourceLine
from nccltool.triage.logs.patterns import LogPattern, table
from nccltool.triage.logs.reader import LogReader


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


@pytest.mark.parametrize(
    "row",
    [
        "shm.full  `a`\n     shm.segment  `b`",  # indented too far: it would go on with the row above
        "shm.full  `a||b`",
        "shm.full  head `a` => the expression",
        "shm.full  no literal",
        "shm.full",
        r"shm.full  `a` (unfinished",
    ],
)
def test_a_row_with_a_mistake_is_refused(row: str) -> None:
    with pytest.raises((ValueError, re.error)):
        table(f"\ndoubt\n    {row}\n")


def test_a_role_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not enough values"):
        table("\nfailure\n    shm.full  `a`\nfailures\n    shm.full  `b`\n")


def test_a_name_of_a_host_that_is_empty_is_that_of_the_label() -> None:
    text = SourceLine(file="log", number=1, text="host:   has no space", host="n1")
    (event,) = table("\ndoubt\n    shm.full  host:(?P<node> *)has `no space`\n", hosts_in=("node",)).events(text)
    assert event.host == "n1"


def test_what_is_kept_of_a_long_line_shows_what_it_says() -> None:
    said = "torch.OutOfMemoryError: CUDA out of memory."
    (first, *_) = LogReader().read("a.log", [(said + " y" * 5000 + "\n").encode()])
    assert first.text.startswith(said)
    (late, *_) = LogReader().read("a.log", [("x " * 5000 + said + "\n").encode()])
    assert said in late.text
    assert late.text.startswith("\u2026")
    assert len(late.text) <= LONGEST_TEXT
