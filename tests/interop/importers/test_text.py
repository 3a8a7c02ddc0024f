"""What is refused in screen output, and with which sentence."""

from collections.abc import Callable

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told
from nccltool.interop.importers.base import printed
from tests.interop.importers import samples

GOOD = samples.data("all_reduce-2.19.6.txt").decode()
OLD = samples.data("all_reduce-2.13.txt").decode()
TIMED = samples.data("alltoall-timestamps.txt").decode()
HEADING = next(line for line in GOOD.splitlines() if line.startswith("#       size"))
LAST = next(line for line in GOOD.splitlines() if line.startswith(" 17179869184"))
RANK = next(line for line in GOOD.splitlines() if line.startswith("#  Rank  3"))
COLUMNS = (
    "the columns are in an order that is not known; "
    "expected size count type redop root, then time algbw busbw #wrong for each placement"
)

NOTHING = Told()


def refused(text: str, told: Told = NOTHING) -> str:
    with pytest.raises(BadInput) as raised:
        importers.read(text.encode(), "out.txt", told)
    assert raised.value.exit_code == 2
    assert raised.value.remedy
    return raised.value.message


def changed(old: str, new: str, text: str = GOOD) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "out.txt: it is empty; expected output of nccl-tests"),
        (
            "hello\n",
            "out.txt: there is no table of nccl-tests in it; "
            "expected '# size count type ...' and rows under it",
        ),
        (changed("root     time", "root     tome"), "out.txt, line 16: column 'tome' is not known"),
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
        (changed(RANK + "\n", ""), "out.txt, line 1: the line of rank 3 is missing in its list of devices"),
        (
            changed(RANK, RANK.replace("Rank  3", "Rank  2")),
            "out.txt, line 9: rank 2 is listed twice: outputs of several processes are mixed",
        ),
        (
            changed(RANK, RANK.replace(" device", " gerät")),
            "out.txt, line 9: expected '# Rank R ... on HOST device D [PCI] NAME'",
        ),
        (
            changed("all_reduce_perf", "hypercube_perf"),
            "out.txt: hypercube_perf is not a test of an operation that nccltool knows",
        ),
        (changed("# Out of bounds values : 0 OK\n", ""),
         "out.txt, line 24: expected '# Out of bounds values : ...' before this line"),
        (changed("# Avg bus bandwidth    : 207.095 \n", ""),
         "out.txt, line 28: it ends in the middle of a table of 6 rows; "
         "expected rows, then '# Out of bounds values : ...' and '# Avg bus bandwidth : ...'"),
        (changed(": 207.095", ": x"), "out.txt, line 25: 'x' is not a number"),
        (GOOD.partition(LAST)[0] + GOOD,
         "out.txt, line 23: a test begins before the table of the one before ends: one was stopped, "
         "or outputs are mixed"),
        (GOOD.partition("# Using")[0] + GOOD,
         "out.txt, line 6: a second test begins before the table of the first: one was stopped, "
         "or outputs are mixed"),
        (GOOD + "\n" + LAST + "\n",
         "out.txt, line 31: a row after the footer; expected the headings of a table before it"),
        (OLD, "out.txt: it does not name its operation (nccl-tests before 2.17)"),
        (
            "# bytes             N    type      op     time  algbw  busbw     res\n",
            "out.txt, line 1: the layout of nccl-tests 1; expected that of 2.0 or newer",
        ),
    ],
)  # fmt: skip
def test_refused(text: str, sentence: str) -> None:
    assert refused(text) == sentence


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (Told(op="reduce"), "out.txt: it is a test of all_reduce, --op says reduce"),
        (Told(ranks=9), "out.txt: it lists 8 ranks, --ranks says 9"),
    ],
)
def test_what_is_told_must_not_contradict(told: Told, sentence: str) -> None:
    assert refused(GOOD, told) == sentence


def test_ranks_that_are_not_listed() -> None:
    text = "".join(line for line in GOOD.splitlines(True) if "Rank" not in line)
    assert refused(text) == "out.txt: it does not list its ranks"
    (test,) = importers.read(text.encode(), "out.txt", Told(ranks=8))
    assert (test.world_size, test.hosts) == (8, None)


NOISE = [
    "node-a:41200:41311 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
    "[node-b:41205:0:41205] ucp_worker.c:1855 UCX  WARN  UCP worker does not support thread mode",
    "2026-07-10 09:12:00,123 INFO something else",
    "",
    "#",
    "# Reducing maxBytes to 17179869184 due to memory limitation",
]


@pytest.mark.parametrize("noise", NOISE)
def test_lines_of_others_change_nothing(noise: str) -> None:
    text = "\n".join(f"{line}\n{noise}" if index != 15 else line for index, line in enumerate(GOOD.splitlines()))
    wanted = importers.read(GOOD.encode(), "out.txt", Told())
    found = importers.read((text + "\n").encode(), "out.txt", Told())
    assert [row.halves for row in found[0].rows] == [row.halves for row in wanted[0].rows]
    assert found[0].hosts == wanted[0].hosts


WAYS: list[Callable[[str], str]] = [
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "\ufeff" + text,
    lambda text: "\n\n" + text + "\n\n",
    lambda text: "".join(f"[prterun-node-a-77@1,0]<stdout>: {line}" for line in text.splitlines(True)),
    lambda text: "".join(f" 0: {line}" for line in text.splitlines(True)),
]


@pytest.mark.parametrize("way", WAYS)
def test_ways_of_the_same_text(way: Callable[[str], str]) -> None:
    (wanted,) = importers.read(GOOD.encode(), "out.txt", Told())
    (found,) = importers.read(way(GOOD).encode(), "out.txt", Told())
    assert [row.halves for row in found.rows] == [row.halves for row in wanted.rows]
    assert (found.op, found.world_size, found.average) == (wanted.op, wanted.world_size, wanted.average)


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("0", 0, 0.5),
        ("12.50", 12.5, 0.005),
        ("123.4", 123.4, 0.05),
        ("1.2e+07", 1.2e7, 0.05e7),
        ("2e+10", 2e10, 0.5e10),
        ("7e-05", 7e-5, 0.5e-5),
    ],
)
def test_a_number_and_its_rounding(text: str, value: float, half: float) -> None:
    number = printed(text)
    assert number
    assert (number.value, number.half) == pytest.approx((value, half))


@pytest.mark.parametrize("text", ["", "x", "1,5", "0x10", "1e999", "--1", "1.2.3", "٣", "9" * 40])
def test_no_number(text: str) -> None:
    assert printed(text) is None
