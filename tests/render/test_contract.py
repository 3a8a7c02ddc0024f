"""Every format shows every run, as it is stored in tests/golden."""

import inspect
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from nccltool import render
from nccltool.cli.options import shown
from nccltool.model import Run
from tests.samples import RUNS

NOT_A_FORMAT = {
    *("baseline", "comparison", "diagnosis", "facts", "junit"),
    *("monitoring", "pages", "run_list", "sarif", "triage"),
    *("preflight", "preflight_ctrf", "preflight_hosts", "preflight_junit", "preflight_nagios"),
}
"""What they render is not a run; each has formats of its own."""

formats = pytest.mark.parametrize("form", render.FORMATS)
runs = pytest.mark.parametrize("name", RUNS)


def test_formats_are_the_files_of_the_folder() -> None:
    files = {file.stem for file in Path(render.__file__).parent.glob("*.py")} - {"__init__"}
    assert files - NOT_A_FORMAT == {form.replace("-", "_") for form in render.FORMATS}


def test_the_command_line_offers_every_format() -> None:
    @click.command
    @shown
    def command() -> None: ...

    (option,) = [option for option in command.params if option.name == "form"]
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == render.FORMATS


@formats
def test_the_signature(form: str) -> None:
    parameters = inspect.signature(render.renderer(form)).parameters
    assert {name: parameter.annotation for name, parameter in parameters.items()} == {"run": Run}


@formats
@runs
def test_golden(form: str, name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"run-{name}.{form}", render.renderer(form)(RUNS[name]()))


@formats
@runs
def test_text_ends_with_one_newline(form: str, name: str) -> None:
    text = render.renderer(form)(RUNS[name]())
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
