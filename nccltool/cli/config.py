"""Options from configuration files: that of the user, and that of a project in the current folder.

A project's file may come from somebody else, so it sets only options that choose what is measured and how it is
shown: none that names a host, a program, a file to write or an address.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from nccltool.cli.tree import DefaultGroup, Option, leaves
from nccltool.core.errors import BadInput
from nccltool.core.text import escaped

PROJECT = ".nccltool.toml"
"""In the current folder. Not in those above it: what applies is what `ls -a` shows."""
_SOURCES = "nccltool.config"
_LARGEST = 1 << 20
_LONGEST_LINE = 10_000
"""A key of many parts in one takes memory that grows with its square."""
_SILENCE_S = 1.0
"""A file, or a pipe that is being written: each command reads it, and completion too."""
_OPTION = re.compile(r"--([a-z][a-z-]*)")


def user_file(env: Mapping[str, str] = os.environ) -> Path | None:
    """The user's file, by the XDG base directories; None where there is no home folder."""
    folder = env.get("XDG_CONFIG_HOME") or (f"{env['HOME']}/.config" if env.get("HOME") else "")
    return Path(folder) / "nccltool/config.toml" if folder else None


def defaults(ctx: click.Context) -> dict[str, Any]:
    """The options of a command that files set, by parameter. Raises BadInput with the file, line and key."""
    root = ctx.find_root()
    found: dict[str, Any] = {}
    if root.params.get("no_config"):
        return found
    sources = ctx.meta.setdefault(_SOURCES, {})
    for file, is_project in ((user_file(), False), (Path(PROJECT), True)):
        if file and os.path.lexists(file):
            for option, value, where in _File(file, is_project, root.command).values(ctx):
                found[str(option.name)], sources[option.name] = value, where
    return found


def source(ctx: click.Context, message: str) -> str:
    """Where the value of the option that an error names comes from, where it is not a word of the command line."""
    named = _OPTION.search(message)
    found = (parameter for parameter in ctx.command.params if named and named[0] in parameter.opts)
    return next((source_of(ctx, parameter) for parameter in found), "")


def source_of(ctx: click.Context, parameter: click.Parameter) -> str:
    """Where the value of an option comes from, where it is not a word of the command line."""
    match ctx.get_parameter_source(str(parameter.name)):
        case ParameterSource.ENVIRONMENT:
            return f" (set by {parameter.envvar})"
        case ParameterSource.DEFAULT_MAP:
            return f" (set in {ctx.meta[_SOURCES][parameter.name]})"
    return ""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    is_project: bool
    root: click.Command

    def values(self, ctx: click.Context) -> Iterator[tuple[Option, Any, str]]:
        """Options of the command, those of its own table last. Every key of the file must be known."""
        import tomllib

        from nccltool.core.toml_places import places
        from nccltool.core.user_files import contents

        try:
            data = contents(self.path, "configuration file", largest=_LARGEST, silence_s=_SILENCE_S)
        except BadInput as error:
            raise BadInput(error.message, "correct it, or use --no-config") from error
        try:
            text = data.decode("utf-8-sig")
            if any(len(line) > _LONGEST_LINE for line in text.splitlines()):
                raise ValueError(f"a line has more than {_LONGEST_LINE} characters")
            entries = sorted(self._entries(tomllib.loads(text), ()), key=lambda entry: len(entry[0]))
        except (ValueError, RecursionError) as error:  # also of numbers with too many digits
            raise BadInput(f"{self.path} is not TOML: {escaped(str(error))}", "correct the file") from error
        lines = places(text)
        words = _words(ctx)
        options = {name: option for option in _options(ctx.command) for name in _names(option)}
        for path, value in entries:
            where = f"{self.path}:{lines.get(path, 1)}"
            self._known(path, where)
            option = options.get(path[-1])
            if path[:-1] in ((), words) and option and option.settable != "no":
                yield option, _checked(option, value, where, ctx), where

    def _entries(self, table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        for key, value in table.items():
            if isinstance(value, dict) and value:
                yield from self._entries(value, (*path, key))
            else:
                yield (*path, key), value

    def _known(self, path: tuple[str, ...], where: str) -> None:
        """Raises BadInput for a table that is not a command, and for a key that may not be set here."""
        from nccltool.core.unknown_names import suggestion

        commands = dict(leaves(self.root))
        *table, key = path
        if table and tuple(table) not in commands:
            known = [".".join(words) for words in commands]
            raise _wrong(where, f"unknown table [{'.'.join(table)}]", suggestion(".".join(table), known))
        of = [commands[tuple(table)]] if table else list(commands.values())
        options = {name: option for one in of for option in _options(one) for name in _names(option)}
        if key not in options:
            raise _wrong(where, f"unknown key {key!r}", suggestion(key, sorted(options), _see(table)))
        if options[key].settable == "no":
            raise _wrong(where, f"{key} cannot be set in a file", f"use --{key} on the command line")
        if self.is_project and options[key].settable != "project":
            mine = f"move it to {user_file() or 'your own configuration'} or use --{key}"
            raise _wrong(where, f"a project's file cannot set {key}", mine)


def _see(table: list[str]) -> str:
    return f"nccltool {' '.join(table)} --help lists them" if table else "each key is the long name of an option"


def _words(ctx: click.Context) -> tuple[str, ...]:
    """The words that call the command, without the program."""
    words: list[str] = []
    while ctx.parent:
        words.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return tuple(words)


def _options(command: click.Command) -> Iterator[Option]:
    own = command.default if isinstance(command, DefaultGroup) else command
    yield from (parameter for parameter in own.params if isinstance(parameter, Option))


def _names(option: Option) -> list[str]:
    return [name.removeprefix("--") for name in option.opts if name.startswith("--")]


def _checked(option: Option, value: Any, where: str, ctx: click.Context) -> Any:
    """The value as the command line would have it."""
    (key,) = _names(option)
    if isinstance(value, list) and not option.multiple:
        raise _wrong(where, f"{key} takes one value, not a list", f"write {key} = ...")
    given = value if isinstance(value, list) else [value]
    if option.is_flag and not isinstance(value, bool):
        raise _wrong(where, f"{key} must be true or false", f"write {key} = true")
    if option.is_flag:
        return value
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in given):
        raise _wrong(where, f"{key} must be text in quotes or a number", f'write {key} = "..."')
    words = [str(one) for one in given]
    try:
        option.type_cast_value(ctx, words if option.multiple else words[0])
    except BadInput as error:
        raise _wrong(where, error.message.removeprefix("--"), "correct the file") from error
    return words if option.multiple else words[0]


def _wrong(where: str, problem: str, remedy: str) -> BadInput:
    return BadInput(escaped(f"{where}: {problem}"), remedy)
