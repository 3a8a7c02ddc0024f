"""What the user sees: the result on standard output, everything else on standard error."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from signal import SIGHUP, SIGTERM
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nccltool.api import commands
from nccltool.cli import ENDED_EARLY, deliveries, handover, progress, run_progress
from nccltool.cli.options import CommandEnded
from nccltool.cli.outlet import again, deliver_each, put, ready_to_deliver, writable, write_file
from nccltool.cli.streams import say
from nccltool.core import signals
from nccltool.core.documents import this_command
from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding
from nccltool.core.look import Look
from nccltool.core.run_directory import base_folder
from nccltool.core.text import escaped
from nccltool.history import keeping
from nccltool.launch import torch_needed
from nccltool.launch.order import LaunchOrder
from nccltool.localize import heat_chart
from nccltool.localize import views as localize_views
from nccltool.localize.localized import LocalizedRun
from nccltool.preflight import run as preflight_run
from nccltool.preflight import views as preflight_views
from nccltool.preflight.result import Preflight
from nccltool.probe import plots, views
from nccltool.probe.result import Run
from nccltool.train import views as train_views
from nccltool.train.result import TrainRun

if TYPE_CHECKING:
    from nccltool.probe.run import Probe


def carry_out(
    kind: "type[Probe]",
    order: LaunchOrder[Any],
    options: Mapping[str, Any],
    at_end: Callable[[Run], None] | None = None,
) -> NoReturn:
    """Run an order, show what came of it, and end with its exit code. Raises BadInput."""
    probe = kind(
        order=order,
        runs_folder=base_folder(options["run_dir"]),
        min_busbw_gb_per_s=options.get("min_busbw"),
        command=this_command(),
        tell=put if options["events"] else None,
    )
    name = click.get_current_context().command.name or ""
    torch_needed.require(order.launch, name)
    targets = handover.targets(options)
    if order.leads:
        ready_to_deliver()
        ready_to_draw(options.get("plot"))
    is_silent = options["quiet"] or not order.leads
    launcher = escaped(f"launcher: {order.launch.launcher} ({order.launch.why})")
    with (
        signals.held(),
        progress.shown(run_progress.RunNews(), launcher, is_silent, options["events"]) as shown,
    ):
        run, folder = commands.measured(probe, name, shown.update)
    with signals.held(SIGTERM, SIGHUP):  # a launcher's, who ends all ranks when one has failed
        troubles = targets.take(run) if order.leads else ()
        _show(
            probe.with_findings(run, folder, troubles) if troubles else run, folder, options, order.leads, troubles
        )
        if at_end:
            at_end(run)
    raise CommandEnded(run.verdict.status, run.verdict.exit_code)


def _show(run: Run, folder: Path, options: Mapping[str, Any], leads: bool, said: Sequence[Finding]) -> None:
    """The result. Where rank 0 is elsewhere, only what went wrong here. `said`: what was named already."""
    if not leads:
        _name_errors(run)
        return
    try:
        deliver_each(lambda form, look: text_of(run, form, look), again("nccltool runs RUN --output FILE"))
        if deliveries.lack_findings():
            _name_errors(run, said)
        if run.measurements:  # else what was asked for is not drawn, as the result says
            draw(run, options.get("plot"))
    finally:  # most of all where the result could not be written: it is not lost
        if not options["quiet"]:
            say(f"saved to {folder}")
        remember(folder, options)


def with_history(found: Preflight, options: Mapping[str, Any]) -> Preflight:
    """With what earlier runs say of it. What stands in the way is said; it changes nothing else."""
    try:
        file = keeping.file_with_runs(options["history"])
        return preflight_run.with_history(found, file) if file else found
    except BadInput as error:
        say(escaped(f"the history was not read: {error.message}"))
        return found


def remember(folder: Path, options: Mapping[str, Any]) -> None:
    """Add a run that has ended to the history. What stands in the way is said; it changes nothing else."""
    if why := keeping.remember(folder, options["history"]):
        say(escaped(f"not added to the history: {why}"))


def ready_to_draw(plot: str | None) -> None:
    """Find out before the run that curves can be drawn there. Raises BadInput."""
    if plot:
        plots.checked(plot)
        writable(plot, "--plot")


def draw(run: Run | Preflight, plot: str | None) -> None:
    """The chart of a run, into the file of --plot. Raises BadInput, ResultNotWritten."""
    if plot:
        if isinstance(run, LocalizedRun):
            if run.verdict.exit_code in ENDED_EARLY and not heat_chart.is_drawable(run):
                say(escaped(f"--plot {plot} was not drawn: the run ended before pairs could be compared"))
                return
            data = heat_chart.drawn(run, plot)
        else:
            data = plots.drawn(run.info, run.measurements, plot)
        write_file(plot, data, "--plot", again("nccltool runs RUN --plot FILE"))


def text_of(run: Run | Preflight, form: str, look: Look) -> str:
    """A run in a format. Raises BadInput where that has no place for what was run."""
    match run:
        case Preflight():
            _fits(form, preflight_views.FORMATS, "a preflight")
            return preflight_views.renderer(form, look)(run)
        case LocalizedRun():
            _fits(form, localize_views.FORMATS, "a localization")
            return localize_views.renderer(form, look)(run)
        case TrainRun():
            _fits(form, train_views.FORMATS, "trainings")
            return train_views.renderer(form, look)(run)
    return views.renderer(form, look)(run)


def _fits(form: str, known: Sequence[str], what: str) -> None:
    if form not in known:
        raise BadInput(f"--format {form} cannot show {what}", f"choose from {', '.join(known)}")


def _name_errors(run: Run, said: Sequence[Finding] = ()) -> None:
    for finding in run.findings:
        if finding.severity != "info" and finding not in said:
            say(escaped(finding.headline))
