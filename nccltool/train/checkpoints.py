"""The checkpoints of training runs in a folder: which of them are whole, and how one becomes so.

DIR/ddp/step-000004/complete.json   written last: of what, after which step, size and SHA-256 of every other file
                    ...             what torch.distributed.checkpoint wrote
DIR/.reached-ddp                    the last step that was done, and when: to count the steps that were lost
DIR/ddp/.saving-...                 one that is being written, or was when its writers died

A checkpoint gets its name when everything in it is on the disk, in one step. What was cut short has another name;
what was changed or lost later does not agree with complete.json. Neither is ever taken.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from nccltool.train import sharing
from nccltool.train.job import TrainSpec
from nccltool.train.strategies import fsdp

MARK = "complete.json"
KEEP = 3
"""So many whole ones stay, so that there is an older one when the newest is damaged."""
FORMAT = 1
_REACHED = ".reached-"
_SAVING = ".saving-"
_REPLACED = ".replaced-"
_NAME = re.compile(r"step-(\d{6,9})")
_CHUNK = 1 << 20
_MARK_BYTES = 16 << 20
_TRAINED = (
    *("layers", "width", "heads", "context", "vocabulary", "seed", "learning_rate", "momentum", "dtype"),
    "clip_norm",
)
"""What must be the same for a training to go on as the reference says."""
FILES = "data"
"""What else is noted then: which files were trained with; nothing = synthetic tokens."""

Tick = Callable[[], None]


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was when the checkpoint became whole."""

    bytes: int
    sha256: str


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a checkpoint whole."""

    strategy: str
    step: int
    """The last one that is in it."""
    ranks: int
    """That wrote it."""
    sequences: int
    """Of the global batch, which stays the same with another number of ranks."""
    trained: dict[str, int | float | str | None]
    files: dict[str, File]
    scale: float = 1.0
    """Of the loss, under float16."""
    good_steps: int = 0
    """Since that was changed."""
    made_for: int = 0
    """World size that the model was made for, in the first run of this training; 0 = that of `ranks`."""
    format: int = FORMAT
    digest: str = ""
    """SHA-256 of all of this with an empty digest."""


class DamagedCheckpoint(Exception):
    """A checkpoint that cannot be taken; the message says why."""


def named(folder: Path, step: int) -> Path:
    return folder / f"step-{step:06d}"


def saving(folder: Path, step: int, token: str) -> Path:
    return folder / f"{_SAVING}step-{step:06d}-{token}"


def unfinished(folder: Path) -> list[Path]:
    """Checkpoints whose writers did not get to the end."""
    return sorted(path for path in _entries(folder) if path.name.startswith((_SAVING, _REPLACED)))


def steps(folder: Path) -> list[int]:
    """The steps after which there are checkpoints, whole or not, the newest first."""
    matches = (_NAME.fullmatch(path.name) for path in _entries(folder))
    return sorted((int(match[1]) for match in matches if match), reverse=True)


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def newest(folder: Path, tick: Tick) -> tuple[Mark | None, list[tuple[Path, str]]]:
    """(the newest whole checkpoint; newer ones that are not, with the reasons). Raises OSError."""
    skipped: list[tuple[Path, str]] = []
    for step in steps(folder):
        path = named(folder, step)
        try:
            return verified(path, tick), skipped
        except DamagedCheckpoint as damaged:
            skipped.append((path, str(damaged)))
    return None, skipped


def verified(path: Path, tick: Tick) -> Mark:
    """The mark of a checkpoint all of whose files are as they were. Raises Damaged."""
    mark = read(path)
    for name, file in mark.files.items():
        try:
            found = look_at(path / name, tick)
        except FileNotFoundError:
            raise DamagedCheckpoint(f"{name} is missing") from None
        except OSError as error:
            raise DamagedCheckpoint(f"{name} cannot be read: {error.strerror}") from error
        if found.bytes != file.bytes:
            raise DamagedCheckpoint(f"{name} has {found.bytes} bytes, expected {file.bytes}")
        if found.sha256 != file.sha256:
            raise DamagedCheckpoint(f"{name} has changed (its SHA-256 does not match)")
    return mark


def read(path: Path) -> Mark:
    """What a checkpoint says of itself. Raises Damaged."""
    try:
        with (path / MARK).open("rb") as file:
            text = file.read(_MARK_BYTES)
    except FileNotFoundError:
        raise DamagedCheckpoint(f"it has no {MARK}: it was not written completely") from None
    except OSError as error:
        raise DamagedCheckpoint(f"{MARK} cannot be read: {error.strerror}") from error
    try:
        mark = msgspec.json.decode(text, type=Mark)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DamagedCheckpoint(f"{MARK} is truncated or has changed") from None
    if mark.format != FORMAT:
        raise DamagedCheckpoint(f"its format is {mark.format}, but this nccltool reads {FORMAT}")
    if (
        mark.digest != _digest(mark)
        or msgspec.json.encode(mark) != text
        or any(Path(name).name != name for name in mark.files)
    ):
        raise DamagedCheckpoint(f"{MARK} has changed (its SHA-256 does not match)")
    step = _NAME.fullmatch(path.name)
    if step is None or int(step[1]) != mark.step or path.parent.name != mark.strategy:
        raise DamagedCheckpoint(f"{MARK} belongs to step {mark.step} of {mark.strategy}")
    return mark


def _digest(mark: Mark) -> str:
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(mark, digest=""))).hexdigest()


def look_at(path: Path, tick: Tick) -> File:
    """Size and checksum of a file. Raises OSError."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            tick()
    return File(bytes=size, sha256=digest.hexdigest())


