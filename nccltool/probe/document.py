"""The document of a measurement (docs/json.md)."""

from nccltool.core import documents
from nccltool.core.documents import RunDocument
from nccltool.probe import group_summary
from nccltool.probe.group_summary import GroupInterference, SlowestGroup
from nccltool.probe.result import LatencyModel, Measurement, Run
from nccltool.probe.split import SplitGroup


class ProbeDocument(RunDocument, kw_only=True):
    """What was measured, after the circumstances and the verdict."""

    measurements: tuple[Measurement, ...]
    models: tuple[LatencyModel, ...] = ()
    groups: tuple[SplitGroup, ...] = ()
    slowest_groups: tuple[SlowestGroup, ...] = ()
    interference: tuple[GroupInterference, ...] = ()


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
        groups=run.groups,
        slowest_groups=group_summary.slowest(run.measurements, run.groups),
        interference=group_summary.interference(run.measurements),
    )


def to_json(run: Run) -> str:
    return documents.encoded(document_of(run))
