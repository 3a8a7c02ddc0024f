"""The JSON documents that other programs read (docs/json.md): Run <-> dict."""

from typing import Any

import msgspec

from nccltool.errors import BadInput
from nccltool.model import (
    Assignment,
    Diagnosis,
    Finding,
    Incident,
    Measurement,
    Model,
    Outcome,
    Run,
    RunInfo,
    Status,
    Training,
    Verdict,
)

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
    trainings: tuple[Training, ...] = ()


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
    del plain["trainings"]
    return plain | _of_trainings(run) if run.kind == "train" else plain


_OF_THE_ONLY = (
    *("steps", "oracle", "throughput_samples_per_s", "exposed_communication_ratio"),
    *("scaling_efficiency", "peak_memory_bytes"),
)


def _of_trainings(run: Run) -> dict[str, Any]:
    """The keys of the only training at the top too, where a reader of one looks for them."""
    plain: list[dict[str, Any]] = msgspec.to_builtins(run.trainings)
    only = plain[0] if len(plain) == 1 else {}
    empty: dict[str, Any] = {"steps": [], "peak_memory_bytes": []}
    top = {name: only.get(name, empty.get(name)) for name in _OF_THE_ONLY}
    return {"strategy": only.get("strategy", "all"), **top, "trainings": plain}


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
        trainings=document.trainings,
    )


class _Diagnosis(msgspec.Struct, kw_only=True):
    schema: int
    kind: str
    status: Status
    exit_code: int
    run: RunInfo
    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    settings: tuple[Assignment, ...]
    nccl: str | None


def diagnosis_to_json(diagnosis: Diagnosis) -> str:
    """The document of a diagnosis, as indented JSON."""
    document = _Diagnosis(
        schema=SCHEMA,
        kind="doctor",
        status=diagnosis.verdict.status,
        exit_code=diagnosis.verdict.exit_code,
        run=diagnosis.info,
        findings=diagnosis.findings,
        outcomes=diagnosis.outcomes,
        settings=diagnosis.settings,
        nccl=diagnosis.nccl,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def incident_to_json(incident: Incident) -> str:
    """The document of a triage, as indented JSON."""
    document = {
        "schema": SCHEMA,
        "kind": "triage",
        "status": incident.verdict.status,
        "exit_code": incident.verdict.exit_code,
        "run": incident.info,
        "findings": incident.findings,
        "root_cause": incident.root_cause,
        "confidence": incident.confidence,
        "offender": incident.offender,
        "first_failure": incident.first_failure,
        "candidates": incident.candidates,
        "evidence": incident.evidence,
        "decides": incident.decides,
        "lines_read": incident.lines_read,
        "picture": incident.picture,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
