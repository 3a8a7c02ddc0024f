"""What the traces of `nccltool train --profile` show, at the end of the run."""

import shlex
from pathlib import Path

from nccltool.api import commands
from nccltool.cli import ENDED_EARLY
from nccltool.cli.streams import say
from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.probe.result import Run
from nccltool.trace.views import headline
from nccltool.train.job import trace_file
from nccltool.train.result import TrainRun


def tell(run: Run, folder: str) -> None:
    """A line for each strategy, and how to see more. A trace that cannot be read never fails the run."""
    assert isinstance(run, TrainRun)
    if run.verdict.exit_code in ENDED_EARLY:  # traces in the folder may be those of an earlier run
        return
    for training in run.trainings:
        if training.status != "skip":
            _tell_of(training.strategy, range(run.info.world_size or 0), Path(folder))
    if run.info.backend == "nccl":
        nsys = f"nsys profile --trace=cuda,nvtx --trace-fork-before-exec=true --output={shlex.quote(folder)}/nsys"
        say(escaped(f"for more about the GPUs of this host: {nsys} {shlex.join(run.info.command)}"))


def _tell_of(strategy: str, ranks: range, folder: Path) -> None:
    files = [folder / trace_file(strategy, rank) for rank in ranks]
    here = [str(file) for file in files if file.is_file()]
    told = f"not analyzed: {folder} on this host has no traces"
    try:
        if here:
            told = headline(commands.traced(here, ()))
    except BadInput as error:
        told = f"not analyzed: {error.message}"
    more = f"; nccltool trace {shlex.quote(str(folder))}/{strategy}-rank*" if here else ""
    say(escaped(f"profile of {strategy}: {told}{more}"))
