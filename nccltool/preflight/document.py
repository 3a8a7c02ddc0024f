"""The document of a preflight (docs/json.md)."""

from collections.abc import Iterable
from dataclasses import field, fields, make_dataclass
from typing import Any

from nccltool.core import documents
from nccltool.core.documents import RunDocument
from nccltool.preflight.result import Check, CheckOutcome, HostVerdict, Preflight, StageDuration
from nccltool.probe.result import Measurement
from nccltool.train.result import TrainingResult

_FIELDS = [one for one in fields(CheckOutcome) if one.name != "check"]
OutcomeRow = make_dataclass(
    "OutcomeRow",
    [("code", str), ("rung", str), *((one.name, one.type, field(default=one.default)) for one in _FIELDS)],
    kw_only=True,
)
"""An outcome as it is written: for its check the code of that, and the stage, which the document calls a rung."""


class PreflightDocument(RunDocument, kw_only=True):
    """Of nccltool preflight."""

    suite: str
    outcomes: tuple[OutcomeRow, ...]  # type: ignore[valid-type]
    hosts: tuple[HostVerdict, ...]
    runs: tuple[str, ...]
    duration_s: float
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[TrainingResult, ...] = ()
    folder: str = ""
    would_exit: int | None = None
    stopped_s: float = 0.0
    stage_times: tuple[StageDuration, ...] = ()


_SHARED = [one.name for one in fields(Preflight) if one.name not in ("info", "verdict", "outcomes")]
"""Keys that a Preflight and its document have in common."""


def _of(one: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def to_json(preflight: Preflight) -> str:
    return documents.encoded(
        PreflightDocument(
            schema=documents.SCHEMA,
            kind=preflight.kind,
            status=preflight.verdict.status,
            exit_code=preflight.verdict.exit_code,
            run=preflight.info,
            outcomes=_rows(preflight.outcomes),
            **_of(preflight, _SHARED),
        )
    )


def from_json(text: bytes, where: str) -> Preflight:
    """Read the document of a preflight. Raises BadInput that names `where` and the key that is wrong."""
    document = documents.decoded(text, where, PreflightDocument)
    outcomes = tuple(_outcome(row) for row in document.outcomes)
    return Preflight(info=document.run, verdict=document.verdict, outcomes=outcomes, **_of(document, _SHARED))


def outcomes_to_json(outcomes: Iterable[CheckOutcome]) -> str:
    return documents.encoded(_rows(outcomes)) + "\n"


def _rows(outcomes: Iterable[CheckOutcome]) -> tuple[Any, ...]:
    names = [one.name for one in _FIELDS]
    return tuple(OutcomeRow(code=one.code, rung=one.stage, **_of(one, names)) for one in outcomes)


def _outcome(row: Any) -> CheckOutcome:
    check = Check(stage=row.rung, name=row.code.partition("/")[2])
    return CheckOutcome(check=check, **_of(row, (one.name for one in _FIELDS)))
