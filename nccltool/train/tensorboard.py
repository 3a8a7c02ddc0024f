"""Event files of TensorBoard, where its package is installed: the steps of a training, and what they cost."""

import importlib.util
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from nccltool.core import user_files
from nccltool.core.documents import RunInfo
from nccltool.core.errors import BadInput
from nccltool.train.result import TrainingResult

_OPTION = "--tensorboard"
_OF_STEPS = ("loss", "reference_loss", "gradient_norm", "reference_gradient_norm")
_OF_TIMED_STEPS = ("exposed_communication_ratio", "scaling_efficiency", "model_flop_utilisation")


def ready(folder: Path) -> None:
    """Raises BadInput when the package is missing, or the folder cannot be made."""
    if importlib.util.find_spec("tensorboard") is None:
        raise BadInput(
            f"{_OPTION}: the package tensorboard is not installed here",
            "run pip install tensorboard or use --format json, which has the same numbers",
        )
    user_files.folder(_OPTION, str(folder))


def write(folder: Path, info: RunInfo, trainings: Sequence[TrainingResult]) -> None:
    """A folder for the run, and in it one for each strategy. Raises BadInput."""
    began = datetime.fromisoformat(info.started).timestamp()
    for training in trainings:
        if training.steps:
            try:
                _write(folder / info.id / training.strategy, training, began)
            except OSError as error:
                reason = error.strerror or error
                raise BadInput(f"{_OPTION} {folder} cannot be written: {reason}", "name another folder") from error


def _write(folder: Path, training: TrainingResult, at: float) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    folder.mkdir(parents=True, exist_ok=True)
    writer = EventFileWriter(str(folder))
    try:
        for number, time_s, values in _scalars(training):
            at += time_s
            known = [
                Summary.Value(tag=tag, simple_value=value) for tag, value in values.items() if value is not None
            ]
            writer.add_event(Event(wall_time=at, step=number, summary=Summary(value=known)))
    finally:
        writer.close()


def _scalars(training: TrainingResult) -> Iterator[tuple[int, float, dict[str, float | None]]]:
    """(step, seconds, values); what is of all timed steps comes with the last one."""
    number = 0
    for step in training.steps:
        number = step.step
        yield (
            number,
            step.time_s,
            {**{name: getattr(step, name) for name in _OF_STEPS}, "step_time_s": step.time_s},
        )
    peak = [size for size in training.peak_memory_bytes if size is not None]
    timed: dict[str, float | None] = {
        "step_time_s": training.step_time_s.seconds if training.step_time_s else None,
        "samples_per_s": training.throughput_samples_per_s,
        "tokens_per_s": training.throughput_tokens_per_s,
        **{name: getattr(training, name) for name in _OF_TIMED_STEPS},
        "peak_memory_bytes": float(max(peak)) if peak else None,
    }
    if any(value is not None for value in timed.values()):
        yield number, 0.0, {f"timed/{name}": value for name, value in timed.items()}
