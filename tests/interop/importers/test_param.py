"""PARAM: columns, ranks, and rows that nccltool has no operation for."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told, checks
from tests.interop.importers import foreign

ROW = "\tCOMMS-RES-{op}-float32   1048576  262144  52.3  52.8  53.3  51.3  53.9  20.049  {bus}  0.0\n"


def test_a_round_trip_is_halved_and_both_directions_are_shared() -> None:
    there_and_back, exchange = foreign.read("param-pairs.txt")
    assert there_and_back.rows[0].halves[0].time.value == pytest.approx(380.2 / 2)
    assert exchange.rows[0].halves[0].busbw.value == pytest.approx(88.950 / 2)


def test_a_bandwidth_that_does_not_fit_the_ranks_is_found() -> None:
    text = ROW.format(op="all_reduce", bus="35.086").encode()
    codes = []
    for ranks in (8, 4):
        (test,) = importers.read(text, "out.txt", Told(ranks=ranks))
        codes.append([finding.code for finding in checks.findings(test, Told(ranks=ranks))])
    assert codes == [[], ["import-inconsistent"]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ROW.format(op="all_reduce", bus="35.086"), "out.txt: it does not list its ranks"),
        (ROW.format(op="all_to_allv", bus="17.5"), "out.txt: PARAM's output has all_to_allv, and no operation"),
        ("\tCOMMS-RES-all_reduce-float32 10\n", "out.txt: PARAM's output has no results"),
    ],
)
def test_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        importers.read(text.encode(), "out.txt", Told())
    assert error.value.message.startswith(sentence)


def test_a_torn_row_is_a_finding() -> None:
    text = ROW.format(op="all_reduce", bus="35.086") + "\tCOMMS-RES-all_reduce-float32  2097152  524288  61.4\n"
    (test,) = importers.read(text.encode(), "out.txt", Told(ranks=8))
    assert [len(test.rows), [finding.code for finding in test.found]] == [1, ["import-rows-missing"]]
