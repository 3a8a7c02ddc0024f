"""The JSON documents that other programs read (docs/json.md): Run <-> dict."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding
from nccltool.core.run_info import RunInfo
from nccltool.core.verdicts import Status, Verdict
from nccltool.preflight.result import HostVerdict, Judged, Preflight
from nccltool.probe.result import LatencyModel, Measurement, Run
from nccltool.train.result import Restart, Training

SCHEMA = 1


class _Document(msgspec.Struct, kw_only=True):
    schema: int
    kind: str
    status: Status
    exit_code: int
    run: RunInfo
    findings: tuple[Finding, ...]
    measurements: tuple[Measurement, ...]
    models: tuple[LatencyModel, ...] = ()
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


def outcomes_to_json(outcomes: Sequence[Judged]) -> str:
    """Outcomes alone, as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(outcomes), indent=2).decode() + "\n"
