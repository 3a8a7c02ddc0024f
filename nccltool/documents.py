"""The JSON documents that other programs read (docs/json.md): Run <-> dict."""

from typing import Any

import msgspec

from nccltool.errors import BadInput
from nccltool.model import Finding, Measurement, Model, Run, RunInfo, Status, Verdict

SCHEMA = 1


class _Document(msgspec.Struct, kw_only=True):
    schema: int
    kind: str
    status: Status
    exit_code: int
    run: RunInfo
    findings: tuple[Finding, ...]
    measurements: tuple[Measurement, ...]
    models: tuple[Model, ...] = ()


def to_document(run: Run) -> dict[str, Any]:
    """The document of a run, as plain data."""
    document = _Document(
        schema=SCHEMA,
        kind=run.kind,
        status=run.verdict.status,
        exit_code=run.verdict.exit_code,
        run=run.info,
        findings=run.findings,
        measurements=run.measurements,
        models=run.models,
    )
    plain: dict[str, Any] = msgspec.to_builtins(document)
    return plain


def to_json(run: Run) -> str:
    """The document of a run, as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(to_document(run)), indent=2).decode()


def from_json(text: bytes, where: str) -> Run:
    """Read a document. Raises BadInput that names `where` and the key that is wrong."""
    try:
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"{where} is not a run of nccltool: {error}", "name a run.json, or a run's folder"
        ) from error
    if document.schema != SCHEMA:
        raise BadInput(
            f"{where} has schema {document.schema}, this nccltool reads {SCHEMA}", "use its own version"
        )
    return Run(
        kind=document.kind,
        info=document.run,
        verdict=Verdict(status=document.status, exit_code=document.exit_code),
        measurements=document.measurements,
        findings=document.findings,
        models=document.models,
    )
