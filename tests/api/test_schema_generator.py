"""The schemas that the package ships are those of its types."""

import json
import os

import pytest
from jsonschema import Draft202012Validator

from nccltool.api import schema_generator
from nccltool.api.document_types import DOCUMENTS
from nccltool.core import schemas


def test_there_is_one_for_every_kind() -> None:
    if not os.environ.get("UPDATE_GOLDEN"):
        assert schemas.names() == tuple(sorted(DOCUMENTS))


@pytest.mark.parametrize("kind", sorted(DOCUMENTS))
def test_the_file_is_made_of_the_type(kind: str) -> None:
    """UPDATE_GOLDEN=1 writes it: a key that goes, or becomes another type, would break its readers."""
    if os.environ.get("UPDATE_GOLDEN"):
        schemas.file(kind).write_text(schema_generator.text_of(kind))
    text = schemas.text(kind)
    assert text == schema_generator.text_of(kind)
    Draft202012Validator.check_schema(json.loads(text))
