"""nccltool export."""

from dataclasses import replace
from typing import Any

import click

from nccltool.cli.options import Number, kept, option, stored, written


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
def command(
    run: tuple[str, ...],
    exposition: str,
    textfile: str | None,
    pushgateway: str | None,
    output: str | None,
    **others: Any,
) -> None:
    """Hand what runs found to Prometheus. RUN is an id, a folder, a run.json, or latest.

    Without --textfile and --pushgateway it is printed.
    """
    from pathlib import Path

    from nccltool.cli.screen import put, write
    from nccltool.core import run_directory
    from nccltool.monitor import export
    from nccltool.monitor import exposition as expositions
    from nccltool.monitor.exporters.pushgateway import check

    _fit(textfile, pushgateway, output, exposition, others)
    gateway = None
    if pushgateway is not None:
        user, password_file = others["push_user"], others["push_password_file"]
        gateway = export.gateway(pushgateway, others["group"], user=user, password_file=password_file)
        tls = {f"{name}_file": others[f"push_{name}"] for name in ("ca", "cert", "key")}
        gateway = replace(gateway, **tls, timeout_s=others["push_timeout"])
        check(gateway)
    base = Path(others["run_dir"]) if others["run_dir"] else run_directory.default_base()
    found, against = export.read(run, base), export.against(others["baseline"], others["store"])
    if textfile is None and gateway is None:
        text = expositions.text(export.samples(found, against), exposition).decode()
        write(output, text) if output else put(text)
        return
    for said in export.hand_over(found, export.Destinations(textfile=textfile, gateway=gateway), against):
        click.echo(said, err=True)


def _fit(
    textfile: str | None, pushgateway: str | None, output: str | None, exposition: str, others: dict[str, Any]
) -> None:
    """What would be read and then not used is a mistake."""
    from nccltool.core.errors import BadInput

    if pushgateway is None:
        for name in ("group", "push_user", "push_password_file", "push_ca", "push_cert", "push_key"):
            if others[name]:
                option = "--" + name.replace("_", "-")
                raise BadInput(f"{option} goes with --pushgateway", "add --pushgateway URL, or leave it out")
    if textfile is not None or pushgateway is not None:
        for option, given in (("--output", output), ("--format", exposition != "prometheus")):
            if given:
                raise BadInput(
                    f"{option} is for what is printed, and nothing is", "leave out --textfile and --pushgateway"
                )
