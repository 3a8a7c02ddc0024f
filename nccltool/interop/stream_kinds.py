"""The commands whose printed event streams give a run: what each says, and how it is judged and saved."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nccltool.launch.events import Event
from nccltool.launch.job import Job
from nccltool.launch.runner import LaunchOutcome
from nccltool.localize import document as pairs_document
from nccltool.localize import numeric
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.pairs import run as pairs_run
from nccltool.localize.pairs.events import OF_PAIRS
from nccltool.localize.pairs.job import PairsJob
from nccltool.probe import document
from nccltool.probe import run as probe_run
from nccltool.probe.events import OF_PROBES
from nccltool.probe.job import ProbeJob
from nccltool.probe.result import Run
from nccltool.probe.run import ProbeBegun
from nccltool.train import document as train_document
from nccltool.train import judge as train_judge
from nccltool.train.events import OF_TRAININGS
from nccltool.train.job import TrainJob


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamKind:
    """A command whose streams can be collected."""

    job: type[Job]
    events: tuple[type[Event], ...]
    judged: Callable[[LaunchOutcome, ProbeBegun], Run]
    to_json: Callable[[Any], str]
    """Of a run that it judged."""


def _pairs_judged(outcome: LaunchOutcome, begun: ProbeBegun) -> LocalizedRun:
    numeric.require("collecting a run of nccltool pairs")
    return pairs_run.judged(outcome, begun)


KINDS = {
    "probe": StreamKind(job=ProbeJob, events=OF_PROBES, judged=probe_run.judged, to_json=document.to_json),
    "train": StreamKind(
        job=TrainJob, events=OF_TRAININGS, judged=train_judge.judged, to_json=train_document.to_json
    ),
    "pairs": StreamKind(job=PairsJob, events=OF_PAIRS, judged=_pairs_judged, to_json=pairs_document.to_json),
}
"""By the kind of their job."""


def asked(job: Job) -> tuple[object, ...]:
    """What was to be run: the same in all commands of a run."""
    match job:
        case ProbeJob():
            return job.ops, job.sizes, job.dtype
        case TrainJob():
            return (job.train,)
        case PairsJob():
            return (job.pairs,)
    return ()
