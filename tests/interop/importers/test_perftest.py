"""perftest's text: units by name, directions, and what is refused."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told
from tests.interop.importers import foreign

HEADING = " #bytes     #iterations    BW peak[{0}/sec]    BW average[{0}/sec]   MsgRate[Mpps]\n"
TITLE = "                    RDMA_Write BW Test\n"


@pytest.mark.parametrize(
    ("unit", "rate"),
    [("Gb", 12.5), ("MiB", 100 * 2**20 / 1e9), ("MB", 100 * 2**20 / 1e9)],
)
def test_units(unit: str, rate: float) -> None:
    text = TITLE + HEADING.format(unit) + f" 65536  1000  101.00  100.00  {rate / 65536 * 1e3:.6f}\n"
    (test,) = importers.read(text.encode(), "out.txt", Told())
    assert test.rows[0].halves[0].busbw.value == pytest.approx(rate)


def test_both_directions_are_halved_and_round_trips_are_left_out() -> None:
    (test,) = foreign.read("perftest-both-ways-old.txt")
    assert test.rows[0].halves[0].busbw.value == pytest.approx(45990.20 * 2**20 / 1e9 / 2)
    assert [finding.code for finding in test.found] == ["import-another-test", "left-out"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEADING.format("Gb") + " 8 1 1.0 1.0 1.0\n", "out.txt, line 1: the title of its test is missing"),
        (TITLE + HEADING.format("Gb"), "out.txt: it has no results (RDMA_Write BW Test)"),
        (TITLE + " #bytes  #iterations  colour\n 8 1 1\n", "out.txt, line 2: unknown column 'colour' of perftest"),
    ],
)
def test_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        importers.read(text.encode(), "out.txt", Told())
    assert error.value.message.startswith(sentence)


def test_a_torn_row_is_a_finding() -> None:
    text = TITLE + HEADING.format("Gb") + " 8  1000  1.0  1.0  0.015625\n 16  10\n"
    (test,) = importers.read(text.encode(), "out.txt", Told())
    assert [row.bytes for row in test.rows] == [8]
    assert [finding.evidence for finding in test.found if finding.code == "import-rows-missing"] == [
        ("line 4: 16  10",)
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("65536 1000 98.10 98.04 0.186996", None),
        (
            "65536 1000 98.10 49.02 0.186996",
            "line 3, 65536 B: BW average is 6.128 GB/s, but MsgRate 0.186996 Mpps",
        ),
        ("2 1000 0.05 0.05 3.125000", None),
    ],
)
def test_a_rate_is_its_messages_times_their_size(row: str, problem: str | None) -> None:
    (test,) = importers.read((TITLE + HEADING.format("Gb") + f" {row}\n").encode(), "out.txt", Told())
    found = [finding.message for finding in test.found if finding.code == "import-inconsistent"]
    assert [problem in message for message in found] == [True] if problem else found == []
