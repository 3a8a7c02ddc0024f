"""Every document that a test makes, held against the schema of its kind; keys that no schema names are wrong."""

import json
from collections import Counter
from functools import cache
from typing import Any

import msgspec
from jsonschema import Draft202012Validator

from nccltool.core import schemas

_MOST = 40
"""Documents of a kind that are looked at key by key; the others as types, which takes a hundredth of the time."""
_seen: Counter[str] = Counter()


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(_closed(json.loads(schemas.text(kind))))


def _closed(part: Any) -> Any:
    """A schema under which an object has no other keys than those it names."""
    if isinstance(part, list):
        return [_closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _closed(one) for key, one in part.items()}
    if part.get("type") == "object" and isinstance(part.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


def problems(document: dict[str, Any]) -> list[str]:
    """What is wrong with a document."""
    errors = validator(document["kind"]).iter_errors(document)
    return [f"{document['kind']}{error.json_path[1:]}: {error.message[:300]}" for error in errors]


def hold(text: str) -> None:
    """A document, where the text is one. Raises AssertionError."""
    from nccltool.api.document_types import DOCUMENTS

    document = json.loads(text)
    if not isinstance(document, dict) or not document.keys() >= {"schema", "kind"} or document["kind"] == "facts":
        return  # facts are held by their own tests: some make ten thousand
    kind = document["kind"]
    assert kind in DOCUMENTS, f"documents of kind {kind} have no schema"
    _seen[kind] += 1
    if _seen[kind] <= _MOST:
        assert problems(document) == []
    else:
        msgspec.convert(document, DOCUMENTS[kind])
