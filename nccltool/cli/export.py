"""nccltool export."""

from typing import Any

import click

from nccltool.cli.options import Number, group, kept, option, stored, written


@click.command("export")
@click.argument("run", nargs=-1, required=True, metavar="RUN...")
@option("--textfile", metavar="FILE", help="Replace this file of node_exporter's textfile collector (.prom).")
@option("--pushgateway", metavar="URL", help="Push to this gateway, as job nccltool, grouped by command.")
@option("--group", multiple=True, metavar="NAME=VALUE", help="One more label of the group: instance=HOST.")
@option("--push-user", metavar="NAME", help="User of the gateway.")
@option("--push-password-file", type=click.Path(), help="File that holds the password.")
@option("--push-ca", type=click.Path(), help="PEM file of the authorities to trust.")
@option("--push-cert", type=click.Path(), help="PEM file of our own certificate.")
@option("--push-key", type=click.Path(), help="PEM file of its key.")
@option("--push-timeout", type=Number(min=0.1), default=30.0, help="Seconds to go on trying.")
@option(
    "--format",
    "exposition",
    type=click.Choice(["prometheus", "openmetrics"]),
    default="prometheus",
    help="Of what is printed.",
)
@option("--baseline", help="Hold the numbers against this baseline too: a name, or a file.")
@written
@kept
@stored
def command(**options: Any) -> None:
    """Hand what runs found to Prometheus. RUN is an id, a folder, a run.json, or latest.

    Without --textfile and --pushgateway it is printed.
    """
    from functools import partial

    from nccltool.cli.screen import deliver
    from nccltool.core import run_directory
    from nccltool.monitor import export, exposition

    asked = group(export.ExportOptions, options)
    destinations = export.destinations(asked)
    base = run_directory.base_folder(asked.run_dir)
    found, against = export.read(asked.run, base), export.against(asked.baseline, asked.store)
    samples = partial(export.samples, against=against)
    if not destinations:
        deliver(exposition.text(samples(found), asked.exposition).decode(), asked.output)
    for said in [one.hand_over(found, samples) for one in destinations]:
        click.echo(said, err=True)
