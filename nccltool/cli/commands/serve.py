"""nccltool serve."""

from typing import Any

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, Number, cluster, kept, option, quiet, stored
from nccltool.cli.streams import say
from nccltool.cli.tree import section


@click.command("serve", cls=ToolCommand, short_help="Serve run metrics to Prometheus over HTTP")
@section(
    "Where to listen",
    option(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:9779",
        help="Address to listen on; :PORT: all addresses.",
    ),
    option(
        "--allowed-host",
        "allowed",
        multiple=True,
        metavar="NAME",
        help="Also answer to this host name; *: to any. Addresses and the host's own name always work.",
    ),
    option(
        "--web-config", type=click.Path(), help="TLS and users: a web configuration file as for node_exporter."
    ),
)
@section(
    "Which metrics",
    option(
        "--every", type=Number(min=0.1), default=15.0, metavar="SECONDS", help="Read the runs again every SECONDS."
    ),
    option(
        "--max-age",
        type=Number(min=1.0),
        default=172800.0,
        metavar="SECONDS",
        help="Hide results older than SECONDS.",
    ),
    option(
        "--baseline", metavar="NAME|FILE", help="Also compare with this baseline.", shell_complete=values.baselines
    ),
    cluster,
)
@section(OUTPUT, quiet)
@kept
@stored
def command(
    listen: str, allowed: tuple[str, ...], web_config: str | None, every: float, max_age: float, **others: Any
) -> None:
    """Serve run metrics to Prometheus: /metrics, /healthz, and /runs.

    For each operation, size, and world size, the newest result is served with the time of its measurement.
    """
    import asyncio

    from nccltool.core import run_directory
    from nccltool.monitor import export, host_headers, http_server, metrics, serve
    from nccltool.monitor.web_config import WebConfig, check, read
    from nccltool.monitor.web_reload import WebReload

    web = read(web_config) if web_config else WebConfig()
    if web_config:
        check(web, web_config)
    hosts = host_headers.names(listen, allowed)
    named = metrics.cluster_name(others["cluster"])
    listening = http_server.listen(listen)
    against = export.against(others["baseline"], others["store"])
    base = run_directory.base_folder(others["run_dir"])
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    where = f"{'https' if web.cert_file else 'http'}://{shown}:{port}/metrics"

    def ready() -> None:
        if not others["quiet"]:
            say(f"serving {base} on {where}")

    reload = WebReload(web_config, web, say)
    served = serve.serve(
        base,
        listening,
        reload,
        hosts=hosts,
        every_s=every,
        max_age_s=max_age,
        against=against,
        cluster=named,
        ready=ready,
    )
    asyncio.run(served)
