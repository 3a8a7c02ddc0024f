"""The JSON document."""

import json

from nccltool.trace.document import to_json
from nccltool.trace.report import report
from tests.trace.samples import built, ranks_of


def test_what_is_in_it() -> None:
    document = json.loads(to_json(report(ranks_of([[30_000.0, 900]] * 8), {}, ())))
    assert (document["kind"], document["late_rank"], document["status"]) == ("trace", 1, "warn")
    assert [one["rank"] for one in document["ranks"]] == [0, 1]
    assert document["arrivals"][0]["last_in"] == [0, 8]


def test_unknown_is_null() -> None:
    (rank,) = json.loads(to_json(report([built()], {}, ())))["ranks"]
    assert (rank["step_s"], rank["use"]["input_s"], rank["use"]["launch_s"]) == (None, None, None)
