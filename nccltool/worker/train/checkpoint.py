"""Saving a training with torch.distributed.checkpoint, and going on from what was saved.

Only tensors are in it, under the names that they have in the model of one process: whatever cuts the model
otherwise (another number of ranks, of stages, of shards) takes its own part of them.
"""

import contextlib
import os
import secrets
import shutil
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed.checkpoint as dcp
from torch import Tensor
from torch.distributed.checkpoint import FileSystemWriter
from torch.distributed.checkpoint.api import CheckpointException

from nccltool.core.findings import FindingKind, Subject
from nccltool.train import checkpoints, finding_kinds
from nccltool.train.checkpoints import File, Mark
from nccltool.train.events import CheckpointSaved, Resumed
from nccltool.train.job import TrainSpec
from nccltool.worker.progress_page import CALLS
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train.checkpoint_reader import CheckpointReader
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy

SEEN_WITHIN_S = 5.0
"""How long a file of another host may take to be seen here: NFS keeps folders for three seconds and more."""
_LOOK_AGAIN_S = 0.1
_SHA256 = ">4q"
"""As integers, to travel with the others."""
_UNKNOWN = 999
"""In place of an errno, of what is no OSError."""


class CheckpointsFailed(Exception):
    """They cannot be written or read; what is wrong has been reported, and all ranks know."""


