"""A command: its help in sections, and what is not given from configuration files."""

import contextlib
from collections.abc import Iterator
from typing import Any

import click

from nccltool.cli.tree import NO_BREAK, PoliteCommand
from nccltool.core.errors import BadInput

_OWN = "Options"
ORDER = "nccltool.order"
"""Of a context's `meta`: the names of options, as often and in the order as they were typed."""
_TERM = 30
"""Columns of the option and its value, where the help stands beside it."""


@contextlib.contextmanager
def _with_source(ctx: click.Context) -> Iterator[None]:
    """Adds to an error about an option where its value is set, if that is not the command line."""
    try:
        yield
    except BadInput as error:
        from nccltool.cli import config

        error.message += config.source(ctx, error.message)
        raise


class ToolCommand(PoliteCommand):
    """A command with its options in sections."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what is not given from configuration files; --help is answered whatever is in them."""
        wrong = None
        if not ctx.resilient_parsing:
            from nccltool.cli import config

            try:
                ctx.default_map = config.defaults(ctx)
            except BadInput as error:
                wrong = error
        with _with_source(ctx):
            rest = super().parse_args(ctx, args)
        if wrong:
            raise wrong
        return rest

    def make_parser(self, ctx: click.Context) -> Any:
        """Notes in which order options were typed: a file belongs to the format before it."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def noting(args: list[str]) -> tuple[Any, list[str], list[click.Parameter]]:
            values, rest, order = parse(args)
            ctx.meta[ORDER] = tuple(str(one.name) for one in order)
            return values, rest, order

        parser.parse_args = noting  # type: ignore[method-assign]
        return parser

    def invoke(self, ctx: click.Context) -> Any:
        """Do it; a value that cannot be used is said with its source, where that is not the command line."""
        with _with_source(ctx):
            return super().invoke(ctx)

    def get_help(self, ctx: click.Context) -> str:
        return super().get_help(ctx).replace(NO_BREAK, " ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each section in the order of its first option, all with one width of the first column."""
        sections = self.sections(ctx)
        width = max(len(term) for rows in sections.values() for term, _ in rows if len(term) <= _TERM)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl([(f"{term:{width}}", text) for term, text in rows], col_max=_TERM)

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """The options by section; those without one are first, and --help is the last of all."""
        found: dict[str, list[tuple[str, str]]] = {_OWN: []}
        *own, help_option = (one for one in self.get_params(ctx) if isinstance(one, click.Option))
        for parameter in own:
            if record := parameter.get_help_record(ctx):
                found.setdefault(getattr(parameter, "section", "") or _OWN, []).append(record)
        last = list(found)[-1]
        found[last] += [(f"-h, {help_option.opts[-1]}", str(help_option.help))]
        return {title: rows for title, rows in found.items() if rows}
