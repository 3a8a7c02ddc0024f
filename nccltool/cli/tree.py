"""The tree of commands: options that know their section of the help, groups, one wording for unknown names."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import click

from nccltool.core.errors import BadInput

F = TypeVar("F", bound=Callable[..., Any])
Settable = Literal["project", "user", "no"]
"""Which configuration files may set an option: those of a project too, those of the user only, or none."""
_DEFAULT = re.compile(r"\[default: [^\]]{,30}\]")
NO_BREAK = "\xa0"
"""Instead of blanks that no line ends at."""


class _OwnWording(click.Parameter):
    """Says what is wrong with a value as the rest of nccltool does."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        try:
            words = [str(one) for one in (value if isinstance(value, tuple | list) else (value,))]
            if isinstance(self.type, click.Path) and "" in words:
                raise click.BadParameter("expected a name")  # "$FILE" with FILE not set
            if any("\0" in one for one in words):  # of a configuration file: no program gets one as a word
                raise click.BadParameter("a zero byte has no place in it")
            return super().type_cast_value(ctx, value)
        except click.BadParameter as error:
            from nccltool.cli import usage

            raise usage.bad_value(self, ctx, value, error) from error


class Argument(_OwnWording, click.Argument):
    """An argument."""


class Option(_OwnWording, click.Option):
    """An option that knows its section of the help, and which configuration files may set it."""

    def __init__(self, *names: Any, settable: Settable = "user", **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.settable: Settable = settable
        self.section = ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option with its value, and what it does; without the ranges that only an error needs to name."""
        if self.hidden:
            return None
        text = f"{self.help or ''}{self._default_text(ctx)}"
        return self.spelt, _DEFAULT.sub(lambda found: found[0].replace(" ", NO_BREAK), text)

    @property
    def spelt(self) -> str:
        """As it is typed: `-b, --min-bytes SIZE`; long names are aligned."""
        short = "" if any(len(name) == len("-b") for name in self.opts) else "    "
        return " ".join(part for part in (short + ", ".join(self.opts), self._value()) if part)

    def _value(self) -> str:
        if self.is_flag or self.count:
            return ""
        kind = self.type
        value = self.metavar or (f"[{'|'.join(kind.choices)}]" if isinstance(kind, click.Choice) else "VALUE")
        return f"[{value}]" if isinstance(self.flag_value, str) else value

    def _default_text(self, ctx: click.Context) -> str:
        if not self.show_default:
            return ""
        default = self.get_default(ctx, call=False)
        text = f"{default:g}" if isinstance(default, float) else str(default)
        return f"  [default: {text}]" if text else ""


class PoliteCommand(click.Command):
    """Names an option or a command that is not known as everything else that is not."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self.unknown_option(error.option_name, ctx) from error
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            from nccltool.cli import usage

            raise usage.bad_usage(error.ctx or ctx, error) from error

    def unknown_option(self, name: str, ctx: click.Context) -> BadInput:
        """The error for an option that the command does not have."""
        return _unknown("option", name, self._option_names(ctx), ctx)

    def _option_names(self, ctx: click.Context) -> list[str]:
        every = [name for parameter in self.get_params(ctx) for name in parameter.opts]
        return [name for name in every if name.startswith("--")]


def _unknown(what: str, word: str, known: Sequence[str], ctx: click.Context) -> BadInput:
    from nccltool.core.unknown_names import unknown

    typed = str(ctx.info_name)  # `sbatch probe`, of words that another host will read
    path = f"nccltool {ctx.command.name}" if " " in typed else ctx.command_path
    return unknown(what, word, known, f"{path} --help lists them")


class Group(PoliteCommand, click.Group):
    """A command with commands of its own."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named. Raises BadInput with the one that was meant."""
        if args[0] not in self.list_commands(ctx) and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise _unknown("command", args[0], self.list_commands(ctx), ctx)
        return super().resolve_command(ctx, args)


class DefaultGroup(Group):
    """A group that is a command itself: `runs` lists runs, and `runs rm` removes some."""

    def __init__(self, default: click.Command, *commands: click.Command) -> None:
        super().__init__(default.name, {str(one.name): one for one in commands}, help=default.help)
        self.default = default
        self.short_help = default.short_help

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Of one of its commands, where one is named; else its own."""
        if args and args[0] in self.commands:
            return super().make_context(info_name, args, parent, **extra)
        return self.default.make_context(info_name, args, parent, **extra)


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    if isinstance(command, DefaultGroup):
        yield path, command.default
    for name, one in command.commands.items():
        yield from leaves(one, (*path, name))


def section(title: str, *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Options under a heading of the help, in this order; those that have a heading already keep it."""

    def add(function: F) -> F:
        before = len(_parameters(function))
        for one in reversed(options):
            one(function)
        for parameter in _parameters(function)[before:]:
            if isinstance(parameter, Option):
                parameter.section = parameter.section or title
        return function

    return add


def _parameters(function: Any) -> Sequence[click.Parameter]:
    """What decorators have added to a function so far."""
    return function.params if isinstance(function, click.Command) else getattr(function, "__click_params__", ())