class Checkpoints:
    """The checkpoints of a run; every method is called by all ranks together."""

    def __init__(self, folder: str, tools: RankTools) -> None:
        self._group, self._slot, self._channel = tools.group, tools.slot, tools.channel
        self._base = Path(folder)

    # ---- the folder

    def meet(self) -> None:
        """See that all ranks can write into the folder, and that it is the same one. Raises CheckpointsFailed."""
        self._slot.phase("looking for checkpoints")
        token = self._token()
        mine = self._base / f".meeting-{token}-{self._group.rank}"
        first = self._base / f".meeting-{token}-0"
        try:
            self._on_rank_0(lambda: self._base.mkdir(parents=True, exist_ok=True), "created")
            self._all(lambda: mine.write_bytes(b""), "written")
            seen = list[int]()
            self._all(lambda: seen.append(self._seen(first)), "read")
            blind = [rank for rank, (saw,) in enumerate(self._group.everybodys(seen)) if not saw]
        finally:
            with contextlib.suppress(OSError):  # where it could not be written either, which has been said
                mine.unlink()
        if blind:
            self._fail(blind[0], self._not_shared)

    def _token(self) -> str:
        return f"{self._group.from_rank_0(secrets.randbits(62)):016x}"

    def _seen(self, path: Path) -> bool:
        end = time.monotonic() + SEEN_WITHIN_S
        while time.monotonic() < end:
            if path in self._base.iterdir():  # asking for the one name could find it remembered as missing
                return True
            self._slot.tick()
            time.sleep(_LOOK_AGAIN_S)
        return False

    def _on_rank_0(self, act: Callable[[], object], done: str) -> None:
        self._all(act if not self._group.rank else lambda: None, done)

    def _all(self, act: Callable[[], object], done: str) -> None:
        """Do something on all ranks, or on some; when it fails on any, say so and raise on all."""
        error: OSError | None = None
        try:
            act()
        except OSError as caught:
            error = caught
        number = 0 if error is None else error.errno or _UNKNOWN
        failed = [rank for rank, (code,) in enumerate(self._group.everybodys([number])) if code]
        if failed:
            reason = os.strerror(number) if number != _UNKNOWN else str(error)
            self._fail(failed[0], lambda: self._cannot(done, reason))

    def _fail(self, rank: int, report: Callable[[], None]) -> NoReturn:
        if self._group.rank == rank:
            report()
        self._group.meet()  # nobody leaves before it has been said
        raise CheckpointsFailed

    def _cannot(self, done: str, reason: str) -> None:
        message = f"{self._me()}: --checkpoint {self._base} cannot be {done}: {reason}"
        remedy = "name a folder with free space that all hosts share and this user can write to"
        self._report(finding_kinds.CHECKPOINT_UNUSABLE, self._base, message, remedy, self._room())

    def _me(self) -> str:
        return f"rank {self._group.rank} on {socket.gethostname()}"

    def _room(self) -> str:
        try:
            there = shutil.disk_usage(self._base)
        except OSError as error:
            return f"its free space cannot be read: {error.strerror}"
        return f"{there.free / 2**20:.1f} MiB are free there, of {there.total / 2**20:.0f} MiB"

    def _not_shared(self) -> None:
        seen = f"{self._me()} does not see what rank 0 wrote"
        message = f"--checkpoint {self._base} is not the same folder everywhere: {seen}"
        remedy = "name a folder on a file system that all hosts share"
        self._report(
            finding_kinds.CHECKPOINT_NOT_SHARED, self._base, message, remedy, f"looked for {SEEN_WITHIN_S:.0f} s"
        )

    def _report(self, kind: FindingKind, path: Path, message: str, remedy: str = "", *evidence: str) -> None:
        subject = Subject(kind="file", name=str(path))
        self._channel.report(kind.finding(subject=subject, message=message, remedy=remedy, evidence=evidence))

    # ---- which one

    def choose(self, name: str) -> Mark | None:
        """The newest whole checkpoint of a strategy, looked at by rank 0; None = there is none."""
        self._slot.phase("looking for checkpoints")
        folder = self._base / name
        marks = list[Mark | None]()
        self._on_rank_0(lambda: marks.append(self._looked(folder, name)), "read")
        found = marks[0] if marks else None
        step = self._group.from_rank_0(found.step + 1 if found else 0) - 1
        if step < 0 or found is not None:
            return found
        return self._as_rank_0_saw_it(checkpoints.named(folder, step))

    def _as_rank_0_saw_it(self, path: Path) -> Mark:
        """Another host may still have the folder as it was before a restart."""
        end = time.monotonic() + SEEN_WITHIN_S
        while True:
            try:
                return checkpoints.read(path)
            except checkpoints.DamagedCheckpoint:
                if time.monotonic() > end:
                    raise
                list(path.parent.iterdir())
                self._slot.tick()
                time.sleep(_LOOK_AGAIN_S)

    def _looked(self, folder: Path, name: str) -> Mark | None:
        for path in checkpoints.unfinished(folder):
            shutil.rmtree(path, ignore_errors=True)
            removed = "removed a checkpoint whose write was interrupted"
            self._report(finding_kinds.CHECKPOINT_UNFINISHED, path, f"{name}: {removed}: {path.name}")
        found, skipped = checkpoints.newest(folder, self._slot.tick)
        remedy = "check the file system and what else writes there; training uses the next older intact checkpoint"
        for path, reason in skipped:
            message = f"{name}: skipped the checkpoint {path}: {reason}"
            self._report(finding_kinds.CHECKPOINT_DAMAGED, path, message, remedy)
        if skipped and found is None:
            none = f"no intact checkpoint in {folder} ({len(skipped)} checked): training started at step 1"
            self._report(
                finding_kinds.CHECKPOINT_NONE,
                folder,
                f"{name}: {none}",
                "remove them or name another --checkpoint",
            )
        return found

    # ---- out and in

    def save(self, strategy: Strategy, number: int) -> None:
        """Save what the ranks have after a step. Raises CheckpointsFailed."""
        begin, setup, scaler = time.perf_counter_ns(), strategy.setup, strategy.scaler
        self._slot.phase("saving a checkpoint")
        path = checkpoints.saving(self._base / setup.name, number, self._token())
        self._on_rank_0(lambda: path.mkdir(parents=True), "written")
        try:
            self._written(setup, "saving a checkpoint", lambda: _save(tensors(strategy), path))
            setup.tools.injector.at("save", setup.name, step=number)
            files = self._files(path)
            mark = Mark(
                strategy=setup.name,
                step=number,
                ranks=self._group.size,
                made_for=setup.made_for,
                sequences=setup.sequences,
                trained=checkpoints.trained(setup.spec)
                | ({checkpoints.FILES: setup.files} if setup.files else {}),
                files=files,
                scale=1.0 if scaler is None else scaler.scale,
                good_steps=0 if scaler is None else scaler.good_steps,
            )
            self._on_rank_0(lambda: checkpoints.publish(path, mark), "written")
        except CheckpointsFailed:
            if not self._group.rank:
                shutil.rmtree(path, ignore_errors=True)
            raise
        if not self._group.rank:
            size, took = sum(file.bytes for file in files.values()), time.perf_counter_ns() - begin
            self._channel.emit(CheckpointSaved(strategy=setup.name, number=number, bytes=size, ns=took))
        self.note_step(setup.name, number)  # before the first one, there was no place for it

    def note_step(self, name: str, number: int) -> None:
        """How far the training has come since the newest checkpoint."""
        if not self._group.rank:
            with contextlib.suppress(OSError):  # then nobody will know how many steps were lost
                checkpoints.note_step(self._base / name, number)

    def load(self, strategy: Strategy, mark: Mark) -> None:
        """Give the ranks what was saved. Raises CheckpointsFailed."""
        begin, phase = time.perf_counter_ns(), "loading a checkpoint"
        self._slot.phase(phase)
        path = checkpoints.named(self._base / mark.strategy, mark.step)
        state = tensors(strategy, into=True)
        reader = CheckpointReader(path, mark)
        self._written(strategy.setup, phase, lambda: dcp.load(state, storage_reader=reader), "loaded")
        if strategy.scaler is not None:
            strategy.scaler.scale, strategy.scaler.good_steps = mark.scale, mark.good_steps
        if not self._group.rank:
            reached, away_s = checkpoints.noted_step(self._base / mark.strategy) or (None, None)
            self._channel.emit(
                Resumed(
                    strategy=mark.strategy,
                    number=mark.step,
                    folder=str(path),
                    ranks_then=mark.ranks,
                    sequences=strategy.setup.sequences,
                    ns=time.perf_counter_ns() - begin,
                    reached=reached,
                    away_s=away_s,
                )
            )

    def _written(self, setup: Setup, phase: str, call: Callable[[], object], done: str = "written") -> None:
        """torch tells all ranks when it fails on one."""
        try:
            with setup.communicating(phase):
                call()
        except CheckpointException as error:
            rank, (cause, _) = min(error.failures.items())
            self._slot.words[CALLS], reason = 2, _reason(cause)
            self._fail(rank, lambda: self._cannot(done, reason))

    def _files(self, path: Path) -> dict[str, File]:
        """Size and checksum of what every rank wrote, each its own file; on rank 0 of torch's description too."""
        name, row, files = _file_of(self._group.rank), [0] * 5, dict[str, File]()

        def look() -> None:
            if (path / name).exists():
                file = checkpoints.look_at(path / name, self._slot.tick)
                row[:] = [file.bytes, *struct.unpack(_SHA256, bytes.fromhex(file.sha256))]
            if not self._group.rank:
                files[".metadata"] = checkpoints.look_at(path / ".metadata", self._slot.tick)

        self._all(look, "read")
        rows = self._group.everybodys(row)
        digests = [struct.pack(_SHA256, *digest).hex() for _, *digest in rows]
        theirs = {rank: File(bytes=row[0], sha256=digests[rank]) for rank, row in enumerate(rows) if row[0]}
        return files | {_file_of(rank): file for rank, file in theirs.items()}


