"""The document of a preflight (docs/json.md)."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from nccltool.core import documents
from nccltool.core.documents import RunDocument
from nccltool.core.findings import CheckStatus, Finding
from nccltool.preflight.check import Check
from nccltool.preflight.result import Blame, CheckOutcome, HostVerdict, Preflight
from nccltool.probe.result import Measurement
from nccltool.train.result import TrainingResult


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeRow:
    """An outcome as it is written: the code of its check and the stage, which the document calls a rung."""

    code: str
    rung: str
    host: str | None
    status: CheckStatus
    measured: float | None = None
    expected: str = ""
    unit: str = ""
    source: str = ""
    reason: str = ""
    page: str = ""
    findings: tuple[Finding, ...] = ()
    evidence: str = ""
    shown: Blame = ""
    hosts: tuple[str, ...] = ()
    repeat: str = ""
    required: bool = True


class _PreflightDocument(RunDocument, kw_only=True):
    suite: str
    outcomes: tuple[OutcomeRow, ...]
    hosts: tuple[HostVerdict, ...]
    runs: tuple[str, ...]
    duration_s: float
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[TrainingResult, ...] = ()
    folder: str = ""
    would_exit: int | None = None


_SHARED = (
    *("suite", "hosts", "findings", "runs", "duration_s"),
    *("measurements", "trainings", "folder", "would_exit"),
)
"""Keys that a Preflight and its document have in common."""
_SHARED_BY_OUTCOMES = tuple(one.name for one in fields(CheckOutcome) if one.name != "check")


def _of(one: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def to_json(preflight: Preflight) -> str:
    """The document of a preflight, as indented JSON."""
    return documents.encoded(
        _PreflightDocument(
            schema=documents.SCHEMA,
            kind="preflight",
            status=preflight.verdict.status,
            exit_code=preflight.verdict.exit_code,
            run=preflight.info,
            outcomes=_rows(preflight.outcomes),
            **_of(preflight, _SHARED),
        )
    )


def from_json(text: bytes, where: str) -> Preflight:
    """Read the document of a preflight. Raises BadInput that names `where` and the key that is wrong."""
    document = documents.decoded(text, where, _PreflightDocument)
    outcomes = tuple(CheckOutcome(check=_check(row), **_of(row, _SHARED_BY_OUTCOMES)) for row in document.outcomes)
    return Preflight(info=document.run, verdict=document.verdict, outcomes=outcomes, **_of(document, _SHARED))


def outcomes_to_json(outcomes: Iterable[CheckOutcome]) -> str:
    """Outcomes alone, as indented JSON."""
    return documents.encoded(_rows(outcomes)) + "\n"


def _rows(outcomes: Iterable[CheckOutcome]) -> tuple[OutcomeRow, ...]:
    return tuple(OutcomeRow(code=one.code, rung=one.stage, **_of(one, _SHARED_BY_OUTCOMES)) for one in outcomes)


def _check(row: OutcomeRow) -> Check:
    return Check(stage=row.rung, name=row.code.partition("/")[2])
