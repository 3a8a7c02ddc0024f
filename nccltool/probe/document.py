"""The document of a measurement (docs/json.md)."""

from nccltool.core import documents
from nccltool.core.documents import RunDocument
from nccltool.probe.result import LatencyModel, Measurement, Run


class ProbeDocument(RunDocument, kw_only=True):
    """What was measured, after the circumstances and the verdict."""

    measurements: tuple[Measurement, ...]
    models: tuple[LatencyModel, ...] = ()


def document_of(run: Run) -> ProbeDocument:
    return ProbeDocument(
        schema=documents.SCHEMA,
        kind=run.kind,
        status=run.verdict.status,
        exit_code=run.verdict.exit_code,
        run=run.info,
        findings=run.findings,
        measurements=run.measurements,
        models=run.models,
    )


def to_json(run: Run) -> str:
    return documents.encoded(document_of(run))
