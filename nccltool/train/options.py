"""From the words of `nccltool train` to an order; every word that cannot be used is one clear sentence."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from nccltool.core import run_directory, user_files
from nccltool.core.errors import BadInput
from nccltool.core.unknown_names import unknown
from nccltool.launch.launchers.base import LaunchPlan
from nccltool.launch.options import StartOptions
from nccltool.launch.order import LaunchOrder, joined, likely_backend, ordered, plan_launch
from nccltool.probe import dtypes
from nccltool.train import checkpoint_options, input_files, pipeline_schedules, sharing, strategies, tuning
from nccltool.train.checkpoint_options import CheckpointOptions
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.strategies import base, ddp, deepspeed, fsdp
from nccltool.train.strategies.base import OptionValue, PipelineOptions

SIZES: dict[str, dict[str, int]] = {
    "tiny": {"layers": 4, "width": 64, "heads": 4, "context": 32, "vocabulary": 256, "batch": 4},
    "125m": {"layers": 12, "width": 768, "heads": 12, "context": 1024, "vocabulary": 50304, "batch": 8},
    "1b": {"layers": 24, "width": 2048, "heads": 16, "context": 1024, "vocabulary": 50304, "batch": 4},
}
"""Layers, width and heads of the smallest and of the 1.3B model in table 2.1 of the paper on GPT-3."""
SHORT_DTYPES = ("bfloat16", "float16")
DTYPES = ("float32", "float64", *SHORT_DTYPES)
_BYTES = 256
_AS_GIVEN = (
    "data_workers",
    "steps",
    "seed",
    "momentum",
    "clip_norm",
    "recompute",
    "series",
    "tune",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainOptions:
    """The options of `nccltool train` as they were given; a field has the name of its option."""

    start: StartOptions
    strategy: str
    size: str
    layers: int | None
    width: int | None
    heads: int | None
    context: int | None
    vocabulary: int | None
    batch: int | None
    steps: int
    time_steps: int
    tune: bool
    seed: int
    learning_rate: float | None
    momentum: float
    dtype: str
    clip_norm: float | None
    recompute: bool
    data: str | None
    data_workers: int
    own: dict[str, OptionValue]
    """Those that are for some strategies only, by field, where they are not the default."""
    checkpoint: CheckpointOptions
    profile: str | None
    series: tuple[int, ...] = ()
    """Numbers of ranks of all runs of the series; () = it is a single run."""


def from_options(options: TrainOptions, env: Mapping[str, str] = os.environ) -> LaunchOrder[TrainJob]:
    """The order that the options of `nccltool train` describe. Raises BadInput."""
    start = joined(options.start, env)
    where = plan_launch(start, env)
    return ordered(_job(options, start, where), start, where, max_restarts=options.checkpoint.max_restarts)


def _job(options: TrainOptions, start: StartOptions, where: LaunchPlan) -> TrainJob:
    return TrainJob(
        run_id=run_directory.new_id(),
        train=_possible(_spec(options, where), options, start, where),
        fault=checkpoint_options.fault_of(options.checkpoint, options.steps, start.fault, where),
    )


def _spec(options: TrainOptions, where: LaunchPlan) -> TrainSpec:
    given = {name: getattr(options, name) for name in sharing.SIZES if getattr(options, name) is not None}
    shape = SIZES[options.size] | given
    if shape["width"] % shape["heads"]:
        raise BadInput(
            f"--width {shape['width']} cannot be divided by --heads {shape['heads']}",
            f"use a multiple of {shape['heads']}",
        )
    names, own = _strategies(options.strategy), options.own.copy()
    dtype = _dtype("--dtype", options.dtype, DTYPES)
    for name, known in (("param_dtype", SHORT_DTYPES), ("reduce_dtype", ("float32", *SHORT_DTYPES))):
        if name in own:
            own[name] = _dtype(f"--{name.replace('_', '-')}", str(own[name]), known)
    return TrainSpec(
        strategies=names,
        is_all=options.strategy == "all",
        options=own,
        timed_steps=options.time_steps,
        learning_rate=_learning_rate(options),
        dtype=dtype,
        profile=user_files.folder("--profile", options.profile) if options.profile else "",
        data=_data(options, shape, where),
        checkpoint=checkpoint_options.checkpoints_of(options.checkpoint, where),
        checkpoint_every=options.checkpoint.checkpoint_every,
        grace_s=checkpoint_options.grace_of(options.checkpoint),
        **shape,
        given=tuple(given),
        **{name: getattr(options, name) for name in _AS_GIVEN},
    )


def _learning_rate(options: TrainOptions) -> float:
    """AdamW changes each parameter by about this much per step, whatever the gradient."""
    default = 0.001 if options.own.get("adamw") else TrainSpec.learning_rate
    return default if options.learning_rate is None else options.learning_rate


def _data(options: TrainOptions, shape: Mapping[str, int], where: LaunchPlan) -> str:
    """The folder of the files to train with; empty = synthetic tokens. Raises BadInput."""
    if not options.data:
        if options.data_workers:
            raise BadInput("--data-workers needs --data", "omit it or add --data DIR")
        return ""
    if shape["vocabulary"] < _BYTES:
        raise BadInput(
            f"--vocabulary {shape['vocabulary']} is too small for --data: a token per byte",
            f"use at least {_BYTES}",
        )
    folder = Path(options.data).absolute()
    if not where.launch.remote:  # else the hosts of ranks have it: this one need not
        _see_that_it_can_be_read(folder, shape["context"] + 1)
    return str(folder)


def _see_that_it_can_be_read(folder: Path, length: int) -> None:
    try:
        input_files.found(folder, length)
    except input_files.NoInput as error:
        raise BadInput(f"--data {error}", "name a folder with enough files") from error
    except (OSError, ValueError) as error:
        reason, name = getattr(error, "strerror", None) or error, getattr(error, "filename", None) or folder
        raise BadInput(f"--data {name} cannot be read: {reason}", "name a folder of files") from error


def _dtype(option: str, word: str, known: Sequence[str]) -> str:
    name = dtypes.canonical(word)
    if name not in known:
        raise BadInput(
            f"{option}: {word[:40]!r} is not a data type for training", f"choose from {', '.join(known)}"
        )
    return name


def _possible(spec: TrainSpec, options: TrainOptions, start: StartOptions, where: LaunchPlan) -> TrainSpec:
    """Raises BadInput for what cannot be done together, as far as it can be told from here."""
    for name in spec.options:
        takers = [strategy for strategy in strategies.NAMES if name in strategies.takes(strategy)]
        if not set(takers) & set(spec.strategies):
            word = base.word(strategies.options()[name])
            raise BadInput(
                f"{word} is for {', '.join(takers)}, not for {', '.join(spec.strategies)}",
                "omit it or choose a strategy that supports it",
            )
    of_ddp, param_dtype = spec.of(ddp.Options), spec.of(fsdp.Options).param_dtype
    if of_ddp.static_graph and of_ddp.accumulate > 1:
        raise BadInput(
            "--static-graph cannot be combined with --accumulate: torch would synchronize every micro-batch",
            "use one or the other",
        )
    if spec.batch % of_ddp.accumulate:
        raise BadInput(
            f"--batch {spec.batch} cannot be divided into --accumulate {of_ddp.accumulate} parts",
            f"use a multiple of {of_ddp.accumulate}",
        )
    _together(spec)
    if param_dtype and spec.dtype != "float32":
        raise BadInput(
            f"--param-dtype {param_dtype} cannot be combined with -d {spec.dtype}: both set the data type "
            "of the computation",
            "use one or the other",
        )
    _staged(spec)
    _offloaded(spec.of(deepspeed.Options), where)
    _tunable(spec)
    _installed(spec, options, where)
    if spec.checkpoint:
        checkpoint_options.see_that_it_goes_on(spec, options.checkpoint.at_step)
    if of_ddp.comm_hook == "bf16" and likely_backend(start, where) == "gloo":
        raise BadInput(
            "--comm-hook bf16 needs NCCL: torch refuses it on CPUs", "use --comm-hook fp16 or hosts with GPUs"
        )
    return spec


def _together(spec: TrainSpec) -> None:
    """Raises BadInput for options of ways to update, to compress and to normalize that exclude each other."""
    of_ddp = spec.of(ddp.Options)
    hook, batch_norm, is_adamw = of_ddp.comm_hook, of_ddp.sync_batch_norm, of_ddp.adamw
    excluded = (
        (
            hook == "topk" and spec.dtype == "float16",
            "--comm-hook topk cannot be combined with -d float16: an overflow would be carried to all later steps",
        ),
        (
            hook != "none" and batch_norm,
            "--sync-batch-norm cannot be combined with --comm-hook: the gradient of a rank alone has no reference",
        ),
        (
            spec.recompute and batch_norm,
            "--sync-batch-norm cannot be combined with --recompute: "
            "the second forward pass would update the running statistics again",
        ),
        (
            spec.tune and (batch_norm or hook in ("int8", "topk")),
            "--tune cannot be combined with --sync-batch-norm or --comm-hook int8 or topk: "
            "their losses depend on the number of micro-batches",
        ),
        (
            of_ddp.halve_on_oom and (hook != "none" or batch_norm or of_ddp.static_graph or spec.tune),
            "--halve-on-oom cannot be combined with --comm-hook, --sync-batch-norm, --static-graph, or --tune: "
            "the passes of a rank make no collectives",
        ),
        (
            of_ddp.validate > 0 and (batch_norm or bool(spec.data)),
            "--validate cannot be combined with --sync-batch-norm or --data",
        ),
        (of_ddp.patience > 0 and not of_ddp.validate, "--patience needs --validate"),
        (bool(spec.momentum) and is_adamw, "--momentum cannot be combined with --adamw: it is for SGD"),
        (
            of_ddp.lr_warmup >= spec.steps,
            f"--lr-warmup {of_ddp.lr_warmup} leaves no step of --steps {spec.steps} for the decay",
        ),
    )
    for given, message in excluded:
        if given:
            raise BadInput(message, "omit one of them or choose another value")


def _offloaded(asked: deepspeed.Options, where: LaunchPlan) -> None:
    """Raises BadInput where DeepSpeed keeps nothing in files, or this host sees that it cannot write them."""
    folder = asked.offload_dir
    if folder is None:
        return
    if asked.zero != deepspeed.SWAPPING:
        raise BadInput(
            f"--offload-dir needs --zero {deepspeed.SWAPPING}: "
            f"with --zero {asked.zero}, DeepSpeed keeps all state in memory",
            f"add --zero {deepspeed.SWAPPING} or omit --offload-dir",
        )
    if not os.path.isabs(folder):  # noqa: PTH117 - ranks have other folders
        raise BadInput(f"--offload-dir {folder} is not an absolute path", "name the folder from / on")
    if not where.launch.remote:  # else the hosts of ranks have it: this one need not
        _see_that_files_can_be_made(folder)


def _see_that_files_can_be_made(folder: str) -> None:
    """It is not made here: a mount point without its file system would be another disk."""
    try:
        os.stat(folder)  # noqa: PTH116 - as it was given
        reason = "" if os.access(folder, os.W_OK | os.X_OK) else "it is not writable"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise BadInput(f"--offload-dir {folder} cannot be used: {reason}", "name a writable folder")


def _installed(spec: TrainSpec, options: TrainOptions, where: LaunchPlan) -> None:
    """What other hosts have, only they can tell; and of all ways, what is not installed is left out."""
    if options.strategy == "all" or where.launch.remote or "deepspeed" not in spec.strategies:
        return
    if find_spec("deepspeed") is None:
        raise BadInput(
            "DeepSpeed is not installed here", "run pip install 'nccltool[deepspeed]' or choose another strategy"
        )


def _tunable(spec: TrainSpec) -> None:
    for name in spec.strategies if spec.tune and not spec.is_all else ():
        if not tuning.has_variants(name):
            known = ", ".join(strategies.word_of(one) for one in strategies.NAMES if tuning.has_variants(one))
            word = strategies.word_of(name)
            because = f": {why}" if (why := tuning.why_not(name)) else ""
            raise BadInput(f"--tune has nothing to vary for {word}{because}", f"omit it or choose from {known}")
    if spec.tune and spec.checkpoint:
        raise BadInput("--tune cannot be combined with --checkpoint", "omit one of them")


def _staged(spec: TrainSpec) -> None:
    asked = spec.of(PipelineOptions)
    schedule = pipeline_schedules.SCHEDULES[asked.schedule]
    stages = pipeline_schedules.stages_of(asked.schedule, asked.stages)
    if not schedule.least_stages <= stages <= (schedule.most_stages or stages):
        known = f"exactly {schedule.stages}" if schedule.most_stages else f"at least {schedule.least_stages}"
        raise BadInput(
            f"--schedule {asked.schedule} needs {known} stage{'s' if schedule.stages > 1 else ''} per rank, "
            f"not --stages {stages}",
            "omit --stages or choose another schedule",
        )


def _strategies(text: str) -> tuple[str, ...]:
    if text == "all":
        return strategies.NAMES
    words = [word.strip().replace("-", "_").replace("+", "_") for word in text.split(",")]
    words = ["three_d" if word == "3d" else word for word in words]  # no name of a module
    for word in words:
        if word not in strategies.NAMES:
            raise unknown("strategy", word, (*strategies.WORDS, "all"))
    return tuple(dict.fromkeys(words))
