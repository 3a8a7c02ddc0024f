"""What is drawn for a terminal, and for a pipe."""

import pytest

from nccltool.core.look import PLAIN, Look, Tone

NARROW = Look(width=40, height=24)
HEADERS = ("host", "result", "why")
ROWS = [["alpha", "fail", "the link of mlx5_0 is down, and nobody can tell since when"], ["b", "pass", ""]]


@pytest.mark.parametrize(
    ("tone", "code"), [("pass", "32"), ("warn", "33"), ("fail", "1;31"), ("dim", "2"), ("strong", "1")]
)
def test_a_tone_is_one_of_the_sixteen_colours(tone: Tone, code: str) -> None:
    assert Look(colors=True).painted("word", tone) == f"\x1b[{code}mword\x1b[0m"
    assert PLAIN.painted("word", tone) == "word"
    assert Look(colors=True).painted("", tone) == ""


def test_a_table_of_a_pipe_is_as_wide_as_its_words() -> None:
    assert PLAIN.table(HEADERS, ROWS, flexible=2).splitlines() == [
        "host   result  why",
        "-----  ------  ----------------------------------------------------------",
        "alpha  fail    the link of mlx5_0 is down, and nobody can tell since when",
        "b      pass",
    ]


def test_a_column_wraps_by_words_where_the_screen_is_narrow() -> None:
    lines = NARROW.table(HEADERS, ROWS, flexible=2).splitlines()
    assert lines == [
        "host   result  why",
        "-----  ------  -------------------------",
        "alpha  fail    the link of mlx5_0 is",
        "               down, and nobody can tell",
        "               since when",
        "b      pass",
    ]


def test_no_word_is_broken() -> None:
    long = "/sys/class/infiniband/mlx5_bond_0/ports/1/counters"
    text = NARROW.table(("file", "why"), [[long, f"see {long} there"]], flexible=1)
    assert text.count(long) == 2
    assert NARROW.wrapped(long) == [long]
    assert NARROW.wrapped("a cross-rack all-to-all of thirty-two ranks") == [
        "a cross-rack all-to-all of thirty-two",
        "ranks",
    ]


def test_a_painted_cell_is_painted_on_each_of_its_lines() -> None:
    look = Look(width=30, colors=True)
    text = look.table(("a", "b"), [["x", look.painted("one two three four five six seven", "fail")]], flexible=1)
    assert text.count("\x1b[1;31m") == text.count("\x1b[0m") == 2
    assert max(len(line) for line in look.table(("a", "b"), [["x", "y " * 40]], flexible=1).splitlines()) <= 30


def test_numbers_stand_under_each_other() -> None:
    assert PLAIN.table(("op", "n"), [["a", "5"], ["b", "1000"]], ("left", "right")).splitlines() == [
        "op     n",
        "--  ----",
        "a      5",
        "b   1000",
    ]


def test_prose_is_wrapped_on_a_terminal_only() -> None:
    text = "two hosts do not answer: alpha and beta, which share a switch"
    assert PLAIN.wrapped(text, "    ") == [text]
    assert NARROW.wrapped(text, "    ") == ["two hosts do not answer: alpha and beta,", "    which share a switch"]
    assert NARROW.wrapped("") == [""]


@pytest.mark.parametrize(
    ("values", "bars", "ascii_bars"),
    [
        ([], "", ""),
        ([0, 0], "▁▁", "__"),
        ([1], "█", "#"),
        ([1, 2, 4, 8], "▁▂▄█", "_.-#"),
        ([8, None, float("nan"), 0.001], "█  ▁", "#  _"),
        ([1] * 50 + [None] * 50, "█" * 14 + " " * 14, "#" * 14 + " " * 14),
    ],
)
def test_a_sparkline_goes_from_zero_to_the_largest(values: list[float | None], bars: str, ascii_bars: str) -> None:
    assert Look().sparkline(values) == bars
    assert Look(unicode=False).sparkline(values) == ascii_bars


def test_signs_of_a_locale_without_unicode() -> None:
    assert (Look().plus_minus, Look(unicode=False).plus_minus) == ("±", "+-")
