"""What every command must be: listed, documented, and with a twin in the environment for each option."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from nccltool import __version__
from nccltool.cli import cli
from tests.conftest import Nccltool

SHARED = {"help_pages", "__init__", "options", "screen"}
"""Files of the folder that hold no command."""

every = pytest.mark.parametrize("name", cli.commands)


def options_of(name: str) -> list[click.Option]:
    return [option for option in cli.commands[name].params if isinstance(option, click.Option)]


def test_commands_are_the_files_of_the_folder() -> None:
    import nccltool.cli

    files = {file.stem for file in Path(nccltool.cli.__file__).parent.glob("*.py")}
    assert files - SHARED == set(nccltool.cli._COMMANDS)
    assert len(cli.commands) == len(nccltool.cli._COMMANDS)


@every
def test_help_is_as_stored(name: str, nccltool: Nccltool, golden: Callable[[str, str], None]) -> None:
    said = nccltool(name, "--help")
    assert (said.code, said.err) == (0, "")
    assert nccltool(name, "-h") == said
    golden(f"help-{name}.txt", said.out)


def test_the_help_of_all(nccltool: Nccltool, golden: Callable[[str, str], None]) -> None:
    said = nccltool("--help")
    assert (said.code, said.err) == (0, "")
    golden("help.txt", said.out)


@every
def test_every_option_is_described(name: str) -> None:
    assert cli.commands[name].help
    assert [
        option.name for option in options_of(name) if not (option.help or "").endswith((".", "]", ").", "…"))
    ] == []


@every
def test_every_option_has_its_twin(name: str) -> None:
    for option in options_of(name):
        (long,) = [word for word in option.opts if word.startswith("--")]
        assert option.envvar == "NCCLTOOL_" + long.removeprefix("--").replace("-", "_").upper()


def test_options_mean_the_same_everywhere() -> None:
    """An option of one name has one type and one description, whatever the command."""
    meanings: dict[str, tuple[object, ...]] = {}
    for name in cli.commands:
        for option in options_of(name):
            help_text = (option.help or "").partition("  [default")[0]  # a default may differ
            kind = "a format" if option.name == "form" else option.type.to_info_dict()
            meaning = (option.opts, kind, help_text, option.default)
            assert meanings.setdefault(str(option.name), meaning) == meaning


def test_letters_of_nccl_tests() -> None:
    letters = {word for option in options_of("probe") for word in option.opts if len(word) == 2}
    assert letters >= {"-b", "-e", "-f", "-i", "-n", "-w", "-c", "-d", "-o"}


def test_version(nccltool: Nccltool) -> None:
    assert nccltool("--version").out == f"nccltool, version {__version__}\n"
