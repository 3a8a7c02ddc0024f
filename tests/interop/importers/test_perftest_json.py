"""perftest's JSON: the unit is found, or the file is refused."""

import json

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Report, Told
from tests.interop.importers import foreign


def read(**results: object) -> Report:
    file = json.loads(foreign.data("perftest-bw.json"))
    file["results"].update(results)
    (test,) = importers.read(json.dumps(file).encode(), "out.json", Told())
    return test


def test_the_unit_is_found_by_the_rate_of_messages() -> None:
    gigabits, mebibytes = read(), read(BW_average=21927.37)
    assert gigabits.rows[0].halves[0].busbw.value == pytest.approx(183.94 / 8)
    assert mebibytes.rows[0].halves[0].busbw.value == pytest.approx(21927.37 * 2**20 / 1e9)


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        ({"MsgRate": 0.0}, "out.json: its unit is not known"),
        ({"BW_average": 3.0}, "out.json: its unit is not known"),
        ({"BW_average": None}, "out.json: its results have neither BW_average nor t_avg"),
        ({"MsgSize": -1}, "out.json: MsgSize -1 is not a size"),
        ({"MsgSize": "x"}, "out.json: not in the format that perftest --out_json writes"),
        ({"BW_average": 1e300}, "out.json: 1e+300 is not a time or a rate"),
    ],
)
def test_refused(results: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        read(**results)
    assert error.value.message.startswith(sentence)
