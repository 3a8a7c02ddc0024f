"""nccltool history."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nccltool.cli import options as shared
from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, kept, only_typed, option, text_or_json, verbose
from nccltool.cli.streams import say
from nccltool.cli.tree import DefaultGroup, section
from nccltool.core.text import escaped

if TYPE_CHECKING:
    from nccltool.history.prometheus import PrometheusServer


@click.command("history", cls=ToolCommand, short_help="Show how hosts, checks, and speeds were in earlier runs")
@click.argument("word", required=False, default="", metavar="[HOST|OP|CHECK]", shell_complete=values.remembered)
@section(
    "Which runs count",
    option(
        "--since",
        default="60d",
        metavar="TIME",
        help="Runs from the last 12h or 30d or since a date (2026-01-31).",
    ),
)
@section(OUTPUT, verbose, several("table", "json", "csv"))
@shared.history
def _show(word: str, since: str, form: str, output: str | None, history: str | None) -> None:
    """Show which hosts failed again and again, which flap, and which levels changed, since when.

    HOST shows one host, OP the values of an operation, CHECK the hosts that did not pass a check. Runs of probe,
    pairs, train, and preflight are added at their end; `nccltool history import` adds saved ones.
    """
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.core.units import parse_since
    from nccltool.history import ask, keeping, views

    ready_to_deliver()
    answer = ask.ask(keeping.file_to_read(history), word, parse_since(since, "--since"))
    deliver_each(lambda kind, look: views.render(answer, kind, look))


@click.command("import", cls=ToolCommand, short_help="Add saved runs to the history")
@click.argument("paths", nargs=-1, metavar="[PATH|URL]...", type=click.Path())
@section(
    "Prometheus",
    option("--since", default="60d", metavar="TIME", help="Runs from the last 30d or since a date."),
    option("--prometheus-user", metavar="NAME", settable="no", help="User for basic authentication."),
    option(
        "--prometheus-password-file",
        type=click.Path(dir_okay=False),
        settable="no",
        help="File with its password.",
    ),
    option("--prometheus-ca", type=click.Path(dir_okay=False), settable="no", help="Trust these CA certificates."),
)
@text_or_json
@kept
@shared.history
def _import(
    paths: tuple[str, ...], since: str, form: str, run_dir: str | None, history: str | None, **access: str | None
) -> None:
    """Add saved runs: PATH is a run's folder, a run.json, a folder of runs, or another history; URL a Prometheus.

    Without PATH, the folder for saved runs. Runs that the history has already are left as they are.
    """
    import time

    from nccltool.cli.outlet import put
    from nccltool.core import run_directory
    from nccltool.core.units import parse_since
    from nccltool.history import keeping, views

    places = [_place(path, access) for path in paths] or [run_directory.base_folder(run_dir)]
    begin = parse_since(since, "--since")
    done = keeping.take_in(keeping.file_to_read(history), places, time.time(), begin)
    for folder, why in done.skipped:
        say(escaped(f"not added: {folder}: {why}"))
    put(views.imported(done, form))


def _place(path: str, access: "Mapping[str, str | None]") -> "Path | PrometheusServer":
    """A path, or the server that a URL names. Raises BadInput."""
    from nccltool.core import user_files
    from nccltool.history import prometheus

    if not prometheus.is_url(path):
        return Path(path)
    file, option = access["prometheus_password_file"], "--prometheus-password-file"
    secret = user_files.contents(file, option, remedy="check the name").decode(errors="replace") if file else ""
    return prometheus.PrometheusServer(
        url=path,
        user=access["prometheus_user"],
        password=secret.rstrip("\r\n"),
        ca_file=access["prometheus_ca"],
    )


@click.command("prune", cls=ToolCommand, short_help="Remove old runs from the history")
@section(
    "Which runs to remove",
    only_typed("--older-than", metavar="TIME", required=True, help="Runs that started more than TIME ago: 30d."),
)
@section(OUTPUT, only_typed("--dry-run", is_flag=True, help="Only count what would be removed."), text_or_json)
@shared.history
def _prune(older_than: str, dry_run: bool, form: str, history: str | None) -> None:
    """Remove runs from the history by their age. Saved runs are kept; see `nccltool runs rm`."""
    import time

    from nccltool.cli.outlet import put
    from nccltool.core.units import parse_age
    from nccltool.history import keeping, views
    from nccltool.history.database import History

    age = parse_age(older_than, "--older-than")
    file = keeping.file_to_read(history)
    put(views.pruned(str(file), History(file).prune(time.time() - age, dry_run), dry_run, form))


command = DefaultGroup(_show, _import, _prune)
