"""Which formats of a result go where: pairs of --format and --output; one without a file is printed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from nccltool.cli.command import ORDER
from nccltool.cli.options import OUTPUT, color, not_dash, on_a_screen, option
from nccltool.cli.tree import section
from nccltool.core.errors import BadInput

F = TypeVar("F", bound=Callable[..., Any])
_PLAIN = "table"
_WITHOUT_FINDINGS = ("csv", "nccl-tests", "nccl-tests-json")
"""Formats that have no place for findings: what went wrong is then said beside them."""
_KEPT = "nccltool.deliveries."
_ENDINGS = "nccltool.endings"
_HOW = "--format json --output run.json --format junit --output run.xml"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A format of the result, and its file; None = standard output."""

    form: str
    output: str | None


class _OneFile(click.Path):
    """The variable NCCLTOOL_OUTPUT names one file, whatever is in its name."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        return [rv]


def several(*names: str, endings: Mapping[str, str] | None = None) -> Callable[[F], F]:
    """--format and --output, which may be repeated as pairs, and --color. A command sees the first of each.

    `endings`: formats that the name of the file tells, where no format is given.
    """
    default = "by the ending of --output, else table" if endings else "table"

    def keep(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> str | None:
        context.meta[_ENDINGS] = endings or {}
        return _keep(context, parameter, given)

    return section(
        OUTPUT,
        option(
            "--format",
            "form",
            type=click.Choice(names),
            metavar=on_a_screen(names),
            multiple=True,
            settable="project",
            callback=keep,
            help=f"Output format. Repeatable, each followed by its --output.  [default: {default}]",
        ),
        color,
        option(
            "--output",
            type=_OneFile(dir_okay=False),
            multiple=True,
            callback=_keep,
            help="Write the result to FILE.",
        ),
    )


def _keep(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> str | None:
    """The first word, for commands that ask for no more; all of them are kept for `every`."""
    context.meta[_KEPT + str(parameter.name)] = tuple(given)
    if parameter.name == "form":
        return given[0] if given else _PLAIN
    return not_dash(given[0]) if given else None


def every() -> tuple[Delivery, ...]:
    """What the current command line asks for: files first. Raises BadInput where that is not clear."""
    context = click.get_current_context()
    forms, outputs = (context.meta.get(_KEPT + name, ()) for name in ("form", "output"))
    if not forms and len(outputs) == 1:
        forms = tuple(
            form for end, form in context.meta.get(_ENDINGS, {}).items() if outputs[0].lower().endswith(end)
        )
    return paired(forms, outputs, context.meta.get(ORDER, ()))


def shows_table() -> bool:
    """Whether a result for people is printed, with its findings."""
    return Delivery(_PLAIN, None) in every()


def lack_findings() -> bool:
    """Whether no form has a place for findings."""
    return all(one.form in _WITHOUT_FINDINGS for one in every())


def paired(forms: Sequence[str], outputs: Sequence[str], order: Sequence[str]) -> tuple[Delivery, ...]:
    """`order`: the names of options as they were typed. Raises BadInput where it does not tell what goes where."""
    if len(forms) < 2 and len(outputs) < 2:
        return (Delivery(forms[0] if forms else _PLAIN, not_dash(outputs[0]) if outputs else None),)
    made = [Delivery(form, not_dash(output)) for form, output in _pairs(list(forms), list(outputs), order)]
    on_screen = [one.form for one in made if one.output is None]
    if len(on_screen) > 1:
        both = " and ".join(f"--format {form}" for form in on_screen[:2])
        raise BadInput(f"{both} would both go to standard output", f"add --output FILE after one: {_HOW}")
    files = [one.output for one in made if one.output is not None]
    if twice := next((file for file in files if files.count(file) > 1), None):
        raise BadInput(f"--output {twice} is given twice", "name a file for each format")
    return tuple(sorted(made, key=lambda one: one.output is None))


def _pairs(forms: list[str], outputs: list[str], order: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """The formats and their files as they were given."""
    typed = [name for name in order if name in ("form", "output")]
    elsewhere = ["form"] * (len(forms) - typed.count("form")) + ["output"] * (len(outputs) - typed.count("output"))
    waiting: str | None = None
    for name in (*elsewhere, *typed):
        if name == "form":
            if waiting is not None:
                yield waiting, None
            waiting = forms.pop(0)
        elif waiting is None:
            raise BadInput(f"--output {outputs[0]} has no --format before it", f"write pairs: {_HOW}")
        else:
            yield waiting, outputs.pop(0)
            waiting = None
    if waiting is not None:
        yield waiting, None
