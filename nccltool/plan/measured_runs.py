"""Runs that a plan is told to use: of probe for its links, of train for its arithmetic and its curves."""

from collections.abc import Sequence
from pathlib import Path

from nccltool.compare import inputs
from nccltool.core import documents, run_directory
from nccltool.core.errors import BadInput
from nccltool.plan import trained
from nccltool.plan.hardware import Machine
from nccltool.plan.trained import STRATEGIES, MeasuredTraining
from nccltool.probe.result import Run
from nccltool.train import document
from nccltool.train.result import TrainRun

_DIGITS = "0123456789."


def named(text: str, base: Path, option: str = "--run") -> tuple[Run, ...]:
    """Of words with commas between them. Raises BadInput."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise BadInput(f"{option} {text!r} has an empty item between commas", "name runs as A1,A2,A3")
    try:
        return tuple(run for word in words for run in _loaded(word, base))
    except BadInput as error:
        raise BadInput(f"{option} {text}: {error.message}", error.remedy) from error


def _loaded(word: str, base: Path) -> Sequence[Run]:
    if word != run_directory.LATEST:
        path = run_directory.find(base, word)
        folder_or_file = path if path.is_file() or run_directory.has_document(path) else None
        if folder_or_file and documents.kind_of(*run_directory.document(path)) == "train":
            return [document.load(path)]
    return [next(inputs.loaded(word, base))]


def with_arithmetic(machine: Machine, word: str, base: Path) -> Machine:
    """A machine as fast as a training was, without its communication. Raises BadInput."""
    runs = [run for run in named(word, base, "--mfu") if isinstance(run, TrainRun)]
    for run in runs:
        for one in run.trainings:
            alone = 0.0 if run.info.world_size == 1 else one.exposed_communication_ratio
            if one.model and one.step_time_s and alone is not None and one.strategy in STRATEGIES:
                step = MeasuredTraining(strategy=one.strategy, shape=one.model, ranks=run.info.world_size or 1)
                compute_s = one.step_time_s.seconds * (1 - alone)
                if compute_s > 0 and one.model.heads > 0 and step.flop > 0:  # else the file is damaged
                    return trained.with_arithmetic(machine, step, compute_s)
    raise BadInput(
        f"--mfu {word}: no training there was timed with and without communication",
        "name a run of nccltool train ddp, fsdp, or zero1, or give a percentage",
    )


def is_percentage(text: str) -> bool:
    """And not the name of a run."""
    return bool(text) and not text.strip(_DIGITS) and text.count(".") <= 1
