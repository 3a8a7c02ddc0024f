"""nccltool train."""

import click

from nccltool.cli.options import Number, formats, kept, option, started, written

_SOME = click.IntRange(1)


@click.command("train")
@click.argument("strategy")
@option("--size", type=click.Choice(("tiny", "125m", "1b")), default="tiny", help="Size of the model.")
@option("--layers", type=_SOME, help="Transformer blocks.  [default: as --size says]")
@option("--width", type=_SOME, help="Width of the model.  [default: as --size says]")
@option("--heads", type=_SOME, help="Attention heads.  [default: as --size says]")
@option("--context", type=_SOME, help="Tokens of a sequence.  [default: as --size says]")
@option("--vocabulary", type=_SOME, help="Different tokens.  [default: as --size says]")
@option("--batch", type=_SOME, help="Sequences of each rank in a step.  [default: as --size says]")
@option("--steps", type=click.IntRange(1, 10**4), default=6, help="Steps to hold against the reference.")
@option("--time-steps", type=click.IntRange(0, 10**4), default=10, help="Steps to time after them; 0 = none.")
@option("--seed", type=click.IntRange(0, 2**31), default=1, help="Of the model and of the data.")
@option("--learning-rate", type=Number(0), default=0.1, help="Of plain SGD.")
@option("-d", "--dtype", default="float32", help="Element type.")
@option("--accumulate", type=_SOME, default=1, help="Micro-batches of each rank in a step (data parallel).")
@option("--micro-batches", type=_SOME, default=2, help="Micro-batches for each rank of a pipeline.")
@option("--comm-hook", type=click.Choice(("none", "fp16", "bf16")), default="none", help="DDP: compress so.")
@option("--bucket", type=Number(0.001), default=25.0, help="DDP: MiB of a bucket of gradients.")
@option("--gradient-as-bucket-view", is_flag=True, help="DDP: gradients are views of the buckets.")
@option("--static-graph", is_flag=True, help="DDP: the graph of each step is the same.")
@option("--recompute", is_flag=True, help="Activation checkpointing in every block.")
@option(
    "--shard", type=click.Choice(("full", "grad", "hybrid", "none")), default="full", help="FSDP: what is sharded."
)
@option("--schedule", type=click.Choice(("gpipe", "1f1b")), default="1f1b", help="Of a pipeline.")
@started
@option("-v", "--verbose", is_flag=True, help="Show each row on standard error as it is measured.")
@option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@formats("table", "json")
@written
@kept
def command(**options: object) -> None:
    """Small real trainings, each step held against a single process.

    STRATEGY is one way to train in parallel, several with commas between them, or all: 3d, context, ddp, fsdp,
    pipeline, tensor, tp+fsdp, zero1. The ranks are started as those of `nccltool probe` are.
    """
    from pathlib import Path
    from signal import SIGHUP, SIGTERM

    from nccltool import runs, training, trainjobs
    from nccltool.cli.screen import Screen
    from nccltool.invocation import this_command
    from nccltool.probe import Probe
    from nccltool.runner import signals_held

    run_dir = options.pop("run_dir")
    train = Probe(
        order=trainjobs.from_options(options),
        runs_folder=Path(str(run_dir)) if run_dir else runs.default_base(),
        min_busbw_gb_per_s=None,
        command=this_command(),
        judge=training.judged,
    )
    screen = Screen.of(options, train.order.leads)
    screen.begin(train.order.launch)
    with signals_held():
        run, folder = train.run(screen.progress)
    with signals_held(SIGTERM, SIGHUP):  # a launcher's, who ends all ranks when one has failed
        screen.show(run, folder)
    raise SystemExit(run.verdict.exit_code)
