"""The JSON of rccl-tests: what is read, and what is refused."""

import json

import pytest

from tests.interop.importers import samples
from tests.interop.importers.test_nccl_json import change, refused


def test_rccl() -> None:
    (test,) = samples.read("rccl-reporter.json")
    assert (test.op, test.world_size, test.hosts) == ("all_reduce", 8, None)
    assert [half.wrong for row in test.rows[:2] for half in row.halves] == [None, 0]


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (
            "2.name",
            "AllGather",
            "out.json, record 3: this record is from a different test than the first; expected one test per file",
        ),
        (
            "2.redop",
            "plus",
            "out.json, record 3: expected a reduction (sum prod max min avg mulsum none), found plus",
        ),
        ("2.wrong", "some", "out.json, record 3: wrong 'some' is not a count of elements"),
        (
            "0.name",
            "Bogus",
            "out.json, record 2: this record is from a different test than the first; expected one test per file",
        ),
        (
            "0.colour",
            "red",
            "out.json, record 1: not in the format that rccl-tests writes: Object contains unknown field `colour`",
        ),
    ],
)
def test_rccl_refused(path: str, value: object, sentence: str) -> None:
    file = json.loads(samples.data("rccl-reporter.json"))
    change(path, value)(file)
    assert refused(json.dumps(file)) == sentence
