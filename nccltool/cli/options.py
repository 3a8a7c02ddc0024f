"""Options that mean the same in every command, and their twins in the environment."""

import functools
import inspect
import math
import os
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import click
from click.core import ParameterSource

from nccltool.cli.streams import say
from nccltool.cli.tree import Option, section
from nccltool.core import verdicts
from nccltool.core.errors import BadInput, NccltoolError
from nccltool.core.text import escaped
from nccltool.launch import launchers

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
    """An option with its twin in the environment, NCCLTOOL_<LONG NAME>; the metavar says what its value is."""
    long = next(name for name in names if name.startswith("--"))
    twin = "NCCLTOOL_" + long.lstrip("-").replace("-", "_").upper()
    shows_default = settings.get("default") is not None
    kind = settings.get("type")
    if isinstance(kind, click.Path):
        settings.setdefault("metavar", "FILE" if kind.file_okay else "DIR")
    elif isinstance(kind, click.IntRange):
        settings["metavar"] = settings.get("metavar") or "N"
    return click.option(*names, cls=Option, envvar=twin, show_default=shows_default, **settings)


def only_typed(*names: str, **settings: Any) -> Callable[[F], F]:
    """An option that only the command line gives: neither a variable nor a file makes a command delete things."""
    return click.option(*names, cls=Option, settable="no", show_default=False, **settings)


def words_of(command: click.Command, name: str, words: Sequence[str]) -> tuple[dict[str, Any], frozenset[str]]:
    """Options of a command, as another host will read them: without the variables of here; and which are given."""
    parameters = [copy(parameter) for parameter in command.params]
    for parameter in parameters:
        parameter.envvar = None
        if isinstance(parameter, Option):
            parameter.settable = "no"
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
    "--color",
    type=_COLORS,
    default="auto",
    settable="project",
    expose_value=False,
    callback=_into_style,
    help="When to use colors.",
)
verbose = option(
    *("-v", "--verbose"),
    is_flag=True,
    settable="project",
    expose_value=False,
    callback=_into_style,
    help="Show every row and detail.",
)
"""Of commands whose table leaves something out."""


OUTPUT = "Output"
"""The section of what is printed, and where results go."""


_DECLARED = len("      --format ")
_SCREEN = 80


def on_a_screen(names: Sequence[str]) -> str:
    """The names as click shows them, on several lines where one is too long for a screen."""
    lines = textwrap.wrap(f"[{' '.join(names)}]", _SCREEN - _DECLARED - 1, break_on_hyphens=False)
    return ("|\n" + " " * _DECLARED).join(line.replace(" ", "|") for line in lines)


def formats(*names: str) -> Callable[[F], F]:
    """--format: how the result is shown, and --color."""
    return section(OUTPUT, _form(*names), color)


def _form(*names: str) -> Callable[[F], F]:
    kind = click.Choice(names)
    return option(
        *("--format", "form"),
        type=kind,
        metavar=on_a_screen(names),
        default="table",
        settable="project",
        help="Output format.",
    )


text_or_json = section(OUTPUT, _form("table", "json"))
"""Of commands that print lines without colors."""


def not_dash(output: str | None) -> str | None:
    """The file of --output; None = standard output, which `-` means too."""
    return None if output == "-" else output


written = section(
    OUTPUT,
    option(
        "--output",
        type=click.Path(dir_okay=False),
        callback=lambda context, parameter, given: not_dash(given),
        help="Write the result to FILE.",
    ),
)
plot = section(
    OUTPUT,
    option("--plot", type=click.Path(dir_okay=False), help="Draw the result into FILE.svg or FILE.png."),
)
quiet = option("-q", "--quiet", is_flag=True, settable="project", help="Print only results and errors.")
kept = section(
    OUTPUT,
    option(
        "--run-dir",
        type=click.Path(file_okay=False),
        help="Folder for saved runs.  [default: $XDG_STATE_HOME/nccltool/runs]",
    ),
)
stored = section(
    OUTPUT,
    option(
        "--store",
        type=click.Path(dir_okay=False),
        help="File for baselines.  [default: $XDG_STATE_HOME/nccltool/baselines.sqlite]",
    ),
)

