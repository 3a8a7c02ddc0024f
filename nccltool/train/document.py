"""The document of smoke training runs (docs/json.md), which has the keys of a measurement's too."""

from pathlib import Path
from typing import Any

import msgspec

from nccltool.core import documents, run_directory
from nccltool.probe.document import ProbeDocument, document_of
from nccltool.probe.result import Run
from nccltool.train import tuning
from nccltool.train.result import Restart, TrainingResult, TrainRun


class _TrainDocument(ProbeDocument, kw_only=True):
    trainings: tuple[TrainingResult, ...] = ()
    restarts: tuple[Restart, ...] = ()


_OF_THE_ONLY = (
    *("steps", "oracle", "throughput_samples_per_s", "exposed_communication_ratio"),
    *("scaling_efficiency", "peak_memory_bytes"),
)


def to_document(run: TrainRun) -> dict[str, Any]:
    """The document of a run, as plain data: the keys of the only training are at the top too, where a reader of
    one looks for them."""
    plain: list[dict[str, Any]] = msgspec.to_builtins(run.trainings)
    only = plain[0] if len(plain) == 1 else {}
    empty: dict[str, Any] = {"steps": [], "peak_memory_bytes": []}
    top = {name: only.get(name, empty.get(name)) for name in _OF_THE_ONLY}
    document: dict[str, Any] = msgspec.to_builtins(document_of(run))
    lists = {
        "trainings": plain,
        "restarts": msgspec.to_builtins(run.restarts),
        "overlap": msgspec.to_builtins(tuning.overlap(run.trainings)),
    }
    return document | {"strategy": only.get("strategy", "all"), **top, **lists}


def to_json(run: TrainRun) -> str:
    return documents.encoded(to_document(run))


def from_json(text: bytes, where: str) -> Run:
    """The run of a measurement or of training. Raises BadInput that names `where` and the key that is wrong."""
    document = documents.decoded(text, where, _TrainDocument)
    info, verdict, findings = document.run, document.verdict, document.findings
    if document.kind == "train":
        trainings, restarts = document.trainings, document.restarts
        return TrainRun(info=info, verdict=verdict, findings=findings, trainings=trainings, restarts=restarts)
    return Run(
        kind=document.kind,
        info=info,
        verdict=verdict,
        findings=findings,
        measurements=document.measurements,
        models=document.models,
        groups=document.groups,
    )


def load(path: Path) -> Run:
    """The run of a measurement or of training runs in a folder, or in a run.json. Raises BadInput."""
    return from_json(*run_directory.document(path))
