"""Checkpoints, restarts and the rank to kill, from the words of `nccltool train`."""

import os
from dataclasses import dataclass
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.launch import fault_injection
from nccltool.launch.launchers.base import LaunchPlan
from nccltool.train import checkpoints
from nccltool.train.job import TrainSpec
from nccltool.train.strategies import ddp


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointOptions:
    """What is kept of a training, and what happens to it; a field has the name of its option."""

    checkpoint: str | None
    checkpoint_every: int
    grace: float
    max_restarts: int
    kill_rank: int | None
    at_step: int | None
    events: bool


def checkpoints_of(options: CheckpointOptions, where: LaunchPlan) -> str:
    """The folder for checkpoints, as ranks find it. Raises BadInput when this host sees that it cannot be used."""
    name = options.checkpoint
    if name is None:
        return ""
    path = Path(os.path.abspath(os.path.expanduser(name)))  # noqa: PTH100, PTH111 - ranks have other folders
    if not where.launch.remote:
        _see_that_it_is_a_folder(path)
    return str(path)


def grace_of(options: CheckpointOptions) -> float:
    """Seconds between SIGTERM and the end. Raises BadInput where nothing would be saved in them."""
    if options.grace and options.checkpoint is None:
        raise BadInput("--grace needs --checkpoint", "name a folder, or omit --grace")
    return options.grace


def _see_that_it_is_a_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"--checkpoint {path} cannot be created: {reason}", "name a writable folder") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadInput(f"--checkpoint {path} is not writable", "name a writable folder")


def fault_of(options: CheckpointOptions, steps: int, fault: str, where: LaunchPlan) -> str:
    """The drill that the environment asks for, or --kill-rank R --at-step S as one. Raises BadInput."""
    _check_restarts(options, where)
    rank, step = options.kill_rank, options.at_step
    if (rank is None) != (step is None):
        given, lacking = ("--kill-rank", "--at-step") if step is None else ("--at-step", "--kill-rank")
        raise BadInput(f"{given} also needs {lacking}", "for example --kill-rank 1 --at-step 3")
    if rank is None or step is None:
        return fault_injection.checked(fault, where.ranks)
    if fault:
        raise BadInput(f"--kill-rank cannot be combined with {fault_injection.VARIABLE}", "use one or the other")
    if step > steps:
        raise BadInput(f"--at-step {step} is after the last step (--steps {steps})", "steps start at 1")
    if where.ranks and rank >= where.ranks:
        raise BadInput(f"--kill-rank {rank}: this run has no such rank", "ranks start at 0")
    return f"kill:rank={rank},step={step},attempt=0"


def _check_restarts(options: CheckpointOptions, where: LaunchPlan) -> None:
    if not options.max_restarts:
        return
    if not where.node_ranks or len(where.node_ranks) != where.nodes:
        raise BadInput(
            "--max-restarts needs a command that starts all ranks, but this one starts only its own",
            "use --hosts or a Slurm allocation, or run the command again: --checkpoint resumes training",
        )
    if options.events:
        raise BadInput(
            "--max-restarts cannot be combined with --events: an event stream covers one attempt",
            "omit one of them",
        )


def see_that_it_goes_on(spec: TrainSpec, at_step: int | None) -> None:
    """Raises BadInput when the checkpoints that this host sees are of another training, or behind the drill."""
    of_ddp = spec.of(ddp.Options)
    unsaved = {
        f"--comm-hook {of_ddp.comm_hook}": of_ddp.comm_hook in ddp.CARRYING,
        "--sync-batch-norm": of_ddp.sync_batch_norm,
        "--adamw": of_ddp.adamw,
        "--lr-warmup": of_ddp.lr_warmup > 0,
        "--patience": of_ddp.patience > 0,
    }
    for word in (word for word, given in unsaved.items() if given):
        raise BadInput(f"{word} cannot be combined with --checkpoint: its state is not saved", "omit one of them")
    for name in spec.strategies:
        folder = Path(spec.checkpoint, name)
        for step in checkpoints.steps(folder)[:1]:
            _compare(folder, step, spec.for_one(name), at_step if name == spec.strategies[0] else None)


def _compare(folder: Path, step: int, spec: TrainSpec, at_step: int | None) -> None:
    path = checkpoints.named(folder, step)
    try:
        mark = checkpoints.read(path)
    except (checkpoints.DamagedCheckpoint, OSError):
        return  # the ranks skip it, and say so
    other = checkpoints.other_training(mark, spec)
    if other:
        raise BadInput(
            f"--checkpoint {path} is from a different training run: {other}",
            "use the same options or name another folder",
        )
    if at_step is not None and at_step <= step:
        raise BadInput(
            f"--at-step {at_step}: {path} already contains step {step}, and training resumes after it",
            "choose a later step or name another folder",
        )
