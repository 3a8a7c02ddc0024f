"""What the user sees: the result on standard output, everything else on standard error."""

import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from signal import SIGHUP, SIGTERM
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

from nccltool.cli.options import CommandEnded, Style
from nccltool.core import signals
from nccltool.core.documents import this_command
from nccltool.core.errors import BadInput
from nccltool.core.look import Look
from nccltool.core.run_directory import base_folder
from nccltool.core.text import escaped
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.launch import torch_needed
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.preflight import views as preflight_views
from nccltool.preflight.result import Preflight
from nccltool.probe import views
from nccltool.probe.finding_kinds import LEFT_OUT
from nccltool.probe.result import Measurement, Run
from nccltool.probe.state import ProbeState, measurement
from nccltool.train import views as train_views
from nccltool.train.events import Flowed, OfTraining, TimedSteps, TrainedStep
from nccltool.train.finding_kinds import NOT_COMPARED, REFERENCE_COST
from nccltool.train.result import TrainRun
from nccltool.train.state import TrainState

if TYPE_CHECKING:
    from nccltool.probe.run import Probe

_REFRESH_S = 0.1
_SIGNS = "±█"
"""Some of what `Look` draws where the locale can show it."""
_WITHOUT_FINDINGS = ("csv", "nccl-tests", "nccl-tests-json")
"""Formats that have no place for findings: what went wrong is then said beside them."""
_SAID_AT_ONCE = (LEFT_OUT, NOT_COMPARED, REFERENCE_COST)
"""Kinds of findings that are not kept for the end: what the run will not do, or will take long for."""


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
    torch_needed.require(order.launch, click.get_current_context().command.name or "")
    if options["output"] and order.leads:
        writable(options["output"])
    screen = _Screen(options, order.leads)
    if order.leads and not options["quiet"]:
        click.echo(f"launcher: {order.launch.launcher} ({order.launch.why})", err=True)
    with signals.held():
        run, folder = probe.run(screen.progress)
    with signals.held(SIGTERM, SIGHUP):  # a launcher's, who ends all ranks when one has failed
        screen.show(run, folder)
        if at_end:
            at_end(run)
    raise CommandEnded(run.verdict.status, run.verdict.exit_code)


class _Screen:
    """Progress while it runs, the result at its end."""

    def __init__(self, options: Mapping[str, Any], leads: bool) -> None:
        self._form, self._output, self._leads = options["form"], options["output"], leads
        self._quiet, self._verbose = options["quiet"], _style().verbose
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty() and not self._quiet and leads
        self._shown_rows = self._seen_findings = 0
        self._drawn_at = 0.0

    def progress(self, state: RunState) -> None:
        if self._leads and not self._quiet:
            self._new_notes(state)
            if self._verbose:
                self._new_rows(state)
        now = time.monotonic()
        if self._on_terminal and now - self._drawn_at > _REFRESH_S:
            self._drawn_at = now
            self._line(_status(state, now))

    def show(self, run: Run, folder: Path) -> None:
        """The result. Where rank 0 is elsewhere, only what went wrong here."""
        self._line("")
        if not self._leads:
            _name_errors(run)
            return
        text = text_of(run, self._form, look_of(self._output))
        deliver(text, self._output)
        if self._form in _WITHOUT_FINDINGS:
            _name_errors(run)
        if not self._quiet:
            click.echo(f"kept in {folder}", err=True)

    def _line(self, text: str) -> None:
        if self._on_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def _new_notes(self, state: RunState) -> None:
        """What a user may not want to wait for."""
        for finding in state.findings[self._seen_findings :]:
            if finding.kind in _SAID_AT_ONCE:
                self._line("")
                click.echo(escaped(finding.message), err=True)
        self._seen_findings = len(state.findings)

    def _new_rows(self, state: RunState) -> None:
        match state.product:
            case ProbeState(results=results):
                world_size = state.world.world_size if state.world else 1
                rows = [_row(measurement(*result, world_size)) for result in results[self._shown_rows :]]
                self._shown_rows = len(results)
            case TrainState(said=said) as heard:
                rows = [row for event in said[self._shown_rows :] if (row := _trained_row(event, heard))]
                self._shown_rows = len(said)
            case _:
                rows = []
        for row in rows:
            self._line("")
            click.echo(row, err=True)


def _status(state: RunState, now: float) -> str:
    elapsed = format_seconds(max(now - state.started_at, 0.1))
    if state.job.attempt:
        elapsed += f", restart {state.job.attempt}"
    if state.world is None:
        if not state.expected_ranks:
            return f"{len(state.hosts_met)} hosts are here, {elapsed}"
        came = sum(1 for rank in state.ranks.values() if rank.facts)
        return f"{came} of {state.expected_ranks} ranks are here, {elapsed}"
    done = f"[{len(state.product.done)}/{state.world.steps}]"
    entered = [rank.entered for rank in state.ranks.values() if rank.entered]
    if not entered:
        return f"{done} {elapsed}"
    latest = max(entered, key=lambda enter: enter.step)
    return f"{done} {latest.label or f'{latest.op} {format_bytes(latest.bytes)}'}, {elapsed}"


