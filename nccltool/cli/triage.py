"""nccltool triage."""

from typing import Any

import click

from nccltool.cli.options import Number, formats, option, written


@click.command("triage")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@option("--summary", is_flag=True, help="Show hosts, communicators, variables, and what differs between hosts.")
@option("--trust-pickle", is_flag=True, help="Read pickled dumps of torch's flight recorder too.")
@option("--follow", is_flag=True, help="Read on as logs grow; end at the first sure root cause.")
@option("--settle", type=Number(0), default=10.0, help="Seconds in which nothing may change what is sure.")
@option("--for", "for_s", type=Number(0), help="Seconds to follow at most; then say what is known.")
@formats("table", "json")
@written
def command(paths: tuple[str, ...], **options: Any) -> None:
    """The root cause out of logs: files, folders of files, - for standard input; also gzip, xz, zstd.

    Prints who or what is the offender, the lines that prove it, what to do, and what else it could be. Exit code 1
    when a root cause was found, 0 when nothing failed, 4 when there was nothing to judge.

    With --follow it waits for lines, and for files that are not there yet. What a running job writes into a pipe
    (JOB 2>&1 | nccltool triage -) is judged as it comes too, and read to its end.
    """
    from nccltool.core.documents import this_command
    from nccltool.core.errors import BadInput
    from nccltool.triage import run
    from nccltool.triage.logs import tail

    if "" in paths:  # which would be this folder: "$LOG" with LOG not set
        raise BadInput("a PATH is empty", "name a log, a folder of logs, or - for standard input")
    if options["follow"] or (paths == ("-",) and tail.is_live("-")):
        raise SystemExit(_follow(paths, options))
    if options["for_s"] is not None:
        raise click.UsageError("--for has no effect without --follow.")
    incident = run.triage(paths, this_command(), options["trust_pickle"])
    _show(incident, options)
    raise SystemExit(incident.verdict.exit_code)


def _follow(paths: tuple[str, ...], options: dict[str, Any]) -> int:
    """Follow, show what is sure as soon as it is, and what came of it at the end."""
    from nccltool.core.documents import this_command
    from nccltool.core.text import escaped
    from nccltool.triage import follow

    def say(note: str) -> None:
        click.echo(escaped(note), err=True)

    def tell(incident: Any) -> None:
        if options["form"] != "json":  # which is one document
            _show(incident, options)

    order = follow.FollowOptions(
        paths=paths,
        command=this_command(),
        settle_s=options["settle"],
        for_s=options["for_s"],
        to_the_end=not options["follow"],
        trust_pickle=options["trust_pickle"],
    )
    followed = follow.follow(order, say, tell)
    if followed.was_told and options["form"] != "json":
        say(f"{followed.why}: it stays {followed.incident.root_cause}")
    else:
        say(followed.why)
        _show(followed.incident, options)
    return followed.incident.verdict.exit_code


def _show(incident: Any, options: dict[str, Any]) -> None:
    from nccltool.cli.screen import deliver
    from nccltool.triage import table
    from nccltool.triage.incident import incident_to_json

    if options["form"] == "json":
        text = incident_to_json(incident) + "\n"
    else:
        text = table.summary(incident.overview) if options["summary"] else table.render(incident)
    deliver(text, options["output"])
