"""What the user sees: the result on standard output, everything else on standard error."""

import errno
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from signal import SIGHUP, SIGTERM
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nccltool.api import commands
from nccltool.cli import deliveries, handover, progress, run_progress
from nccltool.cli.looks import look_of
from nccltool.cli.options import CommandEnded
from nccltool.cli.streams import nobody_reads, say
from nccltool.core import signals, written_files
from nccltool.core.documents import this_command
from nccltool.core.errors import BadInput, NccltoolError, ResultNotWritten
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
    launcher = f"launcher: {order.launch.launcher} ({order.launch.why})"
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
        deliver_each(lambda form, look: text_of(run, form, look), _again("nccltool runs RUN --output FILE"))
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
            if run.verdict.exit_code in _ENDED_EARLY and not heat_chart.is_drawable(run):
                say(escaped(f"--plot {plot} was not drawn: the run ended before pairs could be compared"))
                return
            data = heat_chart.drawn(run, plot)
        else:
            data = plots.drawn(run.info, run.measurements, plot)
        write_file(plot, data, "--plot", _again("nccltool runs RUN --plot FILE"))


_ENDED_EARLY = (3, 130)
"""Did not complete, or was interrupted: who is to blame matters more than what was not drawn."""


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


def put(text: str | bytes) -> None:
    """Write the result to standard output, all of it. Raises ResultNotWritten."""
    if sys.stdout is None:
        raise ResultNotWritten("standard output is closed", "redirect it to a file or a pipe")
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, ValueError, OSError):  # replaced by something that is no file
        click.echo(text, nl=False)
        return
    data = text.encode(errors="replace") if isinstance(text, str) else text
    try:
        while data:  # not print(): with unbuffered output a signal would cost it the rest
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        nobody_reads(sys.stdout)
    except OSError as error:
        if error.errno == errno.EIO and stat.S_ISCHR(os.fstat(descriptor).st_mode):  # the terminal was closed
            nobody_reads(sys.stdout)
            return
        message = f"standard output cannot be written: {error.strerror}"
        raise ResultNotWritten(message, "free space or redirect it elsewhere") from error


def _name_errors(run: Run, said: Sequence[Finding] = ()) -> None:
    for finding in run.findings:
        if finding.severity != "info" and finding not in said:
            say(escaped(finding.headline))


def writable(path: str, option: str = "--output") -> None:
    """Find out before the run that its result can be written. Raises BadInput, whatever is wrong: nothing ran."""
    try:
        written_files.check(Path(path))
    except OSError as error:
        raise BadInput(_refusal(path, error, option), "name another file") from error


def ready_to_deliver() -> None:
    """Find out before the work that the result can be written in every form that is asked for. Raises BadInput."""
    for one in deliveries.every():
        if one.output:
            writable(one.output)


def deliver_each(render: Callable[[str, Look], str], late: str = "") -> None:
    """The result in every form that is asked for; one that cannot be written costs no other. Raises BadInput,
    ResultNotWritten."""
    failed: NccltoolError | None = None
    for one in deliveries.every():
        try:
            deliver(render(one.form, look_of(one.output)), one.output, late)
        except NccltoolError as error:
            failed = failed or error
    if failed:
        raise failed


def deliver(text: str, output: str | None, late: str = "") -> None:
    """The result: into the file of --output, else to standard output. Raises BadInput, ResultNotWritten."""
    if output:
        write_file(output, text.encode(errors="replace"), late=late)  # whatever the locale's encoding is
    else:
        put(text)


def _again(command: str) -> str:
    return f"name a file in another folder, without measuring again: {command}"


def write_file(path: str, data: bytes, option: str = "--output", late: str = "") -> None:
    """What an option is to write; `late`: the remedy where it could be written before the work. Raises BadInput,
    ResultNotWritten."""
    try:
        written_files.put(Path(path), data)
    except OSError as error:
        if error.errno in _WHILE_WRITING:
            raise ResultNotWritten(_refusal(path, error, option), "free space or name another file") from error
        if late:
            raise ResultNotWritten(_refusal(path, error, option), late) from error
        raise BadInput(_refusal(path, error, option), "name another file") from error


_WHILE_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.ENXIO)
"""The disk is full or broken, or nobody reads from the pipe: another name would not have helped before."""


def _refusal(path: str, error: OSError, option: str) -> str:
    return f"{option} {path} cannot be written: {error.strerror}"
