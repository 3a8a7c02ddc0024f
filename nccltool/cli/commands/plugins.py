"""nccltool plugins."""

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, formats, written
from nccltool.cli.tree import section


@click.command("plugins", cls=ToolCommand, short_help="List the plug-ins of other packages")
@section(OUTPUT, formats("table", "json"), written)
def command(form: str, output: str | None) -> None:
    """List the plug-ins of other packages: rules, causes, collectives, checks, importers, exporters, launchers,
    and suites.

    The exit code is 1 if one of them cannot be used.
    """
    # each family says what its own names and rules leave no room for; those of the others are read on import
    import nccltool.launch.launchers
    import nccltool.monitor.exporters
    import nccltool.preflight.stages
    import nccltool.probe.collectives
    import nccltool.triage.causes  # noqa: F401
    from nccltool.cli.outlet import deliver
    from nccltool.core import plugin_list
    from nccltool.doctor import rules
    from nccltool.preflight import suite_reader

    rules.every()
    list(suite_reader.files())
    found = plugin_list.every()
    deliver(plugin_list.to_json(found) if form == "json" else plugin_list.to_text(found), output)
    raise SystemExit(any(one.problem for one in found))
