"""Options that mean the same in every command, and their twins in the environment."""

import functools
import inspect
import math
import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import click
from click.core import ParameterSource

from nccltool.core import verdicts
from nccltool.core.errors import BadInput, NccltoolError
from nccltool.core.text import escaped
from nccltool.launch import launchers
from nccltool.probe.views import FORMATS

F = TypeVar("F", bound=Callable[..., Any])
Group = TypeVar("Group")


class Number(click.FloatRange):
    """A finite number from `min` on: nan would be a limit that nothing ever passes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number, or click's usage error."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


def group(kind: type[Group], options: Mapping[str, Any], **others: Any) -> Group:
    """A frozen group of options: its fields have the names of the options that it takes."""
    names = inspect.signature(kind).parameters.keys() & options.keys()
    return kind(**{name: options[name] for name in names}, **others)


def injected_fault() -> str:
    """What the variable NCCLTOOL_FAULT asks for. Raises BadInput when that is no drill."""
    from nccltool.launch import fault_injection
    from nccltool.probe import collectives
    from nccltool.train import strategies

    text = os.environ.get(fault_injection.VARIABLE, "")
    fault_injection.parse(text, (*collectives.NAMES, *strategies.NAMES))
    return text


def option(*names: str, **settings: Any) -> Callable[[F], F]:
    """A click option with the environment twin NCCLTOOL_<LONG NAME>."""
    long = next(name for name in names if name.startswith("--"))
    twin = "NCCLTOOL_" + long.lstrip("-").replace("-", "_").upper()
    return click.option(*names, envvar=twin, show_default=settings.get("default") is not None, **settings)


def words_of(command: click.Command, name: str, words: Sequence[str]) -> tuple[dict[str, Any], frozenset[str]]:
    """Options of a command, as another host will read them: without the variables of here; and which are given."""
    parameters = [copy(parameter) for parameter in command.params]
    for parameter in parameters:
        parameter.envvar = None
    bare = copy(command)
    bare.params = parameters
    context = bare.make_context(name, list(words), parent=click.get_current_context().parent)
    return context.params, given(context, context.params)


def given(context: click.Context, names: Iterable[str]) -> frozenset[str]:
    """Those of the options that are words of the command line."""
    return frozenset(name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)


def refuse(named: Container[str], names: Iterable[str], where: str, remedy: str) -> None:
    """Options that have no meaning somewhere. Raises BadInput for the first that is named."""
    for name in names:
        if name in named:
            raise BadInput(f"--{name.replace('_', '-')} has no meaning {where}", remedy)


def together(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options, in this order."""
    return lambda function: functools.reduce(lambda made, one: one(made), reversed(decorators), function)


@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """What a user asks of what is drawn; `obj` of the command's context."""

    color: Literal["auto", "always", "never"] = "auto"
    verbose: bool = False


def _into_style(context: click.Context, parameter: click.Parameter, value: object) -> None:
    context.obj = replace(context.obj or Style(), **{str(parameter.name): value})


_COLORS = click.Choice(("auto", "always", "never"))
color = option(
    "--color", type=_COLORS, default="auto", expose_value=False, callback=_into_style, help="When to use colors."
)
verbose = option(
    *("-v", "--verbose"), is_flag=True, expose_value=False, callback=_into_style, help="Show every row and detail."
)
"""Of commands whose table leaves something out."""


def formats(*names: str) -> Callable[[F], F]:
    """--format: how the result is shown, and --color."""
    return together(
        option("--format", "form", type=click.Choice(names), default="table", help="How to show the result."),
        color,
    )


written = option("--output", type=click.Path(dir_okay=False), help="Write the result to a file.")
shown = together(formats(*FORMATS), written)
"""Where and how the result of a run is shown."""
kept = option(
    "--run-dir",
    type=click.Path(file_okay=False),
    help="The folder that keeps runs (default: nccltool/runs in your XDG state folder).",
)
stored = option(
    "--store",
    type=click.Path(dir_okay=False),
    help="The file that keeps baselines (default: nccltool/baselines.sqlite in your XDG state folder).",
)


class CommandEnded(SystemExit):
    """The end of a command that has judged."""

    def __init__(self, status: str, code: int) -> None:
        super().__init__(code)
        self.status = status


def exit_styled(function: F) -> F:
    """--exit-style: exit codes as in our contract, or as monitoring plugins have them."""

    @functools.wraps(function)
    def styled(**options: Any) -> None:
        form = options.get("form")
        style = options.pop("exit_style") or ("nagios" if form == "nagios" else "default")
        if style == "default":
            function(**options)
            return
        try:
            function(**options)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
            raise SystemExit(verdicts.of_plugin(getattr(ended, "status", ""), code)) from ended
        except NccltoolError as error:
            code = verdicts.of_plugin("", error.exit_code)
            # a plugin says on standard output what it has to say; other formats have no place for it there
            click.echo(f"NCCLTOOL {verdicts.PLUGIN_WORDS[code]} - {escaped(error.message)}", err=form != "nagios")
            if error.remedy:
                click.echo(f"  -> {escaped(error.remedy)}", err=True)
            raise SystemExit(code) from error

    text = "Exit with 0 to 4, or with 0 to 3 as plugins of Nagios.  [default: as --format]"
    return option("--exit-style", type=click.Choice(verdicts.EXIT_STYLES), help=text)(styled)  # type: ignore[return-value]


_NODES = option("--nodes", type=click.IntRange(1, 10**6), help="Nodes.  [default: 1, or as the launcher says]")
_NPROC = option("--nproc-per-node", help="Ranks on a node, or auto: one per GPU.  [default: auto]")
_LAUNCHERS = click.Choice(("auto", *launchers.NAMES))
_BACKENDS = click.Choice(("auto", "nccl", "gloo"))
launched = together(
    option("--launcher", type=_LAUNCHERS, default="auto", help="Who starts the nodes."),
    option("--hosts", help="Hosts to reach by ssh: n[01-04],user@x3:2222."),
    option("--hostfile", type=click.Path(dir_okay=False), help="The same, one a line, in a file."),
    option("--ssh", default="ssh", help="The ssh command, with options of its own."),
    option("--remote-python", help="Python on the hosts.  [default: the path of this one]"),
    option(
        "--remote-env",
        help="More variables to take there; those of the libraries (NCCL_*, TORCH_*, FI_*, ...) go anyway.",
    ),
)
"""How the nodes are started."""
_PATIENCE = together(
    option("--keep-going", is_flag=True, help="Go on without hosts that cannot take part."),
    option("--backend", type=_BACKENDS, default="auto", help="torch backend."),
    option("--timeout", type=Number(1), default=30.0, help="Seconds in which something must move."),
    option("--join-timeout", type=Number(1), default=120.0, help="Seconds to wait for other nodes."),
)
laddered = together(_NODES, _NPROC, launched, _PATIENCE)
"""Where runs are started, of a command that starts several of them from here."""
started = together(
    _NODES,
    _NPROC,
    option("--node-rank", type=click.IntRange(0), help="This host is node R of --nodes; needs --rdzv-endpoint."),
    option("--rdzv-endpoint", help="HOST:PORT of node 0, the same on every node."),
    launched,
    _PATIENCE,
    option("--deadline", type=Number(1), default=3600.0, help="Seconds for the whole run."),
)
"""Where ranks run, who starts them, and how long anything may take: of commands that start ranks."""
