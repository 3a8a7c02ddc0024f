"""The CSV of rccl-tests: headings of all versions, and rows that are torn."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told
from tests.interop.importers import foreign

TEXT = foreign.data("rccl.csv").decode()
ONE = '0,"AllReduce",8,1048576,"float","sum",1,60.5,17.3318,30.3307,"{wrong}"\n'
ONE_HEADING = "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n"


@pytest.mark.parametrize(
    "text", [TEXT, TEXT.replace(",nodes", "", 1), TEXT.replace("\n", "\r\n"), ONE_HEADING + ONE.format(wrong="0")]
)
def test_headings(text: str) -> None:
    (test,) = importers.read(text.encode(), "out.csv", Told())
    assert (test.op, test.world_size, test.rows[0].bytes) == ("all_reduce", 8, 2**20)


@pytest.mark.parametrize(("wrong", "elements"), [("3", 3), ("N/A", None), ("0", 0)])
def test_wrong_elements(wrong: str, elements: int | None) -> None:
    (test,) = importers.read((ONE_HEADING + ONE.format(wrong=wrong)).encode(), "out.csv", Told())
    assert test.rows[0].halves[0].wrong == elements


def test_a_torn_row_is_a_finding() -> None:
    (test,) = importers.read((TEXT + '0,"AllReduce",1,8\n').encode(), "out.csv", Told())
    assert len(test.rows) == 6
    assert [finding.evidence for finding in test.found] == [('line 8: 0,"AllReduce",1,8',)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ONE_HEADING, "out.csv: it contains no results"),
        ("numCycle,collective,colour\n", "out.csv, line 1: the columns are not those of rccl-tests"),
        (ONE_HEADING.strip(), "out.csv: it ends inside its heading"),
    ],
)
def test_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        importers.read(text.encode(), "out.csv", Told())
    assert error.value.message.startswith(sentence)
