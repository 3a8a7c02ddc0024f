"""Documents: what is read of them, and what is none."""

import json
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.probe.document import to_json
from nccltool.train import document as train_document
from tests.samples import good_run


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
    assert error.value.remedy == "name a run.json or a run's folder"


def test_a_document_of_another_schema() -> None:
    with pytest.raises(BadInput) as error:
        train_document.from_json(changed(schema=2), "a/run.json")
    assert error.value.message == "a/run.json has schema 2, but this nccltool reads 1"
