"""What click finds wrong with the usage, in our wording: the option, its value, what it takes, and a remedy."""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped, shortened
from nccltool.core.unknown_names import suggestion

_LONGEST = 80
"""Characters of a value that are shown."""
_EXTRA = re.compile(r"unexpected extra arguments? \((.*)\)", re.DOTALL)


def bad_value(parameter: click.Parameter, ctx: click.Context, value: Any, error: click.BadParameter) -> BadInput:
    """The error for a value that an option or an argument does not take."""
    kind = parameter.type
    word = next((one for one in _words(value) if not _takes(parameter, ctx, one)), "")
    place = f"{_name(parameter)} {_shown(word)}".strip()
    help_of = f"{_path(ctx)} --help"
    if isinstance(kind, click.Choice):
        choices = [str(one) for one in kind.choices]
        near = suggestion(word, choices, help_of)
        return BadInput(f"{place}: expected one of {', '.join(choices)}", near)
    return BadInput(f"{place}: {_expected(kind, word) or error.message.rstrip('.')}", help_of)


def bad_usage(ctx: click.Context, error: click.UsageError) -> BadInput:
    """The error for words that a command does not take."""
    usage = " ".join(ctx.get_usage().removeprefix("Usage: ").split())
    if isinstance(error, click.MissingParameter) and error.param:
        named = error.param.make_metavar(ctx) if isinstance(error.param, click.Argument) else _name(error.param)
        return BadInput(f"missing {named}", usage)
    if isinstance(error, click.BadOptionUsage):
        wants = next((one.spelt.strip() for one in _options(ctx, error.option_name)), "")
        message = f"expected a value: {wants}" if wants else "takes no value"
        return BadInput(f"{error.option_name}: {message}", f"{_path(ctx)} --help")
    if extra := _EXTRA.search(error.message):
        return BadInput(f"unexpected argument {_shown(extra[1])}", usage)
    return BadInput(error.format_message().rstrip("."), f"{_path(ctx)} --help")


def _options(ctx: click.Context, name: str) -> Iterator[Any]:
    """The option of this name, if it takes a value."""
    for one in ctx.command.params:
        if isinstance(one, click.Option) and name in one.opts and not one.is_flag and not one.count:
            yield one


def _path(ctx: click.Context) -> str:
    """The command as it is typed; `sbatch probe` reads words for another host."""
    return f"nccltool {ctx.command.name}" if " " in str(ctx.info_name) else ctx.command_path


def _name(parameter: click.Parameter) -> str:
    """The long name of an option; of an argument, its name in the usage. The words of a choice need none."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return "" if isinstance(parameter.type, click.Choice) else parameter.human_readable_name


def _words(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, tuple | list) else [str(value)]


def _takes(parameter: click.Parameter, ctx: click.Context, word: str) -> bool:
    try:
        parameter.type.convert(word, parameter, ctx)
    except (click.BadParameter, ValueError):  # a zero byte in the name of a file
        return False
    return True


def _shown(word: str) -> str:
    text = escaped(shortened(word, _LONGEST))
    return text if word and not re.search(r"\s", word) else f"'{text}'"


def _expected(kind: object, word: str) -> str:
    """What a kind of values takes; empty where its own words say that."""
    if isinstance(kind, click.IntRange | click.FloatRange):
        real = "a finite number" if _is_infinite(word) else "a number"
        number = "a whole number" if isinstance(kind, click.IntRange) else real
        return f"expected {number}{_bounds(kind.min, kind.max, above=kind.min_open)}"
    if isinstance(kind, click.Path) and word and _exists(word) and Path(word).is_dir() != kind.dir_okay:
        return "expected a directory, not a file" if kind.dir_okay else "expected a file, not a directory"
    return ""


def _exists(name: str) -> bool:
    return os.path.exists(name)  # noqa: PTH110 - Path.exists raises when the name is too long for a file


def _is_infinite(word: str) -> bool:
    try:
        return not math.isfinite(float(word))
    except ValueError:
        return False


def _bounds(low: float | None, high: float | None, *, above: bool) -> str:
    if low is not None and high is not None:
        return f" from {_plain(low)} to {_plain(high)}"
    if low is not None:
        return f" above {_plain(low)}" if above else f" of at least {_plain(low)}"
    return "" if high is None else f" of at most {_plain(high)}"


def _plain(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"
