"""Headings, units and fields of a table that are not as they are known: the sentence that says so."""

import pytest

from tests.interop.importers import samples
from tests.interop.importers.test_text import LAST, changed, refused

TIMED = samples.data("alltoall-timestamps.txt").decode()
COLUMNS = (
    "unknown order of columns; "
    "expected size count type redop root, then time algbw busbw #wrong for each placement"
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (changed("root     time", "root     tome"), "out.txt, line 16: unknown column 'tome'"),
        (changed(" #wrong \n", " \n"), "out.txt, line 16: columns of one placement are ['time', 'algbw', 'busbw',"
         " '#wrong'], of the other ['time', 'algbw', 'busbw']; expected the same"),
        (changed(" count  ", " type   "), f"out.txt, line 16: {COLUMNS}"),
        (
            changed("out-of-place  ", "              "),
            "out.txt, line 16: 2 columns of times under 1 placements; expected one for each",
        ),
        (
            changed("(us)  (GB/s)", "(ms)  (GB/s)"),
            "out.txt, line 17: expected the units (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s), "
            "found (B) (elements) (ms) (GB/s) (GB/s) (ms) (GB/s) (GB/s)",
        ),
        (changed(LAST, LAST.replace("464.95", "464.9x")), "out.txt, line 23: busbw '464.9x' is not a number"),
        (changed(LAST, LAST.replace("464.95", "-4.95")), "out.txt, line 23: busbw '-4.95' is not a number"),
        (changed("2026-07-10 09:12:30", "2026-07-10", TIMED),
         "out.txt, line 20: the row has no timestamp; expected one, as its heading says"),
    ],
)  # fmt: skip
def test_refused(text: str, sentence: str) -> None:
    assert refused(text) == sentence