def publish(path: Path, mark: Mark) -> Path:
    """Make what was written whole, under its own name; older ones make room. Raises OSError."""
    folder, place = path.parent, named(path.parent, mark.step)
    text = msgspec.json.encode(msgspec.structs.replace(mark, digest=_digest(mark)))
    with (path / MARK).open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    _flush(path)
    replaced = folder / f"{_REPLACED}{path.name.removeprefix(_SAVING)}"
    if place.exists():  # it was damaged, or its training would have gone on from it
        place.rename(replaced)
    path.rename(place)
    _flush(folder)
    shutil.rmtree(replaced, ignore_errors=True)
    for step in [step for step in steps(folder) if step <= mark.step][KEEP:]:
        shutil.rmtree(named(folder, step), ignore_errors=True)
    return place


def note_step(folder: Path, step: int) -> None:
    """Where there is a checkpoint, say how far the training has come since. Raises OSError."""
    if folder.is_dir():
        _reached(folder).write_text(f"{step} {time.time():.3f}\n")


def _reached(folder: Path) -> Path:
    return folder.parent / f"{_REACHED}{folder.name}"


def noted_step(folder: Path) -> tuple[int, float] | None:
    """The last step of the training that ended, and how many seconds ago it was; None = not known."""
    try:
        with _reached(folder).open("rb") as file:
            step, at = file.read(64).decode().split()
        return int(step), time.time() - float(at)
    except (OSError, ValueError):  # an older nccltool wrote the folder, or the writer died
        return None


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def trained(spec: TrainSpec) -> dict[str, int | float | str | None]:
    """What of a training must not change from one run to the next."""
    own = spec.of(fsdp.Options)
    general = {name: getattr(spec, name) for name in _TRAINED}
    return general | {"param_dtype": own.param_dtype, "reduce_dtype": own.reduce_dtype, "lora": own.lora}


def other_training(mark: Mark, spec: TrainSpec) -> str:
    """Why a checkpoint is not one of this training; empty when it is."""
    asked = trained(sharing.of(spec, mark.strategy, mark.ranks, mark.made_for).spec)
    if mark.trained.keys() - {FILES} != asked.keys():
        return "a different version of nccltool wrote it"
    differ = [name for name, value in asked.items() if mark.trained[name] != value]
    said = (
        f"--{name.replace('_', '-')} is {mark.trained[name]} in the checkpoint and {asked[name]} here"
        for name in differ
    )
    return ", ".join(said)


def other_input(mark: Mark, files: str) -> str:
    """Why a training with these files (empty: synthetic tokens) cannot go on from a checkpoint; empty = it can."""
    then = mark.trained.get(FILES, "")
    if then == files:
        return ""
    return "--data had other files" if then and files else f"it was trained with{'' if then else 'out'} --data"
