"""Help in sections; errors that say where a value is from are in test_config.py."""

from typing import Any

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.tree import Option, section
from tests.conftest import Nccltool


def test_options_are_in_their_sections() -> None:
    def option(name: str) -> Any:
        return click.option(name, cls=Option, metavar="X", help=f"{name}.")

    decorated = section("First", option("--a"), section("Inner", option("--b")))(
        option("--c")(section("First", option("--d"))(lambda **_: None))
    )
    command = click.command("x", cls=ToolCommand)(decorated)
    context = click.Context(command)
    assert {title: [term.split()[0] for term, _ in rows] for title, rows in command.sections(context).items()} == {
        "Options": ["--c"],
        "First": ["--a", "--d"],
        "Inner": ["--b", "-h,"],
    }


def test_sections_have_one_width_and_no_default_is_broken(nccltool: Nccltool) -> None:
    lines = nccltool("probe", "--help").out.splitlines()
    texts = [line for line in lines if line.startswith(" " * 30) and line.strip()]
    assert {len(line) - len(line.lstrip()) for line in texts} == {34}
    defaults = [line for line in lines if "[default: " in line]
    assert len(defaults) > 10
    assert [line for line in defaults if not line.endswith("]")] == []


def test_what_comes_first(nccltool: Nccltool) -> None:
    headings = [line for line in nccltool("probe", "--help").out.splitlines() if line[:1].isalpha()]
    assert headings == [
        "Usage: nccltool probe [OPTIONS]",
        "What to measure:",
        "How to measure:",
        "Where to run:",
        "Time limits:",
        "Output:",
    ]