history = section(
    OUTPUT,
    option(
        "--history",
        metavar="FILE",
        help="History of hosts, or none.  [default: $XDG_STATE_HOME/nccltool/history.sqlite]",
    ),
)
"""Of commands that add their run to it at their end, and of those that read it."""

cluster = option("--cluster", metavar="NAME", help="Add the label cluster=NAME to all metrics.")
handed_over = section(
    OUTPUT,
    option(
        "--metrics",
        multiple=True,
        metavar="TARGET",
        help="Export metrics: textfile:FILE.prom, pushgateway:URL or otlp:URL. Repeatable.",
    ),
    cluster,
)
"""Where a command hands its metrics over at its end."""


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
            said = f"NCCLTOOL {verdicts.PLUGIN_WORDS[code]} - {escaped(error.message)}"
            click.echo(said) if form == "nagios" else say(said)
            if error.remedy:
                say(f"  -> {escaped(error.remedy)}")
            raise SystemExit(code) from error

    text = "Exit codes: default (0-4), or nagios (0-3)."
    style = option("--exit-style", type=click.Choice(verdicts.EXIT_STYLES), settable="project", help=text)
    return section(OUTPUT, style)(styled)  # type: ignore[return-value]


WHERE = "Where to run"
"""The section of nodes, ranks, and how they are started."""
PATIENCE = "Time limits"
NODES = option(
    "--nodes", type=click.IntRange(1, 10**6), help="Number of nodes.  [default: from the launcher, or 1]"
)
NPROC = option("--nproc-per-node", metavar="N|auto", help="Ranks per node; auto: one per GPU.  [default: auto]")
_LAUNCHERS = click.Choice(("auto", *launchers.NAMES))
_BACKENDS = click.Choice(("auto", "nccl", "gloo"))
launched = together(
    option("--launcher", type=_LAUNCHERS, default="auto", help="How to start the nodes."),
    option("--hosts", metavar="HOSTS", help="Hosts to start over ssh: n[01-04],user@x3:2222."),
    option("--hostfile", type=click.Path(dir_okay=False), help="Read the hosts from FILE, one per line."),
    option("--ssh", default="ssh", metavar="COMMAND", help="ssh command, with its own options."),
    option("--remote-python", metavar="PATH", help="Python on the hosts.  [default: the path of this one]"),
    option(
        "--remote-env",
        metavar="NAMES",
        help="Also pass these variables to the hosts. NCCL_*, TORCH_*, FI_*, and similar are always passed.",
    ),
)
"""How the nodes are started."""
_KEEP_GOING = option("--keep-going", is_flag=True, help="Continue without hosts that cannot take part.")
_BACKEND = option(
    "--backend", type=_BACKENDS, default="auto", settable="project", help="torch.distributed backend."
)
TIMEOUT = option(
    "--timeout",
    type=Number(1),
    default=30.0,
    metavar="SECONDS",
    settable="project",
    help="End the run after SECONDS without progress.",
)
_TIMEOUTS = together(
    TIMEOUT,
    option(
        "--join-timeout",
        type=Number(1),
        default=120.0,
        metavar="SECONDS",
        settable="project",
        help="Wait SECONDS for other nodes to join.",
    ),
)
laddered = together(
    section(WHERE, NODES, NPROC, launched, _KEEP_GOING, _BACKEND),
    section(PATIENCE, _TIMEOUTS),
)
"""Where runs are started, of a command that starts several of them from here."""
started = together(
    section(
        WHERE,
        NODES,
        NPROC,
        option(
            "--node-rank",
            type=click.IntRange(0),
            metavar="R",
            help="This host is node R of --nodes. Requires --rdzv-endpoint.",
        ),
        option("--rdzv-endpoint", metavar="HOST:PORT", help="Address of node 0, the same on every node."),
        option(
            "--rdzv-secret-file",
            type=click.Path(dir_okay=False),
            help="Accept only nodes that have the same secret in FILE.",
        ),
        launched,
        _KEEP_GOING,
        _BACKEND,
    ),
    section(
        PATIENCE,
        _TIMEOUTS,
        option(
            "--deadline",
            type=Number(1),
            default=3600.0,
            metavar="SECONDS",
            settable="project",
            help="End the whole run after SECONDS.",
        ),
    ),
)
"""Where ranks run, who starts them, and how long anything may take: of commands that start ranks."""
