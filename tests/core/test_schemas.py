"""Schemas by the kind of their documents."""

import json

import pytest

from nccltool.core import schemas
from nccltool.core.errors import BadInput


def test_every_schema_says_of_which_kind_it_is() -> None:
    kinds = [json.loads(schemas.text(name))["properties"]["kind"]["const"] for name in schemas.names()]
    assert kinds == list(schemas.names())


@pytest.mark.parametrize("kind", ["prob", "../core/probe", ""])
def test_a_kind_that_is_not_known(kind: str) -> None:
    with pytest.raises(BadInput) as raised:
        schemas.text(kind)
    assert raised.value.message == f"unknown kind of document {kind!r}"
    assert ("did you mean probe?" in raised.value.remedy) == (kind == "prob")
