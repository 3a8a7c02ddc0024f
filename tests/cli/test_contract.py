"""What every command must be: listed, documented, and with a twin in the environment for each option."""

import re
from pathlib import Path

import click
import pytest

from nccltool import __version__
from nccltool.cli.root import cli
from nccltool.cli.tree import Option, leaves
from tests.conftest import Nccltool

LEAVES = dict(leaves(cli))

every = pytest.mark.parametrize("name", cli.commands)


def options_of(name: str) -> list[click.Option]:
    return [option for option in cli.commands[name].params if isinstance(option, click.Option)]


def test_commands_are_the_files_of_the_folder() -> None:
    from nccltool.cli import root

    files = {file.stem for file in (Path(root.__file__).parent / "commands").glob("*.py")}
    named = [root._FILES.get(name, name) for names in root.SECTIONS.values() for name in names]
    assert files - {"__init__"} == set(named)
    assert len(cli.commands) == len(named)


def test_the_page_of_all_commands_fits_a_terminal_and_cuts_nothing(nccltool: Nccltool) -> None:
    said = nccltool("--help")
    assert "..." not in said.out.replace("[ARGS]...", "")
    assert [line for line in said.out.splitlines() if len(line) > 80] == []
    for name, one in cli.commands.items():
        assert f"  {name:12}  {one.short_help}\n" in said.out


_PLACEHOLDERS = re.compile(r"\b(TEXT|INTEGER|FLOAT|RANGE|DIRECTORY|VALUE)\b")


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_says_what_each_value_is(path: tuple[str, ...], nccltool: Nccltool) -> None:
    said = nccltool(*path, "--help")
    assert (said.code, said.err) == (0, "")
    assert nccltool(*path, "-h") == said
    assert nccltool("help", *path) == said
    assert _PLACEHOLDERS.findall(said.out.replace("=VALUE", "")) == []
    assert [line for line in said.out.splitlines() if len(line) > 80] == []
    assert LEAVES[path].short_help


@every
def test_every_option_is_described(name: str) -> None:
    assert cli.commands[name].help
    assert [
        option.name for option in options_of(name) if not (option.help or "").endswith((".", "]", ").", "…"))
    ] == []


@every
def test_every_option_has_its_twin(name: str) -> None:
    for option in options_of(name):
        if isinstance(option, Option) and option.settable == "no" and not option.envvar:
            continue  # what removes something is typed
        (long,) = [word for word in option.opts if word.startswith("--")]
        assert option.envvar == "NCCLTOOL_" + long.removeprefix("--").replace("-", "_").upper()


def test_options_mean_the_same_everywhere() -> None:
    """An option of one name has one type and one description, whatever the command."""
    meanings: dict[str, tuple[object, ...]] = {}
    for name in cli.commands:
        for option in options_of(name):
            help_text = (option.help or "").partition("  [default")[0]  # a default may differ
            kind = {**option.type.to_info_dict(), "param_type": ""}  # _OneFile is a Path
            # each command has its formats, and some take several
            # --gpus, --pid, and --metrics are those of the contract in both; attach starts nothing on hosts
            own = option.name in ("form", "gpus", "pid", "hosts", "metrics")
            how = () if own else (kind, help_text, option.default)
            meaning: tuple[object, ...] = (option.opts, *how)
            assert meanings.setdefault(str(option.name), meaning) == meaning


def test_letters_of_nccl_tests() -> None:
    letters = {word for option in options_of("probe") for word in option.opts if len(word) == 2}
    assert letters >= {"-b", "-e", "-f", "-i", "-n", "-w", "-c", "-d", "-o"}


def test_version(nccltool: Nccltool) -> None:
    assert nccltool("--version").out == f"nccltool {__version__}\n"
    assert nccltool("-V").out == f"nccltool {__version__}\n"
