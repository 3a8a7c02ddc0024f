"""Pairs from text: what people write is read, what is not clear is refused with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.interop.pair_inputs import csv_rows
from nccltool.localize.encounter import Encounter
from tests.support.pairs import ISSUE_106, OF_106, met


def _read(text: str) -> tuple[Encounter, ...]:
    return csv_rows.read(text, "p.csv").encounters


@pytest.mark.parametrize(
    "text", [ISSUE_106, ISSUE_106.partition("\n")[2], "# from a user\n\n" + ISSUE_106 + "\r\n"]
)
def test_issue_106(text: str) -> None:
    assert _read(text) == OF_106


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n1,n2,3", met("n1", "n2", 3)),
        (" n1 ,\tn2 , 3 ", None),
        ("n1 n2 3", met("n1", "n2", 3)),
        ("n1 n2 3 GB/s", met("n1", "n2", 3)),
        ("n1\tn2\t3GB/s", met("n1", "n2", 3)),
        ("n1;n2;3,5", met("n1", "n2", 3.5)),
        ("n1,n2,24Gb/s", met("n1", "n2", 3)),
        ("n1,n2,24 Gbit/s", met("n1", "n2", 3)),
        ("n1,n2,3000MB/s", met("n1", "n2", 3)),
        ('"n1","n2","3"', met("n1", "n2", 3)),
        ("n1,n2,3e0,4,mlx5_1", met("n1", "n2", 3, 4, rail="mlx5_1")),
        ("host1,host2,bandwidth (Gbps)\nn1,n2,24", met("n1", "n2", 3)),
        ("Node A;Node B;BusBW [GB/s]\nn1;n2;3", met("n1", "n2", 3)),
        ("a,b,busbw_gb_s\nn1,n2,3", met("n1", "n2", 3)),
        ("time,b,a,bw_GBps,note\n1,n2,n1,3,fine", met("n1", "n2", 3)),
        ("busbw_bytes_per_s,a,b,round\n3e9,n1,n2,2", met("n1", "n2", 3, 2)),
        ("from,to,bw\nn1,n2,3", met("n1", "n2", 3, is_directed=True)),
        ("n1,n2,timeout", met("n1", "n2", None, reason="timeout")),
        ("n1,n2,NaN", met("n1", "n2", None, reason="NaN")),
        ("n1,n2,", met("n1", "n2", None, reason="no value")),
        ("n1,n2,0", met("n1", "n2", None, reason="bandwidth 0")),
        ("a,b,busbw,error\nn1,n2,,it hung", met("n1", "n2", None, reason="it hung")),
        ("\u4e3b1,\u4e3b2,3", met("\u4e3b1", "\u4e3b2", 3)),
    ],
)
def test_what_people_write(text: str, expected: Encounter | None) -> None:
    assert _read(text) == ((expected or met("n1", "n2", 3)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.csv: it is empty"),
        ("# nothing\n\n", "p.csv: it is empty"),
        ("a,b,busbw\n", "p.csv: no row below its heading"),
        ("hello", "p.csv, line 1: expected a,b,busbw, found hello"),
        ("a,b,speed\nn1,n2,3", "p.csv, line 1: its columns are a, b, speed; expected a, b, busbw"),
        ("a,b,bw_gbps\nn1,n2,3", "p.csv, line 1: the unit gbps could be bytes or bits"),
        ("a,b,bw (furlongs)\nn1,n2,3", "p.csv, line 1: furlongs is not a unit of bandwidth"),
        ("n1,n2,3\nn1,n2,many", "p.csv, line 2: 'many' is not a bandwidth"),
        ("n1,n2,3\nn1,n2", "p.csv, line 2: expected 3 columns, found 2"),
        ("n1,n2,3,x", "p.csv, line 1: 'x' is not the number of a round"),
        ("n1,n2,-3", "p.csv, line 1: the bandwidth -3 is negative"),
        ("n1,n2,1e999", "p.csv, line 1: the bandwidth 1e999 is too large"),
        ("n1,n1,3", "p.csv, line 1: n1 is paired with itself"),
        (",n1,3", "p.csv, line 1: the name of a node is empty"),
        (f"{'n' * 300},n1,3", "p.csv, line 1: the name of a node is too long"),
        ("n1,n2,3\0", "p.csv: it is not UTF-8 text"),
        ("n1,n2,3,1,2,3,4", "p.csv, line 1: expected a,b,busbw, found n1,n2,3,1,2,3,4"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        _read(text)
    assert caught.value.message.startswith(message)
    assert caught.value.remedy


def test_identical_rows_count_once() -> None:
    found = csv_rows.read("n1,n2,3\nn2,n1,3\nn1,n2,3\nn1,n2,4\n", "p.csv")
    assert (len(found.encounters), found.notes) == (2, ("p.csv: 2 identical rows counted once",))


def test_a_million_rows_are_too_many_only_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "MOST", 10)
    rows = [f"n{number},m{number},3" for number in range(11)]
    assert len(_read("\n".join(rows[:10]))) == 10
    with pytest.raises(BadInput, match="more than 10 rows"):
        _read("\n".join(rows))


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = _read(text)
    except BadInput as error:
        assert error.message.startswith("p.csv")
        return
    for one in found:
        assert len(set(one.members)) == 2
        assert one.busbw_bytes_per_s is None or 0 < one.busbw_bytes_per_s <= 1e18


_NAMES = st.from_regex(r"[a-z][a-z0-9.-]{0,12}", fullmatch=True)


@given(
    st.lists(st.tuples(_NAMES, _NAMES, st.floats(0.001, 1e4)).filter(lambda row: row[0] != row[1]), min_size=1),
    st.sampled_from([",", ";", "\t", " ", " , "]),
)
def test_rows_come_back(rows: list[tuple[str, str, float]], between: str) -> None:
    text = "\n".join(["a,b,busbw".replace(",", between), *(between.join(map(str, row)) for row in rows)])
    unique = {(frozenset(row[:2]), row[2]) for row in rows}
    found = {(frozenset(one.members), one.busbw_bytes_per_s) for one in _read(text)}
    assert found == {(names, rate * 1e9) for names, rate in unique}


def test_a_cell_that_no_quotes_can_hold_is_no_traceback() -> None:
    with pytest.raises(BadInput):
        csv_rows.read('a,b,busbw\nn1,"' + "x" * 200_000 + ",3\n", "p.csv")
