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
        (changed(LAST, LAST[:-9]), "out.txt, line 23: the row has 12 fields; expected 13, as its heading says"),
        (changed(LAST, LAST + " 9"), "out.txt, line 23: the row has 14 fields; expected 13, as its heading says"),
        (changed(LAST, LAST.replace("464.95", "464.9x")), "out.txt, line 23: busbw '464.9x' is not a number"),
        (changed(LAST, LAST.replace("464.95", "-4.95")), "out.txt, line 23: busbw '-4.95' is not a number"),
        (changed(LAST, LAST.replace("4294967296", "4294967.96")),
         "out.txt, line 23: count '4294967.96' is not a whole number"),
        (
            changed(LAST, LAST.replace("float", "floot")),
            "out.txt, line 23: 'floot' is not an element type; expected one of int8, char, uint8, int32, int, "
            "uint32, int64, uint64, half, float, double, bfloat16, f8e4m3, f8e5m2, fp8_e4m3, fp8_e5m2",
        ),
        (changed("2026-07-10 09:12:30", "2026-07-10", TIMED),
         "out.txt, line 20: the row has no timestamp; expected one, as its heading says"),
    ],
)  # fmt: skip
def test_refused(text: str, sentence: str) -> None:
    assert refused(text) == sentence
