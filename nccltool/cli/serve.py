"""nccltool serve."""

import click

from nccltool.cli.options import Number, kept, option, stored


@click.command("serve")
@option("--listen", metavar="HOST:PORT", default="127.0.0.1:9779", help="Where to listen; :PORT is everywhere.")
@option("--web-config", type=click.Path(), help="TLS and users: a web configuration file as node_exporter has.")
@option("--every", type=Number(min=0.1), default=15.0, help="Seconds between two looks at the run directory.")
@option("--max-age", type=Number(min=1.0), default=172800.0, help="Seconds after which numbers are not shown.")
@option("--baseline", help="Hold the numbers against this baseline too: a name, or a file.")
@kept
@stored
def command(listen: str, web_config: str | None, every: float, max_age: float, **others: str | None) -> None:
    """Serve what runs found to Prometheus: /metrics, /healthz and /runs.

    Of each operation, size and world the newest number is shown, and when it was measured.
    """
    import asyncio

    from nccltool.core import run_directory
    from nccltool.monitor import export, http_server, serve
    from nccltool.monitor.web_config import WebConfig, check, read

    web = read(web_config) if web_config else WebConfig()
    if web_config:
        check(web, web_config)
    listening = http_server.listen(listen)
    against = export.against(others["baseline"], others["store"])
    base = run_directory.base_folder(others["run_dir"])
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    where = f"{'https' if web.cert_file else 'http'}://{shown}:{port}/metrics"

    def ready() -> None:
        click.echo(f"serving {base} on {where}", err=True)

    asyncio.run(serve.serve(base, listening, web, every_s=every, max_age_s=max_age, against=against, ready=ready))
