"""Man pages from the help: docs/man/nccltool.1 and a page for each command. The wheel installs them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from nccltool import __version__
from nccltool.cli.root import cli
from nccltool.cli.tree import leaves

FOLDER = Path(__file__).parents[1] / "docs/man"


def pages() -> Iterator[tuple[str, str]]:
    """The name of each file, and its text."""
    settings = {**cli.context_settings, "terminal_width": 78}
    root = click.Context(cli, info_name="nccltool", **settings)
    named = [(path, command) for path, command in leaves(cli)]
    yield "nccltool.1", _page("nccltool", cli.help or "", cli.get_help(root), [path for path, _ in named])
    for path, command in named:
        context = root
        for word in path:
            context = click.Context(command, info_name=word, parent=context, **settings)
        name = "-".join(("nccltool", *path))
        yield f"{name}.1", _page(name, command.short_help or "", command.get_help(context), ())


def _page(name: str, about: str, text: str, others: Sequence[tuple[str, ...]]) -> str:
    """The help, whose layout is kept, between the headings that man knows."""
    usage, _, rest = text.partition("\n\n")
    lines = [
        f'.TH {name.upper()} 1 "" "nccltool {__version__}"',
        ".SH NAME",
        f"{_escaped(name)} \\- {_escaped(about.rstrip('.'))}",
        ".SH SYNOPSIS",
        *_plain(usage.removeprefix("Usage: ")),
        ".SH DESCRIPTION",
        *_plain(re.sub(r"^  ", "", rest, flags=re.MULTILINE)),
    ]
    see = [f"nccltool-{'-'.join(path)}" for path in others] or ["nccltool"]
    also = [f".BR {_escaped(one)} (1){',' if one != see[-1] else ''}" for one in see]
    return "\n".join([*lines, ".SH SEE ALSO", *also, ""])


def _plain(text: str) -> list[str]:
    return [".nf", *(_escaped(line) for line in text.splitlines()), ".fi"]


def _escaped(line: str) -> str:
    """A line as it is. Backslash, hyphen, and a leading point or apostrophe have a meaning in roff."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def differing() -> list[str]:
    """Files that are not what the help makes now: changed, missing, or of no command."""
    made = dict(pages())
    there = {file.name: file.read_text() for file in FOLDER.glob("*.1")}
    return sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    made = dict(pages())
    for file in FOLDER.glob("*.1"):
        if file.name not in made:
            file.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    write()
