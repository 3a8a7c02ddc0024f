"""JSON Schemas of documents, made of their types; a test compares the files in nccltool/schemas with these."""

import json
from typing import Any

import msgspec

from nccltool.api.document_types import DOCUMENTS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind. Keys that it does not name are allowed: releases may add some."""
    (made,), parts = msgspec.json.schema_components([DOCUMENTS[kind]], ref_template="#/$defs/{name}")
    top = parts.pop(DOCUMENTS[kind].__name__)
    assert made == {"$ref": f"#/$defs/{DOCUMENTS[kind].__name__}"}
    properties = _without_text(top["properties"]) | {"schema": {"const": 1}, "kind": {"const": kind}}
    required = list(dict.fromkeys(("schema", "kind", *top.get("required", ()))))
    return {
        "$schema": DIALECT,
        "title": f"nccltool {kind}",
        "type": "object",
        "required": required,
        "properties": properties,
        "$defs": {name: _without_text(part) for name, part in sorted(parts.items())},
    }


def _without_text(part: Any) -> Any:
    """A part of a schema without the docstrings of types, which are for those who work on nccltool."""
    if isinstance(part, list):
        return [_without_text(one) for one in part]
    if not isinstance(part, dict):
        return part
    is_object = part.get("type") == "object"
    kept = {key: one for key, one in part.items() if not (key == "description" and (is_object or "enum" in part))}
    return {key: _without_text(one) for key, one in kept.items()}


def text_of(kind: str) -> str:
    """The file of a kind."""
    return json.dumps(schema_of(kind), indent=2) + "\n"
