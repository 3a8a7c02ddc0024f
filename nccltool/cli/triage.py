"""nccltool triage."""

from typing import TYPE_CHECKING, Any

import click

from nccltool.cli.options import Number, formats, group, option, verbose, written

if TYPE_CHECKING:
    from nccltool.triage.follow import FollowOptions
    from nccltool.triage.incident import Incident
    from nccltool.triage.table import TriageView


@click.command("triage")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@option("--summary", is_flag=True, help="Show hosts, communicators, variables, and what differs between hosts.")
@option("--trust-pickle", is_flag=True, help="Read pickled dumps of torch's flight recorder too.")
@option("--follow", is_flag=True, help="Read on as logs grow; end at the first sure root cause.")
@option(
    "--settle", "settle_s", type=Number(0), default=10.0, help="Seconds in which nothing may change what is sure."
)
@option("--for", "for_s", type=Number(0), help="Seconds to follow at most; then say what is known.")
@verbose
@formats("table", "json")
@written
def command(**options: Any) -> None:
    """The root cause out of logs: files, folders of files, - for standard input; also gzip, xz, zstd.

    Prints who or what is the offender, the lines that prove it, what to do, and what else it could be. Exit code 1
    when a root cause was found, 0 when nothing failed, 4 when there was nothing to judge.

    With --follow it waits for lines, and for files that are not there yet. What a running job writes into a pipe
    (JOB 2>&1 | nccltool triage -) is judged as it comes too, and read to its end.
    """
    from nccltool.cli.screen import deliver, look_of
    from nccltool.core.documents import this_command
    from nccltool.core.errors import BadInput
    from nccltool.triage import follow, run, table
    from nccltool.triage.logs import tail

    asked = group(follow.FollowOptions, options, command=this_command())
    view = group(table.TriageView, options, look=look_of(options["output"]))
    if "" in asked.paths:  # which would be this folder: "$LOG" with LOG not set
        raise BadInput("a PATH is empty", "name a log, a folder of logs, or - for standard input")
    if asked.follow or (asked.paths == ("-",) and tail.input_is_live()):
        raise SystemExit(_follow(asked, view))
    if asked.for_s is not None:
        raise click.UsageError("--for has no effect without --follow.")
    import nccltool.launch.finding_kinds  # noqa: F401  what the findings of a run stand for

    incident = run.triage(asked.paths, asked.command, asked.trust_pickle)
    deliver(table.shown(incident, view), view.output)
    raise SystemExit(incident.verdict.exit_code)


def _follow(asked: "FollowOptions", view: "TriageView") -> int:
    """Follow, show what is sure as soon as it is, and what came of it at the end."""
    from nccltool.cli.screen import deliver
    from nccltool.core.text import escaped
    from nccltool.triage import follow, table

    def say(note: str) -> None:
        click.echo(escaped(note), err=True)

    def tell(incident: "Incident") -> None:
        if view.form != "json":  # which is one document
            deliver(table.shown(incident, view), view.output)

    followed = follow.follow(asked, say, tell)
    if followed.was_told and view.form != "json":
        say(f"{followed.why}: it stays {followed.incident.root_cause}")
    else:
        say(followed.why)
        deliver(table.shown(followed.incident, view), view.output)
    return followed.incident.verdict.exit_code
