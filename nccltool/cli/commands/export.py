"""nccltool export."""

from typing import Any

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, Number, cluster, group, kept, option, quiet, stored, written
from nccltool.cli.streams import say
from nccltool.cli.tree import section


@click.command("export", cls=ToolCommand, short_help="Export run metrics to Prometheus")
@click.argument("run", nargs=-1, required=True, metavar="RUN...", shell_complete=values.runs)
@section(
    "Where to",
    option("--textfile", metavar="FILE", help="Replace FILE (.prom) of node_exporter's textfile collector."),
    option("--pushgateway", metavar="URL", help="Push to this Pushgateway, as job nccltool, grouped by command."),
    option(
        "--group", multiple=True, metavar="NAME=VALUE", help="Add a grouping label: instance=HOST. Repeatable."
    ),
    option("--push-user", metavar="NAME", help="User name for the Pushgateway."),
    option("--push-password-file", type=click.Path(), help="Read the password from FILE."),
    option("--push-ca", type=click.Path(), help="CA certificates to trust (PEM)."),
    option("--push-cert", type=click.Path(), help="Client certificate (PEM)."),
    option("--push-key", type=click.Path(), help="Key of the client certificate (PEM)."),
    option("--otlp", metavar="URL", help="Send to this OpenTelemetry collector, over OTLP/HTTP."),
    option("--push-timeout", type=Number(min=0.1), default=30.0, metavar="SECONDS", help="Retry for SECONDS."),
)
@section(
    "Which metrics",
    option(
        "--baseline", metavar="NAME|FILE", help="Also compare with this baseline.", shell_complete=values.baselines
    ),
    cluster,
)
@section(
    OUTPUT,
    option(
        "--format",
        "exposition",
        type=click.Choice(["prometheus", "openmetrics"]),
        default="prometheus",
        settable="project",
        help="Format of printed metrics.",
    ),
    quiet,
)
@written
@kept
@stored
def command(**options: Any) -> None:
    """Export run metrics to Prometheus. RUN is an id, a folder, a run.json, or latest.

    Without --textfile, --pushgateway and --otlp the metrics are printed.
    """
    from functools import partial

    from nccltool.cli.outlet import deliver
    from nccltool.core import run_directory
    from nccltool.monitor import export, exposition, metrics

    asked = group(export.ExportOptions, options)
    destinations = export.destinations(asked)
    base = run_directory.base_folder(asked.run_dir)
    found, against = export.read(asked.run, base), export.against(asked.baseline, asked.store)
    samples = partial(export.samples, against=against)
    if not destinations:
        text = exposition.text(samples(found), asked.exposition, metrics.cluster_name(asked.cluster))
        deliver(text.decode(), asked.output)
    for said in [one.hand_over(found, samples) for one in destinations]:
        if not options["quiet"]:
            say(said)
