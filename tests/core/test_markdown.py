"""Markdown as text for a terminal."""

import textwrap

import pytest

from nccltool.core.look import Look
from nccltool.core.markdown import inline, to_text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**Meaning.** It `died`.", "Meaning. It died."),
        ("see [rank-died](findings.md#rank-died) and [`hang`](#hang)", "see rank-died and hang"),
        ("`NCCL_IB_HCA=*` and `a_b`", "NCCL_IB_HCA=* and a_b"),
        ("a \\* b \\| c", "a * b | c"),
        ("an *emphasis* here", "an emphasis here"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("`**kept**`", "**kept**"),
    ],
)
def test_marks_go_and_code_stays(markdown: str, text: str) -> None:
    assert inline(markdown) == text


PAGE = """\
# rank-died (finding)

A paragraph that is
cut differently in the file.

**Meaning.** One.
**Fix.** Two.

<!-- example: exact -->
```console
$ nccltool runs   # a command
```

## Below

Indented text.

    cmd --long-option value   # expected: something that is said about it

- an item that goes on and
  on
* another

| column | means |
|---|---|
| `busbw` | bus bandwidth, which is long enough to be wrapped |
| `x` | |
"""

TEXT = """\
rank-died (finding)

A paragraph that is cut differently in
the file.

Meaning. One.
Fix. Two.

    $ nccltool runs   # a command

Below
    Indented text.

    # expected: something that is said
    # about it
    cmd --long-option value

    - an item that goes on and on
    - another

    column  means
    busbw   bus bandwidth, which is long
            enough to be wrapped
    x
"""


def test_a_page_fits_its_width() -> None:
    assert to_text(PAGE, 40) == TEXT


def test_a_table_without_room_becomes_records() -> None:
    table = "| a column that is long | another long column | text |\n|---|---|---|\n| x | y | z |\n"
    shown = textwrap.dedent("""\
        a column that is long: x
          another long column: y
          text: z
        """)
    assert to_text(table, 50) == shown


def test_headings_stand_out_where_there_are_colors() -> None:
    assert to_text("# a\n\nb", 40, Look(colors=True)) == "\x1b[1ma\x1b[0m\n\nb\n"
