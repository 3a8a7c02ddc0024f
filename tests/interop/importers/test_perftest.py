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
    text = TITLE + HEADING.format(unit) + " 65536  1000  101.00  100.00  1.0\n"
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
    text = TITLE + HEADING.format("Gb") + " 8  1000  1.0  1.0  1.0\n 16  10\n"
    (test,) = importers.read(text.encode(), "out.txt", Told())
    assert [row.bytes for row in test.rows] == [8]
    assert [finding.evidence for finding in test.found if finding.code == "import-rows-missing"] == [
        ("line 4: 16  10",)
    ]
