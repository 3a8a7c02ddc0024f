"""nccltool plan."""

from typing import Any

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, kept, option, verbose
from nccltool.cli.tree import section
from nccltool.plan.emit import KINDS
from nccltool.plan.views import FORMATS
from nccltool.plan.words import OPTIMIZER_WORDS, PRECISION_WORDS, RECOMPUTE_WORDS
from nccltool.train.pipeline_schedules import SCHEDULES

_COUNT = click.IntRange(1, 2**20)


def _degree(name: str, what: str) -> Any:
    return option(name, type=_COUNT, metavar="N", help=f"Degree of {what} parallelism.  [default: any]")


@click.command("plan", cls=ToolCommand, short_help="Plan memory, communication, and time of a training run")
@click.argument("model", metavar="MODEL", shell_complete=values.models)
@section(
    "Where to train",
    option("--gpus", type=_COUNT, required=True, metavar="N", help="Number of GPUs."),
    option(
        "--machine",
        metavar="NAME|FILE",
        help="Type of node, a snapshot of facts, or host: this one.  [default: h100-sxm-8]",
        shell_complete=values.machines,
    ),
    option(
        "--run",
        metavar="RUN,...",
        help="Use the bandwidths of these runs of probe; with runs of train, also show how they scale.",
        shell_complete=values.runs,
    ),
)
@section(
    "How to train",
    option(
        "--sequence",
        type=_COUNT,
        metavar="N",
        help="Tokens per sequence.  [default: 4096, or fewer if the model has fewer positions]",
    ),
    option(
        "--step-sequences",
        type=_COUNT,
        metavar="N",
        help="Sequences per step, over all GPUs.  [default: 4 per GPU]",
    ),
    option("--micro-batch", type=_COUNT, metavar="N", help="Sequences per forward pass.  [default: any]"),
    option("--training-precision", type=click.Choice(PRECISION_WORDS), default="mixed", help="Data types."),
    option("--optimizer", type=click.Choice(OPTIMIZER_WORDS), default="adamw", help="Optimizer."),
    option(
        "--recomputation",
        type=click.Choice(RECOMPUTE_WORDS),
        default="auto",
        help="Activation checkpointing; auto: the least that fits.",
    ),
    option("--compiled-loss", is_flag=True, help="The loss is compiled or chunked and stores no float32 logits."),
    option(
        "--offload",
        is_flag=True,
        settable="project",
        help="FSDP, DeepSpeed: keep state and updates in host memory.",
    ),
    option(
        "--mfu",
        metavar="PERCENT|RUN",
        help="Model FLOPs utilization of the arithmetic alone, or a run of train that measured it."
        "  [default: the usual range]",
    ),
    option("--tokens", metavar="N", help="Also compute the time for this many tokens: 300B or 2T."),
)
@section(
    "How to distribute",
    option("--strategy", metavar="NAME,...", help="Only these: ddp, zero1, zero2, fsdp, hsdp.  [default: any]"),
    _degree("--tp", "tensor"),
    _degree("--cp", "context"),
    _degree("--pp", "pipeline"),
    _degree("--ep", "expert"),
    option(
        "--schedule",
        type=click.Choice(tuple(SCHEDULES)),
        default="1f1b",
        settable="project",
        help="Pipeline schedule.",
    ),
)
@section(
    OUTPUT,
    option(
        "--check",
        is_flag=True,
        help="Count what torch calls and stores for each strategy, in small models without GPUs.",
    ),
    option("--emit", type=click.Choice(KINDS), help="Print a starting configuration instead of the plan."),
    verbose,
    several(*FORMATS),
)
@kept
def command(model: str, check: bool, emit: str | None, run_dir: str | None, **options: Any) -> None:
    """Plan how to train MODEL on some GPUs: what fits, what a step sends and takes, and which strategy to use.

    MODEL is a name such as llama-3-8b, a size such as 7B, a config.json from Hugging Face, or a TOML file. Needs
    no GPU; only --check needs torch. Exit code 1: nothing fits.
    """
    from nccltool.cli.options import CommandEnded, group
    from nccltool.cli.outlet import deliver, deliver_each, ready_to_deliver
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.core.errors import BadInput
    from nccltool.plan import emit as files
    from nccltool.plan import run, views
    from nccltool.plan.options import PlanOptions, from_options

    ready_to_deliver()
    if emit and options["form"] != "table":
        raise BadInput("--emit writes its own format", "omit --format, or --emit")
    if emit and check:
        raise BadInput("--check is part of the plan, which --emit replaces", "omit --check, or --emit")
    order = from_options(model, group(PlanOptions, options), run_directory.base_folder(run_dir))
    plan = run.plan(order, this_command())
    if check:
        plan = run.with_counts(plan)
    if emit and plan.choice:
        deliver(files.emit(plan, emit), options["output"])
    else:
        deliver_each(lambda form, look: views.renderer(form, look)(plan))
    raise CommandEnded(plan.verdict.status, plan.verdict.exit_code)
