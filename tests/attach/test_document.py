"""The JSON document."""

import msgspec

from nccltool.attach import document, report
from tests.attach.seen.looks import hung


def test_the_contract_is_kept() -> None:
    found = msgspec.json.decode(document.to_json(report.report(hung(), ("nccltool", "attach"))))
    assert (found["kind"], found["state"], found["status"], found["exit_code"]) == ("attach", "hung", "fail", 1)
    assert [(rank["rank"], rank["phase"], rank["since_s"] > 100) for rank in found["ranks"]] == [
        (0, "collective", True),
        (1, "sleeping", True),
        (2, "collective", True),
    ]
    assert [(wait["rank"], wait["operation"], wait["for"]) for wait in found["waits"]] == [
        (0, "all_reduce", [1]),
        (2, "all_reduce", [1]),
    ]
    (culprit,) = found["culprits"]
    assert (culprit["rank"], culprit["cause"], 0 < culprit["confidence"] < 1) == (1, "own-code", True)
    assert found["unread"] == []
    assert [(host["host"], host["ranks"], host["samples"]) for host in found["hosts"]] == [("n1", 3, 2)]
