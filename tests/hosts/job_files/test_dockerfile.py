"""Dockerfiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.hosts.job_files import dockerfile


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM x\n", True),
        ("# syntax=y\n\nARG V=1\nfrom x:$V AS a\n", True),
        ("A=1\nFROM x\n", False),
        ("FROM=1\n", False),
        ("", False),
    ],
)
def test_is_dockerfile(text: str, expected: bool) -> None:
    assert dockerfile.is_dockerfile(text) is expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("FROM x\nENV A=1 B='2 3'\n", [(2, "A", "1"), (2, "B", "2 3")]),
        ("FROM x\nENV A 1 2\n", [(2, "A", "1 2")]),
        ("FROM x\nENV A=1 \\\n    B=2\nENV C=$A/$B D=$E\n", [(2, "A", "1"), (2, "B", "2"), (4, "C", "1/2")]),
        ("FROM x\nENV A=1\nENV A=2 B=$A\n", [(2, "A", "1"), (3, "A", "2"), (3, "B", "1")]),
        ("FROM x AS a\nENV A=1\nFROM y\nENV B=2\n", [(4, "B", "2")]),
        ("FROM x AS a\nENV A=1\nFROM --platform=linux/amd64 A\nENV B=2\n", [(2, "A", "1"), (4, "B", "2")]),
        ("FROM x\nARG V=7\nARG W\nENV A=$V B=$W\n", [(4, "A", "7")]),
        ("FROM x\nRUN A=1 make\nLABEL ENV=1\n", []),
    ],
)
def test_settings(text: str, found: list[tuple[int, str, str]]) -> None:
    assert [(one.number, one.name, one.value) for one in dockerfile.settings(text)] == found


@given(st.text(alphabet="FROMENVARG A=1\n\\'\"$", max_size=80))
def test_any_text_is_read(text: str) -> None:
    lines = text.count("\n") + 2
    assert all(1 <= one.number <= lines for one in dockerfile.settings(f"FROM x\n{text}"))
