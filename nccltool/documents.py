"""The JSON documents that other programs read (docs/json.md): Run <-> dict."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec

from nccltool.errors import BadInput
from nccltool.model import (
    Assignment,
    Baseline,
    BaselineRow,
    Comparison,
    Diagnosis,
    Finding,
    HostVerdict,
    Incident,
    Judged,
    Measurement,
    Model,
    Outcome,
    Preflight,
    Restart,
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
    restarts: tuple[Restart, ...] = ()


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
    del plain["trainings"], plain["restarts"]
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
    restarts = msgspec.to_builtins(run.restarts)
    return {"strategy": only.get("strategy", "all"), **top, "trainings": plain, "restarts": restarts}


def to_json(run: Run) -> str:
    """The document of a run, as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(to_document(run)), indent=2).decode()


def from_json(text: bytes, where: str) -> Run:
    """Read a document. Raises BadInput that names `where` and the key that is wrong."""
    document = _decoded(text, where, _Document)
    return Run(
        kind=document.kind,
        info=document.run,
        verdict=Verdict(status=document.status, exit_code=document.exit_code),
        measurements=document.measurements,
        findings=document.findings,
        models=document.models,
        trainings=document.trainings,
        restarts=document.restarts,
    )


class _Preflight(msgspec.Struct, kw_only=True):
    schema: int
    kind: str
    status: Status
    exit_code: int
    run: RunInfo
    findings: tuple[Finding, ...]
    suite: str
    outcomes: tuple[Judged, ...]
    hosts: tuple[HostVerdict, ...]
    runs: tuple[str, ...]
    duration_s: float
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[Training, ...] = ()
    folder: str = ""
    would_exit: int | None = None


def preflight_to_json(preflight: Preflight) -> str:
    """The document of a preflight, as indented JSON."""
    document = _Preflight(
        schema=SCHEMA,
        kind="preflight",
        status=preflight.verdict.status,
        exit_code=preflight.verdict.exit_code,
        run=preflight.info,
        **{name: getattr(preflight, name) for name in _OF_PREFLIGHT},
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def preflight_from_json(text: bytes, where: str) -> Preflight:
    """Read the document of a preflight. Raises BadInput that names `where` and the key that is wrong."""
    document = _decoded(text, where, _Preflight)
    return Preflight(
        info=document.run,
        verdict=Verdict(status=document.status, exit_code=document.exit_code),
        **{name: getattr(document, name) for name in _OF_PREFLIGHT},
    )


_OF_PREFLIGHT = (
    *("suite", "outcomes", "hosts", "findings", "runs", "duration_s"),
    *("measurements", "trainings", "folder", "would_exit"),
)
"""Keys that a Preflight and its document have in common."""


class _Kind(msgspec.Struct):
    kind: str


def any_from_json(text: bytes, where: str) -> Run | Preflight:
    """Read the document of a run of any command that keeps one. Raises BadInput."""
    if _decoded(text, where, _Kind).kind == "preflight":
        return preflight_from_json(text, where)
    return from_json(text, where)


Document = TypeVar("Document", _Document, _Preflight, _Kind)


def _decoded(text: bytes, where: str, form: type[Document]) -> Document:
    try:
        document = msgspec.json.decode(text, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"{where} is not a run of nccltool: {error}", "name a run.json, or a run's folder"
        ) from error
    schema = getattr(document, "schema", SCHEMA)
    if schema != SCHEMA:
        raise BadInput(f"{where} has schema {schema}, this nccltool reads {SCHEMA}", "use its own version")
    return document


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


def outcomes_to_json(outcomes: Sequence[Judged]) -> str:
    """Outcomes alone, as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(outcomes), indent=2).decode() + "\n"


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


def comparison_to_json(comparison: Comparison) -> str:
    """The document of a comparison, as indented JSON."""
    plain: dict[str, Any] = msgspec.to_builtins(comparison)
    verdict = plain.pop("verdict")
    document = {"schema": SCHEMA, "kind": "compare", **verdict, "run": plain.pop("info"), **plain}
    for side in (document["a"], document["b"]):
        for run in side["runs"]:
            del run["rows"], run["left_out"]
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


class _Baseline(msgspec.Struct, kw_only=True):
    schema: int
    kind: Literal["baseline"]
    baseline: Baseline


def baseline_to_json(baseline: Baseline, expected: Sequence[BaselineRow]) -> str:
    """The document of a baseline, as indented JSON; `expected` is worked out of its runs."""
    document = {"schema": SCHEMA, "kind": "baseline", "baseline": baseline, "expected": expected}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def baselines_to_json(baselines: Sequence[Baseline]) -> str:
    """The document of a list of baselines, as indented JSON."""
    listed = [
        {
            "name": baseline.name,
            "created": baseline.created,
            "changed": baseline.changed,
            "note": baseline.note,
            "runs": len(baseline.runs),
            "circumstances": baseline.runs[0].circumstances,
        }
        for baseline in baselines
    ]
    document = {"schema": SCHEMA, "kind": "baselines", "baselines": listed}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def baseline_from_json(text: bytes, where: str) -> Baseline:
    """Read the document of a baseline. Raises BadInput that names `where` and the key that is wrong."""
    try:
        document = msgspec.json.decode(text, type=_Baseline)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"{where} is not a baseline of nccltool: {error}", "nccltool baseline export NAME writes one"
        ) from error
    if document.schema != SCHEMA:
        raise BadInput(
            f"{where} has schema {document.schema}, this nccltool reads {SCHEMA}", "use its own version"
        )
    return document.baseline
