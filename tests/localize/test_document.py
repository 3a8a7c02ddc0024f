"""The document of a localization: read again, it is the same; what is wrong in it is named."""

import json
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.localize import document
from nccltool.localize.accusations import localized
from nccltool.localize.encounter import Encounter
from nccltool.monitor import run_list
from tests.support import documents
from tests.support.pairs import FOUND_106, OF_106, info

GROUP = Encounter(members=("1", "2", "3"), busbw_bytes_per_s=None, round=2, reason="it hung")


@pytest.mark.parametrize(
    ("kind", "is_within"), [(kind, is_within) for kind in document.KINDS for is_within in (0, 1)]
)
def test_what_is_written_is_read_again(kind: str, is_within: bool, tmp_path: Path) -> None:
    run = localized(
        info("644"),
        (*OF_106, GROUP),
        FOUND_106,
        kind=kind,
        expected_busbw_bytes_per_s=9e10,
        sources=("p.csv",),
        is_within=bool(is_within),
    )
    text = document.to_json(run)
    documents.hold(text)
    (tmp_path / "run.json").write_text(text)
    assert document.load(tmp_path) == run
    assert run_list.load(tmp_path) == run


def test_the_words_are_those_of_the_contract() -> None:
    made = json.loads(document.to_json(localized(info(), OF_106, FOUND_106)))
    assert made["pairs"][0] == {
        "a": "644",
        "b": "699",
        "busbw_bytes_per_s": 49.36e9,
        "round": 0,
        "rail": None,
        "directed": False,
        "reason": None,
    }
    assert made["suspects"][0]["kind"] == "node"
    assert made["suspects"][0]["subject"] == ["644"]
    assert made["undetermined"] == [["284", "678"]]
    assert made["next_tests"][0]["members"] == ["284", "632"]
    assert (made["noise"], made["smallest_visible_fault"]) == (0.013, 0.1)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kind": "probe"}, "is a run of nccltool probe"),
        ({"schema": 2}, "has schema 2"),
        ({"scope": "sure"}, "scope"),
        ({"pairs": [{"a": "1"}]}, "pairs"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], expected: str) -> None:
    made = json.loads(document.to_json(localized(info(), OF_106, FOUND_106)))
    with pytest.raises(BadInput, match=expected):
        document.from_json(json.dumps(made | change).encode(), "run.json")
