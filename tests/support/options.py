"""Options as the command line makes them of words."""

from typing import Any

import click

from nccltool.cli.commands.probe import asked
from nccltool.cli.options import group
from nccltool.cli.root import cli
from nccltool.launch.options import StartOptions
from nccltool.probe.options import ProbeOptions


def parsed(command: str, *words: str) -> dict[str, Any]:
    """What `nccltool COMMAND WORDS` makes of its words. Below the root: a command keeps the names under which it
    first knew its help, which are -h and --help only there."""
    parent = click.Context(cli, info_name="nccltool", **cli.context_settings)
    return cli.commands[command].make_context(command, list(words), parent).params


def of_probe(*words: str, fault: str = "") -> ProbeOptions:
    """The options of `nccltool probe WORDS`."""
    return asked(parsed("probe", *words), fault)


def to_start(options: dict[str, Any], fault: str = "") -> StartOptions:
    """Those of them that say where it runs."""
    return group(StartOptions, options, fault=fault)