def _reason(cause: BaseException) -> str:
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    if "inline_container" in str(cause):  # all that torch's writer says of a write that fails
        return "the write was incomplete: the file system is full, or a quota or limit was reached"
    return f"{type(cause).__name__}: {cause}".splitlines()[0][:300]


def _file_of(rank: int) -> str:
    return f"__{rank}_0.distcp"


def _save(state: dict[str, Any], path: Path) -> None:
    writer = FileSystemWriter(path, single_file_per_rank=True, sync_files=True, thread_count=1)
    dcp.save(state, storage_writer=writer)


def tensors(strategy: Strategy, into: bool = False) -> dict[str, Any]:
    """What this rank holds of parameters and of the optimizer's state, under the names of the whole model.

    `into`: what is to be filled; an optimizer has no state before its first step.
    """
    optimizer, momentum = strategy.own_optimizer(), strategy.setup.spec.momentum
    owned = {id(p) for group in optimizer.param_groups for p in group["params"]}
    found: dict[str, Tensor] = {}
    for name, parameter in strategy.named_parameters():
        found[f"model.{name}"] = parameter.detach()
        if not momentum or id(parameter) not in owned:
            continue
        state = optimizer.state[parameter]
        if into:
            state["momentum_buffer"] = torch.zeros_like(parameter, requires_grad=False)
        if state.get("momentum_buffer") is not None:  # there is none while every step so far has overflowed
            found[f"momentum.{name}"] = state["momentum_buffer"].detach()
    return found


def same_batch(spec: TrainSpec, mark: Mark, world: int) -> int:
    """Sequences of each rank, of a global batch that stays as it was. Raises CannotTrain."""
    other = checkpoints.other_training(mark, spec)
    if other:
        raise CannotTrain(f"its checkpoint of step {mark.step} is from a different training run: {other}")
    if mark.sequences % world:
        raise CannotTrain(
            f"the global batch of {mark.sequences} sequences, on which its checkpoint of step {mark.step} was "
            f"trained, cannot be split across {world} ranks"
        )
    return mark.sequences // world
