"""nccltool triage."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import every, several
from nccltool.cli.options import OUTPUT, Number, group, kept, option, verbose
from nccltool.cli.streams import say
from nccltool.cli.tree import section

if TYPE_CHECKING:
    from nccltool.triage.follow import FollowOptions
    from nccltool.triage.incident import Incident
    from nccltool.triage.table import TriageView


@click.command("triage", cls=ToolCommand, short_help="Find the root cause of a failed job in its logs")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=values.runs)
@section(
    "What to read",
    option(
        "--trust-pickle",
        is_flag=True,
        settable="no",
        help="Also load pickled flight recorder dumps. A pickle can run code.",
    ),
    option("--follow", is_flag=True, help="Read logs as they grow; exit at the first certain root cause."),
    option(
        "--settle",
        "settle_s",
        type=Number(0),
        default=10.0,
        metavar="SECONDS",
        settable="project",
        help="With --follow: SECONDS without a change before a cause is certain.",
    ),
    option("--for", "for_s", type=Number(0), metavar="SECONDS", help="With --follow: stop after SECONDS."),
)
@section(
    OUTPUT,
    option(
        "--summary",
        is_flag=True,
        settable="project",
        help="Show hosts, communicators, variables, and differences between hosts instead.",
    ),
    verbose,
    several("table", "json", "sarif", "junit", "ctrf", "nagios"),
)
@kept
def command(run_dir: str | None, **options: Any) -> None:
    """Find the root cause of a failed job in its logs.

    PATH is a log file, a folder of logs, or - for standard input; gzip, xz, zstd, and bzip2 are read too. It can
    also be a saved run: its id, the start of an id, or latest. Prints the suspect, the lines that prove it, what
    to do, and other candidates. Exit code 1: a root cause was found; 0: nothing failed; 4: nothing could be
    checked.

    With --follow, the command also waits for files that do not exist yet. A live pipe (JOB 2>&1 | nccltool
    triage -) is followed to its end.
    """
    from nccltool.api import commands
    from nccltool.cli.looks import look_of
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.core.documents import this_command
    from nccltool.core.errors import BadInput
    from nccltool.triage import follow, table
    from nccltool.triage.logs import tail

    options["paths"] = tuple(_path_of(word, run_dir) for word in options["paths"])
    asked = group(follow.FollowOptions, options, command=this_command())
    view = group(table.TriageView, options, look=look_of(options["output"]))
    if "" in asked.paths:  # which would be this folder: "$LOG" with LOG not set
        raise BadInput("a PATH is empty", "name a log, a folder of logs, or - for standard input")
    if asked.follow or (asked.paths == ("-",) and tail.input_is_live()):
        if len(every()) > 1:
            raise BadInput("logs that still grow are shown in one format", "name one --format and one --output")
        raise SystemExit(_follow(asked, view))
    if asked.for_s is not None:
        raise BadInput("--for has no effect without --follow", "add --follow")
    ready_to_deliver()
    report = commands.triaged(asked.paths, asked.trust_pickle, asked.command)
    deliver_each(lambda form, look: table.shown(report, replace(view, form=form, look=look)))
    raise SystemExit(report.verdict.exit_code)


_ID = re.compile(r"\d{8}T\d{6}Z(-[0-9a-f]*)?")


def _path_of(word: str, run_dir: str | None) -> str:
    """The folder of a run, for its id or `latest`: the newest run, however it ended. Other words are paths."""
    from nccltool.core import run_directory

    if Path(word).exists() or not (word == run_directory.LATEST or _ID.fullmatch(word)):
        return word
    base = run_directory.base_folder(run_dir)
    runs = run_directory.folders(base)
    return str(runs[-1] if word == run_directory.LATEST and runs else run_directory.find(base, word))


def _follow(asked: "FollowOptions", view: "TriageView") -> int:
    """Follow, show what is sure as soon as it is, and what came of it at the end."""
    from nccltool.cli.outlet import deliver
    from nccltool.core.text import escaped
    from nccltool.triage import follow, table
    from nccltool.triage.incident import TriageReport

    def say_escaped(note: str) -> None:
        say(escaped(note))

    def shown(incident: "Incident") -> str:
        return table.shown(TriageReport.of_one(incident, asked.paths), view)

    def tell(incident: "Incident") -> None:
        if view.form == "table":  # the others are one document
            deliver(shown(incident), view.output)

    followed = follow.follow(asked, say_escaped, tell)
    if followed.was_told and view.form == "table":
        say_escaped(f"{followed.why}: still {followed.incident.root_cause}")
    else:
        say_escaped(followed.why)
        deliver(shown(followed.incident), view.output)
    return followed.incident.verdict.exit_code