def _row(row: Measurement) -> str:
    return (
        f"{row.op:15} {format_bytes(row.bytes):>9} {format_seconds(row.time_s.seconds):>9} "
        f"busbw {format_gb_per_s(row.busbw_bytes_per_s):>7} GB/s  wrong {'-' if row.wrong is None else row.wrong}"
    )


def _trained_row(event: OfTraining, heard: TrainState) -> str | None:
    match event:
        case TrainedStep():
            left_out = "  overflowed: not updated" if event.overflowed else ""
            return (
                f"{event.strategy:9} step {event.number:<4} {format_seconds(event.ns / 1e9):>9}  "
                f"loss {float(event.loss):.7g}  reference {float(event.reference_loss):.7g}{left_out}"
            )
        case TimedSteps():
            samples = heard.samples(event.step)
            mean_s = sum(samples) / len(samples) / 1e9 if samples else math.nan
            return f"{event.strategy:9} {len(samples)} timed {format_seconds(mean_s):>9}  each"
        case Flowed():
            running = event.running_ns
            return f"{event.strategy:9} bubble {1 - event.computing_ns / running if running else math.nan:.0%}"
    return None


def text_of(run: Run | Preflight, form: str, look: Look) -> str:
    """A run in a format. Raises BadInput where that has no place for what was run."""
    match run:
        case Preflight():
            _fits(form, ("table", "json"), "a preflight")
            return preflight_views.renderer(form, look)(run)
        case TrainRun():
            _fits(form, train_views.FORMATS, "trainings")
            return train_views.renderer(form, look)(run)
    return views.renderer(form, look)(run)


def look_of(output: str | None = None) -> Look:
    """What the reader of the result can see: a terminal, or with --output and in a pipe only text."""
    style = _style()
    if output or sys.stdout is None or not sys.stdout.isatty():
        return Look(
            colors=style.color == "always", unicode=bool(output) or _shows_unicode(), verbose=style.verbose
        )
    width, height = shutil.get_terminal_size()
    colors = style.color == "always" or (style.color == "auto" and _is_colorful(os.environ))
    return Look(width=width, height=height, colors=colors, unicode=_shows_unicode(), verbose=style.verbose)


def _style() -> Style:
    context = click.get_current_context(silent=True)
    style = context.obj if context else None
    return style if isinstance(style, Style) else Style()


def _is_colorful(environ: Mapping[str, str]) -> bool:
    """As https://no-color.org says; TERM is dumb in editors and in CI."""
    return not environ.get("NO_COLOR") and environ.get("TERM", "dumb") != "dumb"


def _shows_unicode() -> bool:
    """Python takes UTF-8 also in the locale C, which it then says in LC_CTYPE: what the user set decides."""
    of_user = (os.environ.get("LC_ALL"), os.environ.get("LC_CTYPE"), os.environ.get("LANG"))
    named = next((name for name in of_user if name), "")
    if named == "C.UTF-8" and not of_user[0]:
        named = of_user[2] or named
    if named.upper() in ("C", "POSIX") or ("." in named and "UTF8" not in named.upper().replace("-", "")):
        return False
    try:
        _SIGNS.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _fits(form: str, known: Sequence[str], what: str) -> None:
    if form not in known:
        raise BadInput(f"--format {form} has no place for {what}", f"choose from {', '.join(known)}")


def put(text: str) -> None:
    """Write the result to standard output, all of it. Raises BadInput."""
    if sys.stdout is None:
        raise BadInput("standard output is closed", "use --output FILE")
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, ValueError, OSError):  # replaced by something that is no file
        click.echo(text, nl=False)
        return
    data = text.encode(errors="replace")
    try:
        while data:  # not print(): with unbuffered output a signal would cost it the rest
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BadInput(f"standard output cannot be written: {error.strerror}", "use --output FILE") from error


def _name_errors(run: Run) -> None:
    for finding in run.findings:
        if finding.severity != "info":
            click.echo(escaped(finding.headline), err=True)


def writable(path: str) -> None:
    """Find out before the run that its result can be written. Raises BadInput."""
    _write(path, "ab", b"")


def deliver(text: str, output: str | None) -> None:
    """The result: into the file of --output, else to standard output. Raises BadInput."""
    if output:
        _write(output, "wb", text.encode(errors="replace"))  # whatever the locale's encoding is
    else:
        put(text)


def _write(path: str, mode: Literal["ab", "wb"], data: bytes) -> None:
    try:
        with Path(path).open(mode) as file:
            file.write(data)
    except OSError as error:
        raise BadInput(f"--output {path} cannot be written: {error.strerror}", "name another file") from error
