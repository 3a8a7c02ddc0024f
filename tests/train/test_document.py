"""A run and its document are the same thing."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.probe.document import to_json
from nccltool.probe.result import Run
from nccltool.train import document as train_document
from tests.samples import RUNS, finding, good_run, info


@pytest.mark.parametrize("sample", RUNS.values(), ids=RUNS.keys())
def test_a_run_survives_its_document(sample: Callable[[], Run]) -> None:
    run = sample()
    assert train_document.from_json(to_json(run).encode(), "x") == run


@given(st.text(), st.lists(st.text()))
def test_any_text_survives(text: str, evidence: list[str]) -> None:
    run = replace(
        good_run(), info=info(command=tuple(evidence)), findings=(finding(message=text, evidence=tuple(evidence)),)
    )
    assert train_document.from_json(to_json(run).encode(), "x") == run


def test_a_document_of_a_later_release_is_read_as_far_as_it_is_known() -> None:
    plain = {**json.loads(to_json(good_run())), "new": [1]}
    plain["run"]["newer"] = {}
    assert train_document.from_json(json.dumps(plain).encode(), "x") == good_run()


def changed(**keys: Any) -> bytes:
    return json.dumps({**json.loads(to_json(good_run())), **keys}).encode()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "Input data was truncated"),
        (b"hello", "JSON is malformed: invalid character (byte 0)"),
        (b"\xff\xfe", "JSON is malformed: invalid character (byte 0)"),
        (b"[" * 10**5, "Expected `object`, got `array`"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "Object missing required field `schema`"),
        (b'{"schema": 1}', "Object missing required field `kind`"),
        (changed(status="splendid"), "Invalid enum value 'splendid' - at `$.status`"),
        (changed(exit_code="0"), "Expected `int`, got `str` - at `$.exit_code`"),
        (changed(measurements=[{}]), "Object missing required field `op` - at `$.measurements[0]`"),
        (changed(run=None), "Expected `object`, got `null` - at `$.run`"),
    ],
)
def test_what_is_not_a_document(text: bytes, problem: str) -> None:
    with pytest.raises(BadInput) as error:
        train_document.from_json(text, "a/run.json")
    assert error.value.message == f"a/run.json is not a run of nccltool: {problem}"
    assert error.value.remedy == "name a run.json, or a run's folder"


def test_a_document_of_another_schema() -> None:
    with pytest.raises(BadInput) as error:
        train_document.from_json(changed(schema=2), "a/run.json")
    assert error.value.message == "a/run.json has schema 2, this nccltool reads 1"
