"""The document of a preflight (docs/json.md)."""

from collections.abc import Sequence

from nccltool.core import documents
from nccltool.core.documents import RunDocument
from nccltool.preflight.result import HostVerdict, Judged, Preflight
from nccltool.probe.result import Measurement
from nccltool.train.result import Training


class _PreflightDocument(RunDocument, kw_only=True):
    suite: str
    outcomes: tuple[Judged, ...]
    hosts: tuple[HostVerdict, ...]
    runs: tuple[str, ...]
    duration_s: float
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[Training, ...] = ()
    folder: str = ""
    would_exit: int | None = None


_SHARED = (
    *("suite", "outcomes", "hosts", "findings", "runs", "duration_s"),
    *("measurements", "trainings", "folder", "would_exit"),
)
"""Keys that a Preflight and its document have in common."""


def to_json(preflight: Preflight) -> str:
    """The document of a preflight, as indented JSON."""
    return documents.encoded(
        _PreflightDocument(
            schema=documents.SCHEMA,
            kind="preflight",
            status=preflight.verdict.status,
            exit_code=preflight.verdict.exit_code,
            run=preflight.info,
            **{name: getattr(preflight, name) for name in _SHARED},
        )
    )


def from_json(text: bytes, where: str) -> Preflight:
    """Read the document of a preflight. Raises BadInput that names `where` and the key that is wrong."""
    document = documents.decoded(text, where, _PreflightDocument)
    shared = {name: getattr(document, name) for name in _SHARED}
    return Preflight(info=document.run, verdict=document.verdict, **shared)


def outcomes_to_json(outcomes: Sequence[Judged]) -> str:
    """Outcomes alone, as indented JSON."""
    return documents.encoded(outcomes) + "\n"
