"""What a shell completes in the place of a value: names that this nccltool, its runs and its baselines have."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem  # what it imports would cost --help its start

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def _of(names: Callable[[click.Context], Iterable[str]], separated: bool = False) -> Completer:
    """Completes names; in a list with commas, the last one. What cannot be read completes nothing."""

    def complete(ctx: click.Context, _: click.Parameter, begun: str) -> "list[CompletionItem]":
        before, comma, last = begun.rpartition(",") if separated else ("", "", begun)
        given = set(before.split(","))
        try:
            known = sorted({name for name in names(ctx) if name.startswith(last) and name not in given})
        except Exception:  # noqa: BLE001 - an error would stand in the user's command line
            return []
        return [_item(f"{before}{comma}{name}") for name in known]

    return complete


def _item(value: str, kind: str = "plain") -> "CompletionItem":
    from click.shell_completion import CompletionItem

    return CompletionItem(value, type=kind)


def named(root: click.Context, words: Sequence[str]) -> tuple[click.Command, Sequence[str]]:
    """The command that words lead to, and the words after it."""
    found: click.Command = root.command
    for number, word in enumerate(words):
        inner = found.get_command(root, word) if isinstance(found, click.Group) else None
        if inner is None:
            return found, words[number:]
        found = inner
    return found, ()


def _commands(ctx: click.Context) -> Iterable[str]:
    found, rest = named(ctx.find_root(), ctx.params.get("words") or ())
    return found.list_commands(ctx) if isinstance(found, click.Group) and not rest else ()


def _operations(_: click.Context) -> Iterable[str]:
    from nccltool.probe import collectives

    return (*collectives.NAMES, "all")


def _dtypes(_: click.Context) -> Iterable[str]:
    from nccltool.probe import dtypes

    return dtypes.ELEMENT_SIZE


def _reductions(_: click.Context) -> Iterable[str]:
    from nccltool.probe import dtypes

    return dtypes.REDUCE_OPS


def _kinds(_: click.Context) -> Iterable[str]:
    from nccltool.monitor import run_filter

    return run_filter.KINDS


def _strategies(_: click.Context) -> Iterable[str]:
    from nccltool.train import strategies

    return (*strategies.WORDS, "all")


def _runs(ctx: click.Context) -> Iterator[str]:
    from nccltool.core import run_directory

    yield run_directory.LATEST
    for folder in run_directory.folders(run_directory.base_folder(_given(ctx, "run_dir"))):
        yield folder.name


def _baselines(ctx: click.Context) -> Iterator[str]:
    from pathlib import Path

    from nccltool.compare import baselines

    store = _given(ctx, "store")
    yield from (found.name for found in baselines.Store(Path(store) if store else baselines.default_file()).all())


def _remembered(ctx: click.Context) -> Iterator[str]:
    from nccltool.history import keeping, queries

    with queries.reading(keeping.file_to_read(_given(ctx, "history"))) as reader:
        yield from (*reader.hosts, *reader.operations, *reader.checks)


def _given(ctx: click.Context, name: str) -> str | None:
    value: Any = ctx.params.get(name)
    return value if isinstance(value, str) else None


def _sides(ctx: click.Context) -> Iterator[str]:
    yield from _runs(ctx)
    yield from (f"baseline:{name}" for name in _baselines(ctx))


def _files_of_checks(folder: str) -> Iterator[str]:
    from nccltool.preflight import suite_reader

    yield from (file.stem for file in suite_reader.files() if folder in ("", file.parent.name))


def _models(_: click.Context) -> Iterable[str]:
    from nccltool.plan import models

    return models.names()


def _machines(_: click.Context) -> Iterable[str]:
    from nccltool.plan import machines

    return machines.names()


def _stages(_: click.Context) -> Iterable[str]:
    from nccltool.preflight import stages

    return stages.NAMES


def _rules(_: click.Context) -> Iterator[str]:
    from nccltool.doctor import rules

    yield from (rule.code for rule in rules.every())


def _fabrics(_: click.Context) -> Iterable[str]:
    from nccltool.doctor import fabric_choice, fabrics

    return (fabric_choice.AUTO, *fabrics.NAMES)


def _explained(_: click.Context) -> Iterator[str]:
    from nccltool.cli import help_pages

    for kind in help_pages.KINDS:
        yield kind
        yield from (name for name in help_pages.names_of(kind) if " " not in name)


def _document_kinds(_: click.Context) -> Iterable[str]:
    from nccltool.core import schemas

    return schemas.names()


def files(_: click.Context, __: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Any file or folder; the shell lists them."""
    return [_item(begun, "file")]


def or_files(names: Completer) -> Completer:
    """Names, and files where none begins like this."""

    def complete(ctx: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
        return names(ctx, parameter, begun) or files(ctx, parameter, begun)

    return complete


commands = _of(_commands)
operations = _of(_operations, separated=True)
dtypes = _of(_dtypes)
reductions = _of(_reductions)
kinds = _of(_kinds, separated=True)
strategies = _of(_strategies, separated=True)
runs = or_files(_of(_runs))
baselines = or_files(_of(_baselines))
remembered = _of(_remembered)
sides = or_files(_of(_sides, separated=True))
suites = or_files(_of(lambda _: _files_of_checks("checks")))
platforms = or_files(_of(lambda _: (*_files_of_checks("platforms"), "auto", "none")))
checks = or_files(_of(lambda _: _files_of_checks("")))
models = or_files(_of(_models))
machines = or_files(_of(_machines))
stages = _of(_stages, separated=True)
fabrics = _of(_fabrics)
rules = _of(_rules, separated=True)
explained = _of(_explained)
document_kinds = _of(_document_kinds)
