"""What the pages show is what the commands print; scripts/examples prints it anew."""

import os
import re
from pathlib import Path

import pytest

from tests.docs.examples import Example, differs, examples, play, shape, written
from tests.docs.pages import PAGES, ROOT

COMMANDS = [page for page in PAGES if page.parent == ROOT / "docs/commands" and page.stem != "README"]
ALL = [example for page in PAGES for example in examples(page)]


def _pages(*, slow: bool) -> list[object]:
    """Those with an example that is played here; `slow`: with one that is slow."""
    chosen = dict.fromkeys(each.page for each in ALL if each.played_here and each.slow == slow)
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in chosen]


@pytest.mark.torch
@pytest.mark.parametrize("page", _pages(slow=False))
def test_a_page_shows_what_is_printed(page: Path, tmp_path: Path) -> None:
    _play(page, tmp_path, slow=False)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("page", _pages(slow=True))
def test_a_page_shows_what_is_printed_slowly(page: Path, tmp_path: Path) -> None:
    _play(page, tmp_path, slow=True)


def _play(page: Path, folder: Path, *, slow: bool) -> None:
    for index in range(len(list(examples(page)))):
        example = list(examples(page))[index]  # an update of the one before moved it
        if example.played_here and example.slow == slow:
            _hold(example, folder)


def _hold(example: Example, folder: Path) -> None:
    said = list(play(example, folder))
    for pattern in example.noted("must print"):
        assert re.search(pattern, "".join(said)), f"{pattern} is not in what was printed:\n{''.join(said)}"
    if os.environ.get("UPDATE_GOLDEN"):
        written(example, said)
        return
    assert not differs(example, said), differs(example, said)


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.stem)
def test_every_command_has_an_example_that_is_played(page: Path) -> None:
    played = [example for example in examples(page) if not example.noted("not run")]
    lines = [line for example in played for line in (*example.first, *(step.line for step in example.steps))]
    assert any(f"nccltool {page.stem}" in line for line in lines)


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.stem)
def test_output_stands_in_console_blocks_alone(page: Path) -> None:
    opened = re.findall(r"^```(\w*)$", page.read_text(), re.MULTILINE)[::2]
    assert set(opened) <= {"console", "sh", "dockerfile"}


@pytest.mark.parametrize("example", [each for each in ALL if not each.played_here], ids=str)
def test_what_is_not_played_here_says_why(example: Example) -> None:
    for file in example.noted("played by"):
        assert (ROOT / file).is_file()
    assert all(example.noted("not run"))


TABLE = """\
2 of 2 rows, marked !, could be off by more than \u00b110%
op            size     time    algbw    wrong   \u00b1%    iterations  note
                         us     GB/s
----------  ------  -------  -------  -------  ---  ------------  ------------------------------
all_reduce   1 MiB     1140    0.920        0  14!           255  isolated, tail: median 665 us
all_reduce  16 MiB    18000        1        0  2.0             9  isolated, waited 20 ms for rank 1
size: as in nccl-tests   time: mean over iterations
ERROR rank-died: rank 12 on n3 (node 1, pid 5033) was killed by SIGKILL in broadcast at 1 MiB (timing)
ERROR wrong-data: rank 1 received 20 wrong elements, first in all_reduce at 1 MiB
fail: 2 measurements, exit code 130
INCOMPLETE 2 of 4 rows: all_reduce, 1 MiB to 16 MiB; peak busbw 0.920 GB/s at 1 MiB (exit code 3)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1140    0.920", "98.4     1.02"),
        ("18000        1        0  2.0             9", "21000    0.930        0   77            12"),
        (", tail: median 665 us", ""),
        ("peak busbw 0.920 GB/s at 1 MiB", "peak busbw 1.02 GB/s at 16 MiB"),
        ("2 of 2 rows, marked !, could be off by more than \u00b110%\n", ""),
        (", waited 20 ms for rank 1", ""),
        ("pid 5033", "pid 7"),
    ],
)
def test_what_is_measured_may_differ(old: str, new: str) -> None:
    assert old in TABLE
    assert shape(TABLE.replace(old, new)) == shape(TABLE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.920        0", "0.920        7"),
        ("0.920        0", "0.920       17"),
        ("   1140", "      ?"),
        (" 16 MiB    18000", "  8 MiB    18000"),
        ("isolated, tail", "in place, tail"),
        ("2 of 4 rows", "3 of 4 rows"),
        ("code 3)", "code 1)"),
        ("rank-died", "rank-hung"),
        ("rank 12", "rank 13"),
        ("on n3", "on n4"),
        ("in broadcast at 1 MiB", "in broadcast at 2 MiB"),
        ("received 20", "received 21"),
        ("fail: ", "pass: "),
        ("2 measurements", "1 measurement"),
        ("code 130", "code 1"),
        ("size: as in nccl-tests   time: mean over iterations\n", ""),
    ],
)
def test_what_a_reader_relies_on_may_not_differ(old: str, new: str) -> None:
    assert old in TABLE
    assert shape(TABLE.replace(old, new, 1)) != shape(TABLE)


@pytest.mark.parametrize("new", ["0.921", "1.92"])
def test_where_nothing_is_measured_every_figure_stays(new: str) -> None:
    assert shape(TABLE.replace("0.920", new), exact=True) != shape(TABLE, exact=True)
