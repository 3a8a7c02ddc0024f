"""The schemas of this folder, strict: a field that they do not name is an error, as for `kubectl apply`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parent
FILES = sorted(file.name for file in FOLDER.glob("*.json"))


def problems(document: dict[str, Any], file: str) -> list[str] | None:
    """What is wrong with an object; None when the file has no schema for its kind."""
    schema = _schema(json.loads((FOLDER / file).read_text()), document)
    if schema is None:
        return None
    errors = Draft202012Validator(_strict(schema)).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in _leaves(errors)]


def _leaves(errors: Any) -> Iterator[Any]:
    for error in errors:
        yield from _leaves(error.context) if error.context else [error]


def _schema(content: dict[str, Any], document: dict[str, Any]) -> dict[str, Any] | None:
    kind, version = document["kind"], document["apiVersion"]
    if "kinds" in content:
        name = content["kinds"].get(kind)
        # Volcano has a Job, too; io.k8s.api.batch.v1.Job is that of batch/v1
        if name is None or f".{version.replace('/', '.')}." not in name:
            return None
        return {"$ref": f"#/definitions/{name}", "definitions": content["definitions"]}
    if (content["kind"], f"{content['group']}/{content['version']}") != (kind, version):
        return None
    schema: dict[str, Any] = content["schema"]
    # of the metadata of a custom resource its schema says nothing: it is that of every object
    kubernetes = json.loads((FOLDER / "kubernetes-1.36.json").read_text())["definitions"]
    schema["properties"]["metadata"] = {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    return {**schema, "definitions": kubernetes}


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: _strict(value) for key, value in schema.items()}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and "type" in schema and not is_open:
        strict["additionalProperties"] = False
    return strict
