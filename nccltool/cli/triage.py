"""nccltool triage."""

import click

from nccltool.cli.options import formats, option, written


@click.command("triage")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@option("--summary", is_flag=True, help="Show hosts, communicators, variables, and what differs between hosts.")
@option("--trust-pickle", is_flag=True, help="Read pickled dumps of torch's flight recorder too.")
@formats("table", "json")
@written
def command(paths: tuple[str, ...], summary: bool, trust_pickle: bool, form: str, output: str | None) -> None:
    """The root cause out of logs: files, folders of files, - for standard input; also gzip, xz, zstd.

    Prints who or what is the offender, the lines that prove it, what to do, and what else it could be. Exit code 1
    when a root cause was found, 0 when nothing failed, 4 when there was nothing to judge.
    """
    from nccltool import triaging
    from nccltool.cli.screen import put, write
    from nccltool.documents import incident_to_json
    from nccltool.invocation import this_command
    from nccltool.render import triage

    incident = triaging.triage(paths, this_command(), trust_pickle)
    if form == "json":
        text = incident_to_json(incident) + "\n"
    else:
        text = triage.summary(incident.picture) if summary else triage.render(incident)
    write(output, text) if output else put(text)
    raise SystemExit(incident.verdict.exit_code)
